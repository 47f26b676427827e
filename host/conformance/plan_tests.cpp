/// The test plan: convert() without weights.
#include <malloc.h>

#include "base/error.h"
#include "base/numbers.h"
#include "conformance/probe.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
#include "converters/assumed_device.h"
#include "converters/output_shape.h"
#include "converters/plan.h"
#include "model/train_spec.h"
#include "train/device.h"

namespace titan::conformance {
namespace {

using Container = converters::ModelConvertersContainer;

/// As a run with mixed precision has it.
constexpr converters::RunFacts kPlannedRun{8192, at::kBFloat16, at::kFloat};

/// One line a record: all of it but code.
std::string records_text(const converters::StockModel& stock, const Container& container) {
  std::string text;
  for (const converters::Record& record : container.records()) {
    text += std::string(to_string(record.kind)) + " " + stock[record.module].fqn + " " +
            record.tensor.name + " " + converters::shape_text(record.tensor.shape) + " " +
            c10::toString(record.tensor.dtype) + " " + record.parameter + " " +
            record.other_parameter + " " + record.reason + " " + record.layout.name;
    for (const auto& part : record.layout.parts) text += "," + part.source;
    if (record.prediction)
      text += " " + shortest_float(record.prediction->speedup) + " " + record.prediction->basis;
    text += "\n";
  }
  return text;
}

struct Planned {
  std::string records;
  converters::Plan plan;
  int64_t bytes = 0;    ///< that malloc gave out for it and that are still held
  int64_t tensors = 0;  ///< that the plugin made
};

Planned plan_for(const converters::Registry& registry, const config::ConverterRequest& request,
                 const converters::DeviceFacts& device, const model::ModelArgs& args) {
  const model::TrainSpec spec = model::llama3_train_spec();
  const auto untouched = spec.build(args, at::kFloat);
  const auto root = spec.build(args, at::kFloat);
  const converters::StockModel stock(*untouched);
  reset_probe();
  const struct mallinfo2 before = mallinfo2();
  Container container(registry, {request}, device, kPlannedRun);
  container.convert(*root);
  const struct mallinfo2 after = mallinfo2();
  Planned planned;
  planned.bytes = static_cast<int64_t>(after.uordblks + after.hblkhd) -
                  static_cast<int64_t>(before.uordblks + before.hblkhd);
  planned.tensors = probe_record().tensors_made;
  planned.records = records_text(stock, container);
  planned.plan = converters::make_plan(stock, container);
  return planned;
}

}  // namespace

void test_plan(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  const config::ConverterRequest request = subject.request();
  const converters::DeviceFacts cpu = train::resolve_device("cpu").facts;
  const Planned first = plan_for(registry, request, cpu, trial_model_args(2));
  if (first.records != plan_for(registry, request, cpu, trial_model_args(2)).records)
    findings.fail("two conversions of one model record different changes",
                  "let nothing but options, device and model decide in convert()");
  if (first.tensors > 0)
    findings.fail("create() or convert() makes " + std::to_string(first.tensors) +
                      " tensors: a plan has no device memory for them",
                  "record parameters and buffers with record_parameter and record_buffer; fill "
                  "them in after_init()");

  // What was planned is what is there later.
  TrialModel model(registry, {request}, {.seed = subject.seed});
  int64_t added = 0;
  for (const auto& named : model::named_parameters(model.root()))
    if (!named.parameter->stored_as.empty() && named.parameter->layout.empty())
      added += named.parameter->tensor.numel();
  if (added != first.plan.total.parameters_added)
    findings.fail("the plan adds " + with_commas(first.plan.total.parameters_added) +
                      " values, the model has " + with_commas(added),
                  "report it to titan");

  set_progress_note("convert of a model of 8 billion parameters, without weights");
  constexpr int64_t kMostBytes = int64_t{64} << 20;
  const Planned large = plan_for(registry, request, cpu, model::llama3_train_spec().flavor("8B"));
  if (large.bytes > kMostBytes)
    findings.fail(
        "convert() of a model of 8 billion parameters allocates " +
            gib(static_cast<uint64_t>(large.bytes)) + ", though no weight exists yet",
        "allocate in after_init() or in the first call, on the device that the call names");

  for (const char* name : {"sm_80", "sm_90"}) {
    set_progress_note(std::string("create for ") + name + ", a device that is not here");
    reset_probe();
    try {
      plan_for(registry, request, converters::assumed_device(name), trial_model_args(1));
    } catch (const Error& error) {
      if (!probe_record().plugin_said || error.status() != ExitStatus::kUsage)
        findings.fail(std::string("for ") + name + ": " + error.what(),
                      "create() and convert() use what create_info says of the device, and refuse "
                      "with set_error(TITAN_UNSUPPORTED)");
    }
  }
  set_progress_note("");
  findings.pass("the same records each time, " + with_commas(first.plan.total.parameters_added) +
                " values added; 8B without weights took " +
                gib(static_cast<uint64_t>(std::max<int64_t>(0, large.bytes))));
}

}  // namespace titan::conformance
