#include "matrices.h"

#include <array>
#include <cmath>
#include <titan/torch.hpp>

#include "capability.h"
#include "float8/compare.h"
#include "matrix.h"
#include "recipes.h"

namespace titan::device_check {
namespace {

using titan::sdk::torch_op;

torch::stable::Device device_of(const Platform& platform) {
  using torch::headeronly::DeviceType;
  return platform.is_gpu() ? torch::stable::Device(DeviceType::CUDA, 0)
                           : torch::stable::Device(DeviceType::CPU);
}

titan_device_info info_of(const converters::DeviceFacts& facts) {
  titan_device_info info{};
  info.type = facts.cuda ? TITAN_CUDA : TITAN_CPU;
  info.name = {facts.name.data(), facts.name.size()};
  info.capability_major = facts.capability_major;
  info.capability_minor = facts.capability_minor;
  info.cublaslt_version = facts.cublaslt_version;
  return info;
}

}  // namespace

Matrix on_device(const Platform& platform, const Matrix& a) {
  return platform.is_gpu() ? torch::stable::to(a, device_of(platform)) : torch::stable::clone(a);
}

Matrix on_cpu(const Matrix& a) {
  return a.is_cpu()
             ? a
             : torch::stable::to(a, torch::stable::Device(torch::headeronly::DeviceType::CPU));
}

float8::device::Operand on_cpu(const float8::device::Operand& operand) {
  return {on_cpu(operand.bytes), on_cpu(operand.scales), operand.format, operand.granularity};
}

Matrix empty_on_device(const Platform& platform, int64_t rows, int64_t columns, ScalarType type) {
  const std::array<int64_t, 2> shape{rows, columns};
  return torch::stable::empty({shape.data(), shape.size()}, type, std::nullopt,
                              device_of(platform));
}

Matrix random_on_device(const Platform& platform, int64_t rows, int64_t columns, ScalarType type,
                        double deviation) {
  return torch_op("aten::normal_", "", empty_on_device(platform, rows, columns, type), 0.0,
                  deviation, std::nullopt);
}

Matrix number_on_device(const Platform& platform, float value) {
  const std::array<int64_t, 1> shape{1};
  return torch::stable::full({shape.data(), shape.size()}, value, ScalarType::Float, std::nullopt,
                             device_of(platform));
}

Matrix torch_product(const Matrix& a, const Matrix& b) {
  return torch_op("aten::mm", "", a, torch::stable::transpose(b, 0, 1));
}

double tflops_of_cube(int64_t size, double milliseconds) {
  const auto side = static_cast<double>(size);
  return 2 * side * side * side / (milliseconds * 1e9);
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const float8::Recipe recipe : float8::all_recipes()) names.emplace_back(recipe_name(recipe));
  return names;
}

std::optional<std::string> refusal_of(const Platform& platform, const std::string& name) {
  const float8::Recipe recipe = float8::find_recipe(name).value();
  const bool power_of_two = float8::plan_of(recipe).y.left.rule != float8::ScaleRule::kExact;
  const auto refusal = float8::check_device(
      info_of(platform.facts()), {recipe, power_of_two, false, float8::built_for_cublaslt()});
  return refusal ? std::optional<std::string>(refusal->message) : std::nullopt;
}

std::vector<float8::Recipe> recipes_of(const Platform& platform, Report* report) {
  std::vector<float8::Recipe> recipes;
  for (const float8::Recipe recipe : float8::all_recipes()) {
    const std::string name(recipe_name(recipe));
    const auto refusal = refusal_of(platform, name);
    if (!refusal)
      recipes.push_back(recipe);
    else if (report)
      report->leave_out(name, *refusal);
  }
  return recipes;
}

bool has_vector_scales(const Platform& platform) {
  return float8::has_vector_scales(info_of(platform.facts()));
}

std::unique_ptr<float8::Backend> device_backend(const Platform& platform, const float8::Plan& plan,
                                                bool fast) {
  const converters::DeviceFacts& facts = platform.facts();
  float8::DeviceSettings settings{facts.capability_major, facts.capability_minor,
                                  has_vector_scales(platform)};
  settings.fast_y = fast && float8::has_fast_accumulation(plan.recipe);
  return float8::make_cuda_backend(plan, settings);
}

LayerResult run_layer(float8::Backend& backend, const Matrix& x, const Matrix& w,
                      const Matrix& grad_y, void* stream, const float8::StoredScales& stored) {
  float8::ForwardCall call{x, w};
  call.stored = stored;
  call.needs_x = call.needs_w = true;
  call.stream = stream;
  const float8::Forward forward = backend.forward(call);
  float8::BackwardCall back{grad_y, forward.kept, stored};
  back.in_features = x.size(1);
  back.needs_x = back.needs_w = true;
  back.stream = stream;
  const float8::Backward backward = backend.backward(back);
  return {forward.y, *backward.x, *backward.w, forward.amax_x, forward.amax_w, backward.amax};
}

DelayedLayer::DelayedLayer(const Platform& platform, const float8::Plan& plan,
                           int64_t history_length) {
  options.history_length = history_length;
  const std::array<int64_t, 1> shape{history_length};
  for (int i = 0; i < 3; ++i) {
    const Matrix history = torch::stable::full({shape.data(), shape.size()}, 0.0, ScalarType::Float,
                                               std::nullopt, device_of(platform));
    states.push_back({history, number_on_device(platform, 0),
                      i == 2 ? plan.dx.left.format : plan.y.left.format});
  }
}

void DelayedLayer::update(float8::Backend& backend, const LayerResult& step, void* stream) {
  backend.stage({{states[0].history, *step.amax_x}, {states[1].history, *step.amax_w}}, stream);
  backend.stage({{states[2].history, *step.amax_grad_y}}, stream);
  backend.update(states, options, stream);
}

double sqnr_db(const std::vector<double>& exact, const std::vector<double>& got) {
  double signal = 0, noise = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    signal += exact[i] * exact[i];
    noise += (exact[i] - got[i]) * (exact[i] - got[i]);
  }
  return noise == 0 ? INFINITY : 10 * std::log10(signal / noise);
}

}  // namespace titan::device_check
