/// That a whole training step with the plugin never waits for the device: the reference model's can
/// be recorded.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <algorithm>

#include "parts.h"
#include "plugin_file.h"
#include "recipes.h"
#include "reference_model.h"

namespace titan::device_check {
namespace {

constexpr int kWarmUp = 3;

/// How far two models are apart, in units of how far one of them moved in a step.
double apart(const std::map<std::string, at::Tensor>& a, const std::map<std::string, at::Tensor>& b,
             const std::map<std::string, at::Tensor>& before) {
  double distance = 0, moved = 0;
  for (const auto& [name, tensor] : a) {
    distance = std::max(distance, (tensor - b.at(name)).abs().max().item<double>());
    moved = std::max(moved, (b.at(name) - before.at(name)).abs().max().item<double>());
  }
  return moved > 0 ? distance / moved : INFINITY;
}

/// Empty: it was recorded, and replaying it is a step like any other. Otherwise what was wrong.
std::string problem_of_recording(Platform& platform, const std::optional<Float8Use>& float8) {
  const at::Device device(platform.torch_device());
  ReferenceModel recorded(device, platform.stream(), float8),
      twin(device, platform.stream(), float8);
  const TokenBatch batch = recorded.batch(0);
  for (int i = 0; i < kWarmUp; ++i) {
    recorded.step(batch, /*clip=*/false);
    twin.step(batch, /*clip=*/false);
  }
  const auto before = twin.parameters();
  twin.step(batch, /*clip=*/false);
  at::Tensor loss;  // kept, as its memory is part of the recording
  std::unique_ptr<Recording> recording;
  try {
    recording = platform.record([&] { loss = recorded.step(batch, /*clip=*/false); });
  } catch (const std::exception& error) {
    const std::string reason = error.what();
    return "could not be recorded: " + reason.substr(0, reason.find('\n'));
  }
  recording->replay();
  platform.synchronize();
  const double distance = apart(recorded.parameters(), twin.parameters(), before);
  return distance <= 0.01
             ? ""
             : "replayed it gives weights that are " + digits(distance, 3) + " steps away";
}

}  // namespace

void check_model_recording(Platform& platform, Report& report, const PluginFiles& files) {
  report.begin("nothing waits in a training step");
  if (!report.has_time_for("recording of training steps", 8)) return;
  const std::string what = "a training step of the reference model";
  // What the model itself waits for is not the plugin's doing.
  if (const std::string problem = problem_of_recording(platform, std::nullopt); !problem.empty()) {
    report.leave_out(what + " with float8", "the stock model's step " + problem);
    return;
  }
  const converters::Registry registry = load_plugin_file(files.device);
  for (const std::string& recipe : recipe_names()) {
    if (refusal_of(platform, recipe) ||
        !report.has_time_for("recording of a step with " + recipe, 2))
      continue;
    std::string problem;
    try {
      problem =
          problem_of_recording(platform, Float8Use{&registry, platform.facts(), recipe, false});
    } catch (const std::exception& error) {
      problem = error.what();
    }
    report.check(recipe + ", " + what, problem.empty(),
                 problem.empty() ? "recorded; replayed it is a step like any other" : problem,
                 "nothing that waits for the device");
  }
}

}  // namespace titan::device_check
