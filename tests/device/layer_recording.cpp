/// That a layer's forward, backward and update never wait for the device: they can be recorded.
#include <algorithm>

#include "float8/compare.h"
#include "matrices.h"
#include "parts.h"

namespace titan::device_check {
namespace {

using float8::test::values_of;

std::vector<std::vector<double>> results_of(const LayerResult& result) {
  return {values_of(on_cpu(result.y)), values_of(on_cpu(result.grad_x)),
          values_of(on_cpu(result.grad_w))};
}

int64_t slots_in_use(const DelayedLayer& layer) {
  int64_t count = 0;
  for (const auto& state : layer.states) {
    const std::vector<double> history = values_of(on_cpu(state.history));
    count += static_cast<int64_t>(history.size()) - std::count(history.begin(), history.end(), 0.0);
  }
  return count;
}

void record_layer(Platform& platform, Report& report, float8::Recipe recipe) {
  const bool gpu = platform.is_gpu();
  const int64_t tokens = gpu ? 1003 : 33, in = gpu ? 1024 : 64, out = gpu ? 2048 : 96;
  const Matrix x = random_on_device(platform, tokens, in, ScalarType::BFloat16),
               w = random_on_device(platform, out, in, ScalarType::BFloat16, 0.02);
  const Matrix grad = random_on_device(platform, tokens, out, ScalarType::BFloat16, 1e-3);
  const float8::Plan plan = float8::plan_of(recipe);
  const auto backend = device_backend(platform, plan, true);
  const bool delayed = recipe == float8::Recipe::kDelayed;
  DelayedLayer layer(platform, plan, 16);
  LayerResult result{x, x, w};
  const auto work = [&] {
    result = run_layer(*backend, x, w, grad, platform.stream(),
                       delayed ? layer.stored() : float8::StoredScales{});
    if (delayed) layer.update(*backend, result, platform.stream());
  };
  for (int i = 0; i < 3; ++i) work();
  const auto expected = results_of(result);
  const int64_t used = slots_in_use(layer);
  const std::string name = std::string(recipe_name(recipe)) + ", forward, backward" +
                           (delayed ? " and update" : "") + " of a layer";
  std::unique_ptr<Recording> recording;
  try {
    recording = platform.record(work);
  } catch (const std::exception& error) {
    report.check(name, false, std::string("could not be recorded: ") + error.what(),
                 "nothing that waits for the device");
    return;
  }
  for (Matrix* matrix : {&result.y, &result.grad_x, &result.grad_w}) torch::stable::zero_(*matrix);
  recording->replay();
  platform.synchronize();
  const bool same = results_of(result) == expected;
  // Each update of the three states takes one more slot of each history.
  const bool moved = !delayed || slots_in_use(layer) == used + 3;
  report.check(name, same && moved,
               std::string("recorded; replayed it gives ") +
                   (same ? "the same bits" : "something else") +
                   (moved ? "" : ", and the states did not move on"),
               "the same bits");
}

}  // namespace

void check_layer_recording(Platform& platform, Report& report) {
  report.begin("nothing waits");
  for (const float8::Recipe recipe : recipes_of(platform)) {
    if (!report.has_time_for("recording of " + std::string(recipe_name(recipe)), 2)) continue;
    try {
      record_layer(platform, report, recipe);
    } catch (const std::exception& error) {
      report.check(std::string(recipe_name(recipe)) + ", recording", false, error.what(),
                   "no error");
    }
  }
}

}  // namespace titan::device_check
