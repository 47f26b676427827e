/// Tests of the ends of lives: lifetime, destroy, leaks.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "conformance/probe.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
#include "converters/c_call.h"
#include "converters/c_tensor.h"
#include "converters/plugin_converter.h"
#include "model/train_spec.h"
#include "train/device.h"

namespace titan::conformance {
namespace {

using Container = converters::ModelConvertersContainer;

std::unique_ptr<model::Module> meta_model() {
  return model::llama3_train_spec().build(trial_model_args(1), at::kFloat);
}

/// What a process holds. Bytes are those that malloc has given out.
struct Holdings {
  int64_t bytes = 0, tensors = 0, descriptors = 0, threads = 0;
};

int64_t entries_of(const char* folder) {
  int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

Holdings holdings_now() {
  const struct mallinfo2 memory = mallinfo2();
  return {static_cast<int64_t>(memory.uordblks + memory.hblkhd), converters::owned_tensor_count(),
          entries_of("/proc/self/fd"), entries_of("/proc/self/task")};
}

/// The host keeps dead handles and calls for a while. From here on each new one takes the place of
/// one that it had.
void fill_quarantines() {
  constexpr int kCalls = 300;
  for (int i = 0; i < kCalls; ++i) converters::make_call();
  const titan_host& host = converters::host_table();
  constexpr int kHandles = 5000;
  const int64_t shape[4] = {1, 1, 1, 1};
  for (int i = 0; i < kHandles; ++i) {
    titan_tensor* made = nullptr;
    if (host.tensor_empty({TITAN_CPU, 0}, {TITAN_DTYPE_FLOAT, 32, 1}, 4, shape, &made) != TITAN_OK)
      throw internal_error("a tensor of one element could not be made");
    host.tensor_release(made);
  }
}

/// What every repetition of `work` leaves behind. Caches that fill once, the host's own too, do not
/// count: as soon as a whole window of repetitions leaves nothing of a kind, there is no growth of
/// that kind.
Holdings growth_of(const std::function<void()>& work, std::chrono::milliseconds budget) {
  const auto end = std::chrono::steady_clock::now() + budget;
  constexpr int kWindow = 8, kMostWindows = 20;
  constexpr int64_t kLeastBytes = 16 * kWindow;  // the smallest piece that malloc gives, each time
  Holdings least{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
  constexpr int kLeastWindows = 4;
  for (int i = 0; i < kMostWindows && (i < kLeastWindows || std::chrono::steady_clock::now() < end);
       ++i) {
    const Holdings before = holdings_now();
    for (int repetition = 0; repetition < kWindow; ++repetition) work();
    const Holdings after = holdings_now();
    least.bytes = std::min(least.bytes, after.bytes - before.bytes);
    least.tensors = std::min(least.tensors, after.tensors - before.tensors);
    least.descriptors = std::min(least.descriptors, after.descriptors - before.descriptors);
    least.threads = std::min(least.threads, after.threads - before.threads);
    if (least.bytes < kLeastBytes && least.tensors <= 0 && least.descriptors <= 0 &&
        least.threads <= 0)
      return {};
  }
  return {least.bytes < kLeastBytes ? 0 : least.bytes / kWindow, least.tensors / kWindow,
          least.descriptors / kWindow, least.threads / kWindow};
}

void report_growth(const std::string& what, const Holdings& growth, Findings& findings) {
  if (growth.tensors > 0)
    findings.fail(what + " leaves " + std::to_string(growth.tensors) +
                      " tensors that were made and neither handed on nor released",
                  "call tensor_release on every path that does not hand a tensor on");
  if (growth.bytes > 0)
    findings.fail(what + " leaves " + std::to_string(growth.bytes) + " bytes of memory",
                  "free in destroy() what create() and convert() allocate; valgrind or "
                  "AddressSanitizer name the place");
  if (growth.descriptors > 0)
    findings.fail(what + " leaves " + std::to_string(growth.descriptors) + " file descriptors open",
                  "close them in destroy()");
  if (growth.threads > 0)
    findings.fail(what + " leaves " + std::to_string(growth.threads) + " threads running",
                  "end and join them in destroy()");
}

}  // namespace

void test_lifetime(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  const config::ConverterRequest request = subject.request();
  const converters::DeviceFacts device = train::resolve_device("cpu").facts;
  reset_probe();
  set_progress_note("created and destroyed, never converted");
  { const Container container(registry, {request}, device); }
  set_progress_note("converted and destroyed, never called");
  {
    const auto root = meta_model();
    Container container(registry, {request}, device);
    container.convert(*root);
  }
  set_progress_note("the model destroyed before the converter");
  {
    auto container = std::make_unique<Container>(registry, std::vector{request}, device);
    {
      const auto root = meta_model();
      container->convert(*root);
    }
    container.reset();
  }
  constexpr int kTimes = 50;
  set_progress_note("created, converted and destroyed 50 times");
  for (int i = 0; i < kTimes; ++i) {
    const auto root = meta_model();
    Container container(registry, {request}, device);
    container.convert(*root);
  }
  set_progress_note("five steps, with every handle dead when its call is over");
  {
    TrialModel model(registry, {request}, {.seed = subject.seed});
    for (int64_t i = 0; i < 5; ++i) model.train_step(i);
    model.logits();
  }
  set_progress_note("");
  const ProbeRecord record = probe_record();
  if (record.refused_uses > 0)
    findings.fail(
        "the host refused " + std::to_string(record.refused_uses) +
            " calls of the plugin: " + record.first_refusal,
        "ask for handles anew in every call, and talk to the host on the thread that it called");
  findings.pass("ended early in 4 ways and " + std::to_string(kTimes) +
                " times in a row; no handle was used after its end");
}

void test_destroy(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  TrialModel model(registry, {subject.request()}, {.seed = subject.seed});
  for (int64_t i = 0; i < 2; ++i) model.train_step(i);
  model.destroy();
  set_progress_note("exit() with the plugin's static destructors");
  findings.pass("destroyed, and the process ended with the plugin's static destructors");
}

void test_leaks(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  fill_quarantines();
  const TrialOptions options{.n_layers = 1, .seed = subject.seed};
  report_growth("each run (create, convert, two steps, destroy)",
                growth_of(
                    [&] {
                      TrialModel model(registry, {subject.request()}, options);
                      model.train_step(0);
                      model.train_step(1);
                    },
                    subject.limit / 4),
                findings);
  TrialModel lasting(registry, {subject.request()}, options);
  report_growth("each step of one run",
                growth_of([&] { lasting.train_step(0); }, subject.limit / 4), findings);
  findings.pass("neither repeated runs nor the steps of one run leave anything");
}

}  // namespace titan::conformance
