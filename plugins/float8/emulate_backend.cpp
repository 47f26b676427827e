/// float8 on the CPU: quantises, goes back to float32 and multiplies there. The numbers are those
/// of the recipe; only the accumulation of the tensor cores is not imitated.
#include <torch/csrc/stable/ops.h>

#include <atomic>
#include <titan/torch.hpp>

#include "backend.h"
#include "cpu_quantize.h"
#include "matrix.h"

namespace float8 {
namespace {

using titan::sdk::torch_op;
using torch::headeronly::ScalarType;

/// Elements a thread takes at least: below this, waking a thread costs more than it saves.
constexpr int64_t kGrain = 32768;

float find_amax(const Matrix& x) {
  const auto* data = static_cast<const char*>(x.const_data_ptr());
  const InputType type = input_type(x);
  const int64_t element_size = type == InputType::kFloat32 ? 4 : 2;
  std::atomic<uint32_t> largest{0};
  torch::stable::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    const uint32_t bits = cpu_quantizer().amax_bits(data + begin * element_size, type, end - begin);
    uint32_t seen = largest.load(std::memory_order_relaxed);
    while (bits > seen && !largest.compare_exchange_weak(seen, bits, std::memory_order_relaxed)) {
    }
  });
  return float_of(largest.load());
}

/// x through the format and back, as float32.
Matrix emulate_cast(const Matrix& x, float amax, Format format) {
  const auto* data = static_cast<const char*>(x.const_data_ptr());
  const InputType type = input_type(x);
  const int64_t element_size = type == InputType::kFloat32 ? 4 : 2;
  Matrix result = new_matrix(x, rows_of(x), columns_of(x), ScalarType::Float);
  auto* out = static_cast<float*>(result.mutable_data_ptr());
  const float scale = scale_of(amax, format);
  torch::stable::parallel_for(0, x.numel(), kGrain, [&](int64_t begin, int64_t end) {
    cpu_quantizer().emulate(data + begin * element_size, type, end - begin, scale, format, out + begin);
  });
  return result;
}

Matrix transposed(const Matrix& a) { return torch::stable::transpose(a, 0, 1); }

/// a b in float32, handed back in the type of `like`.
Matrix multiply_like(const Matrix& a, const Matrix& b, const Matrix& like) {
  Matrix product = torch_op("aten::mm", "", a, b);
  const ScalarType type = like.scalar_type();
  return type == ScalarType::Float ? product : torch::stable::to(product, type);
}

class EmulateBackend final : public Backend {
 public:
  Forward forward(const Matrix& x, const Matrix& w, void*) override {
    Matrix amax = new_vector(x, 2, ScalarType::Float);
    auto* values = static_cast<float*>(amax.mutable_data_ptr());
    values[0] = find_amax(x);
    values[1] = find_amax(w);
    const Matrix cast_x = emulate_cast(x, values[0], Format::kE4M3);
    const Matrix cast_w = emulate_cast(w, values[1], Format::kE4M3);
    return {multiply_like(cast_x, transposed(cast_w), x), amax};
  }

  Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& amax, bool needs_x,
                    bool needs_w, void*) override {
    const auto* values = static_cast<const float*>(amax.const_data_ptr());
    const Matrix cast_grad = emulate_cast(grad_y, find_amax(grad_y), Format::kE5M2);
    Backward result;
    if (needs_x) result.x = multiply_like(cast_grad, emulate_cast(w, values[1], Format::kE4M3), x);
    if (needs_w)
      result.w = multiply_like(transposed(cast_grad), emulate_cast(x, values[0], Format::kE4M3), w);
    return result;
  }
};

}  // namespace

std::unique_ptr<Backend> make_emulate_backend() { return std::make_unique<EmulateBackend>(); }

}  // namespace float8
