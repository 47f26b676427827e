/// Tests of the ends of lives: lifetime, destroy, leaks.
#include <malloc.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>

#include "base/error.h"
#include "conformance/probe.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
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

/// The host keeps dead handles for a while; from here on it uses them again.
void fill_handle_pool() {
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

struct Growth {
  Holdings each;  ///< per repetition, the least of three windows
};

/// Growth that happens in every window is no cache that fills once.
Growth growth_of(const std::function<void()>& work) {
  constexpr int kWarmUp = 12, kWindow = 8, kWindows = 3;
  for (int i = 0; i < kWarmUp; ++i) work();
  std::array<Holdings, kWindows> grown;
  for (Holdings& window : grown) {
    const Holdings before = holdings_now();
    for (int i = 0; i < kWindow; ++i) work();
    const Holdings after = holdings_now();
    window = {after.bytes - before.bytes, after.tensors - before.tensors, after.descriptors - before.descriptors,
              after.threads - before.threads};
  }
  const auto least = [&](int64_t Holdings::*member) {
    int64_t value = grown[0].*member;
    for (const Holdings& window : grown) value = std::min(value, window.*member);
    return value / kWindow;
  };
  return {{least(&Holdings::bytes), least(&Holdings::tensors), least(&Holdings::descriptors), least(&Holdings::threads)}};
}

void report_growth(const std::string& what, const Growth& growth, const Growth& stock, Findings& findings) {
  constexpr int64_t kLeastBytes = 16;  // the smallest piece that malloc gives
  const int64_t bytes = growth.each.bytes - std::max<int64_t>(0, stock.each.bytes);
  if (growth.each.tensors > 0)
    findings.fail(what + " leaves " + std::to_string(growth.each.tensors) + " tensors that were made and neither handed on nor released",
                  "call tensor_release on every path that does not hand a tensor on");
  if (bytes >= kLeastBytes)
    findings.fail(what + " leaves " + std::to_string(bytes) + " bytes of memory",
                  "free in destroy() what create() and convert() allocate; valgrind or AddressSanitizer name the place");
  if (growth.each.descriptors > 0)
    findings.fail(what + " leaves " + std::to_string(growth.each.descriptors) + " file descriptors open", "close them in destroy()");
  if (growth.each.threads > 0)
    findings.fail(what + " leaves " + std::to_string(growth.each.threads) + " threads running", "end and join them in destroy()");
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
    findings.fail("the host refused " + std::to_string(record.refused_uses) + " calls of the plugin: " + record.first_refusal,
                  "ask for handles anew in every call, and talk to the host on the thread that it called");
  findings.pass("ended early in 4 ways and " + std::to_string(kTimes) + " times in a row; no handle was used after its end");
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
  const converters::Registry nothing = [] {
    converters::Registry made;
    made.freeze();
    return made;
  }();
  fill_handle_pool();
  const TrialOptions options{.n_layers = 1, .seed = subject.seed};
  const auto life = [&](const converters::Registry& from, std::vector<config::ConverterRequest> requests) {
    TrialModel model(from, std::move(requests), options);
    model.train_step(0);
    model.train_step(1);
  };
  const Growth stock = growth_of([&] { life(nothing, {}); });
  report_growth("each run (create, convert, two steps, destroy)", growth_of([&] { life(registry, {subject.request()}); }), stock,
                findings);
  TrialModel lasting(registry, {subject.request()}, options), plain(nothing, {}, options);
  const Growth plain_step = growth_of([&] { plain.train_step(0); });
  report_growth("each step of one run", growth_of([&] { lasting.train_step(0); }), plain_step, findings);
  findings.pass("nothing grows over 36 runs and over 36 steps");
}

}  // namespace titan::conformance
