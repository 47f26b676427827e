/// The plugin's file at work: the reference model trained in every recipe on the device, beside
/// bfloat16 and beside the emulation on the CPU.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cmath>

#include "parts.h"
#include "plugin_file.h"
#include "recipes.h"
#include "reference_model.h"

namespace titan::device_check {
namespace {

/// A CPU that plays a GPU takes its time.
int64_t steps_on(const Platform& platform) { return platform.is_gpu() ? 40 : 16; }

/// The CPU adds up in another order, and attention and norms round differently: after some steps
/// that is seen in the third digit. bfloat16 alone differs from float32 by 1 % at most in the
/// reference runs (tests/golden/llama/noise.json).
constexpr double kBesideEmulation = 0.01;
constexpr double kBesideBFloat16 = 0.02;

struct Run {
  std::vector<double> losses;
  std::map<std::string, at::Tensor> first_buffers;  ///< after the first step
  int64_t replaced = 0;
};

Run train(at::Device device, void* stream, int64_t steps, const std::optional<Float8Use>& float8) {
  ReferenceModel model(device, stream, float8);
  Run run;
  run.replaced = model.replaced();
  for (int64_t step = 0; step < steps; ++step) {
    run.losses.push_back(model.step(model.batch(step)).item<double>());
    if (step == 0) run.first_buffers = model.buffers();
  }
  return run;
}

double mean(const std::vector<double>& values, size_t from, size_t to) {
  double sum = 0;
  for (size_t i = from; i < to; ++i) sum += values[i];
  return sum / static_cast<double>(to - from);
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(a[i] - b[i]) / b[i];
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

std::string percent(double share) { return digits(100 * share, 2) + " %"; }

std::string sketch(const std::vector<double>& losses) {
  std::string text;
  for (const size_t step :
       {size_t{0}, size_t{1}, losses.size() / 4, losses.size() / 2, losses.size() - 1})
    text += (text.empty() ? "" : " ") + digits(losses[step], 4);
  return text;
}

/// Weights are the same on both sides, so their first state is too; inputs and gradients come
/// through other kernels.
void first_state(Report& report, const Run& device, const Run& emulated) {
  int64_t weights = 0, same_weights = 0, others = 0, near_others = 0;
  for (const auto& [name, expected] : emulated.first_buffers) {
    const auto found = device.first_buffers.find(name);
    const bool there =
        found != device.first_buffers.end() && found->second.sizes() == expected.sizes();
    if (name.find("weight.") != std::string::npos) {
      ++weights;
      same_weights += there && at::equal(found->second, expected);
    } else {
      ++others;
      near_others += there && at::allclose(found->second, expected, /*rtol=*/0.05, /*atol=*/0);
    }
  }
  report.check("delayed, first state of the weights", weights > 0 && same_weights == weights,
               std::to_string(same_weights) + " of " + std::to_string(weights) +
                   " tensors have the emulation's bits",
               "all");
  report.check("delayed, first state of inputs and gradients", others > 0 && near_others == others,
               std::to_string(near_others) + " of " + std::to_string(others) +
                   " tensors are within 5 % of the emulation's",
               "all");
}

void judge(Report& report, const std::string& recipe, const Run& device, const Run& emulated,
           const Run& bfloat16) {
  const std::vector<double>& losses = device.losses;
  const bool finite =
      std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); });
  report.check(recipe + ", losses of " + std::to_string(losses.size()) + " steps",
               finite && device.replaced > 0,
               sketch(losses) + " (emulated " + sketch(emulated.losses) + "), " +
                   std::to_string(device.replaced) + " layers in float8",
               "finite, with layers in float8");
  const double from_emulation = largest_difference(losses, emulated.losses);
  report.check(recipe + ", beside the emulation", from_emulation <= kBesideEmulation,
               percent(from_emulation) + " in the worst step", percent(kBesideEmulation));
  const size_t end = losses.size(), quarter = end / 4;
  const double first = mean(losses, 0, quarter / 2), last = mean(losses, end - quarter, end);
  const double from_bfloat16 = std::fabs(last / mean(bfloat16.losses, end - quarter, end) - 1);
  report.check(recipe + ", beside bfloat16", from_bfloat16 <= kBesideBFloat16,
               percent(from_bfloat16) + " in the mean of the last quarter",
               percent(kBesideBFloat16));
  report.check(recipe + ", learns", last < 0.95 * first,
               digits(last, 4) + " after " + digits(first, 4), "5 % less at least");
  if (recipe == "delayed") first_state(report, device, emulated);
}

}  // namespace

void check_training(Platform& platform, Report& report, const PluginFiles& files) {
  report.begin("training");
  const at::Device device(platform.torch_device());
  if (!report.has_time_for("training", 15)) return;
  const converters::Registry on_device = load_plugin_file(files.device);
  const converters::Registry emulating =
      files.emulation == files.device ? on_device : load_plugin_file(files.emulation);
  Json& measured = report.measured("training");
  const int64_t steps = steps_on(platform);
  const Run bfloat16 = train(device, platform.stream(), steps, std::nullopt),
            on_cpu = train(at::kCPU, nullptr, steps, std::nullopt);
  measured["bfloat16"]["device"] = bfloat16.losses;
  measured["bfloat16"]["cpu"] = on_cpu.losses;
  const double yardstick = largest_difference(bfloat16.losses, on_cpu.losses);
  report.check("bfloat16 beside bfloat16 on the CPU", yardstick <= kBesideEmulation,
               percent(yardstick) + " in the worst step; " + sketch(bfloat16.losses),
               percent(kBesideEmulation));
  for (const std::string& recipe : recipe_names()) {
    if (const auto refusal = refusal_of(platform, recipe)) {
      report.leave_out(recipe, *refusal);
      continue;
    }
    if (!report.has_time_for("training with " + recipe, 6)) continue;
    try {
      const Run run = train(device, platform.stream(), steps,
                            Float8Use{&on_device, platform.facts(), recipe, false});
      const Run emulated = train(at::kCPU, nullptr, steps,
                                 Float8Use{&emulating, converters::DeviceFacts{}, recipe, true});
      measured[recipe]["device"] = run.losses;
      measured[recipe]["emulated"] = emulated.losses;
      judge(report, recipe, run, emulated, bfloat16);
    } catch (const std::exception& error) {
      report.check(recipe + ", training", false, error.what(), "no error");
    }
  }
}

}  // namespace titan::device_check
