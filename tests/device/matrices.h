/// Matrices on the device, and the layers of the float8 plugin over them.
#pragma once

#include <torch/csrc/stable/ops.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend.h"
#include "cuda/device_cast.h"
#include "platform.h"
#include "recipe.h"
#include "report.h"

namespace titan::device_check {

using float8::Matrix;
using torch::headeronly::ScalarType;

/// Copies that wait for the device.
Matrix on_device(const Platform& platform, const Matrix& a);
Matrix on_cpu(const Matrix& a);
float8::device::Operand on_cpu(const float8::device::Operand& operand);

/// [rows, columns] on the device, of a normal distribution with this deviation; another draw in
/// each call.
Matrix random_on_device(const Platform& platform, int64_t rows, int64_t columns, ScalarType type,
                        double deviation = 1);
/// Uninitialised.
Matrix empty_on_device(const Platform& platform, int64_t rows, int64_t columns, ScalarType type);
/// float32 [1].
Matrix number_on_device(const Platform& platform, float value);

/// a [M, K] times b [N, K] transposed, by torch.
Matrix torch_product(const Matrix& a, const Matrix& b);
/// The rate of a product of two [size, size] in that time.
double tflops_of_cube(int64_t size, double milliseconds);

/// The recipes that this device can run; what it cannot run is noted in the report, if one is
/// given.
std::vector<float8::Recipe> recipes_of(const Platform& platform, Report* report = nullptr);

/// Whether cuBLASLt multiplies with a scale for each row here.
bool has_vector_scales(const Platform& platform);
/// The backend as the plugin would make it for this device. `fast`: fast accumulation in the
/// product y, where the recipe knows it.
std::unique_ptr<float8::Backend> device_backend(const Platform& platform, const float8::Plan& plan,
                                                bool fast);

/// What a layer gives, with both gradients.
struct LayerResult {
  Matrix y, grad_x, grad_w;
  std::optional<Matrix> amax_x = std::nullopt, amax_w = std::nullopt, amax_grad_y = std::nullopt;
};
/// Forward and backward of x [M, K], w [N, K], grad_y [M, N], all on one device. `stream` as in the
/// backend's calls.
LayerResult run_layer(float8::Backend& backend, const Matrix& x, const Matrix& w,
                      const Matrix& grad_y, void* stream, const float8::StoredScales& stored = {});

/// State of the three tensors of a layer with recipe delayed, on the device.
struct DelayedLayer {
  std::vector<float8::DelayedState> states;  ///< x, w, grad_y
  float8::DelayedOptions options;
  DelayedLayer(const Platform& platform, const float8::Plan& plan, int64_t history_length);
  float8::StoredScales stored() const {
    return {states[0].scale, states[1].scale, states[2].scale};
  }
  /// Takes in what a step has seen and moves the states on.
  void update(float8::Backend& backend, const LayerResult& step, void* stream);
};

/// 10 log10 of the signal over the noise; infinite where they are the same.
double sqnr_db(const std::vector<double>& exact, const std::vector<double>& got);

}  // namespace titan::device_check
