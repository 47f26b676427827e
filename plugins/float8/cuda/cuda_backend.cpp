#include "cuda_backend.h"

#include <memory>
#include <mutex>
#include <torch/csrc/stable/accelerator.h>

#include "../matrix.h"
#include "kernel_bodies.h"

namespace float8::device {
namespace {

using torch::headeronly::ScalarType;

/// Tokens are the inner dimension of the weight's gradient, and fp8 products take multiples of 16.
/// Zeros added there change nothing.
constexpr int64_t kMultiple = 16;
int64_t padded(int64_t rows) { return (rows + kMultiple - 1) / kMultiple * kMultiple; }

void check(const char* error, const char* doing) {
  if (error)
    throw titan::sdk::Error(TITAN_FAILED, std::string("float8 failed to ") + doing + " on the GPU: " + error,
                            "run with CUDA_LAUNCH_BLOCKING=1 to find the first failure");
}

/// Makes the device of `x` current, as kernels go to the current device. Nothing for CPU tensors.
std::optional<torch::stable::accelerator::DeviceGuard> on_device_of(const Matrix& x) {
  std::optional<torch::stable::accelerator::DeviceGuard> guard;
  if (!x.is_cpu()) guard.emplace(x.get_device_index());
  return guard;
}

/// The kernels read 16 bytes at a time; a view may begin anywhere.
Matrix aligned(const Matrix& x) {
  return reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0 ? x : torch::stable::clone(x);
}

Matrix zeros(const Matrix& like, int64_t rows, int64_t columns) {
  Matrix result = new_matrix(like, rows, columns, like.scalar_type());
  return torch::stable::zero_(result);
}

}  // namespace

/// A tensor in fp8: as it lies, transposed, or both; and the factor that undoes its scale.
struct CudaBackend::Cast {
  std::optional<Matrix> rows;     ///< uint8 [rows, columns]
  std::optional<Matrix> columns;  ///< uint8 [columns, padded rows]
  Matrix inverse_scale;           ///< float32 [1]
  const void* row_data() const { return rows->const_data_ptr(); }
  const void* column_data() const { return columns->const_data_ptr(); }
  const float* inverse() const { return static_cast<const float*>(inverse_scale.const_data_ptr()); }
};

void CudaBackend::find_amax(const Matrix& x, int32_t* amax_bits, void* stream) const {
  check(kernels_.amax(x.const_data_ptr(), input_type(x), x.numel(), amax_bits, stream), "find the largest magnitude");
}

CudaBackend::Cast CudaBackend::cast(const Matrix& x, const int32_t* amax_bits, Format format, bool rows,
                                    bool columns, void* stream) const {
  Cast result{std::nullopt, std::nullopt, new_vector(x, 1, ScalarType::Float)};
  CastArguments arguments{};
  arguments.x = x.const_data_ptr();
  arguments.rows = rows_of(x);
  arguments.columns = columns_of(x);
  arguments.padded_rows = padded(rows_of(x));
  arguments.amax_bits = amax_bits;
  arguments.inverse_scale = static_cast<float*>(result.inverse_scale.mutable_data_ptr());
  if (rows) {
    result.rows = new_matrix(x, arguments.rows, arguments.columns, ScalarType::Byte);
    arguments.row_out = static_cast<uint8_t*>(result.rows->mutable_data_ptr());
  }
  if (columns) {
    result.columns = new_matrix(x, arguments.columns, arguments.padded_rows, ScalarType::Byte);
    arguments.column_out = static_cast<uint8_t*>(result.columns->mutable_data_ptr());
  }
  check(kernels_.cast(arguments, input_type(x), format, stream), "cast a tensor");
  return result;
}

Matrix CudaBackend::multiply(const GemmShape& shape, const void* a, const float* inverse_a, const void* b,
                             const float* inverse_b, const Matrix& like, void* stream) {
  Matrix result = new_matrix(like, shape.n, shape.m, like.scalar_type());
  // Freed on return and given to the next product: torch's allocator hands memory out in the order
  // of the stream, so the two do not meet.
  const Matrix workspace = new_vector(like, static_cast<int64_t>(gemm_.workspace_bytes()), ScalarType::Byte);
  gemm_.run(shape, {a, b, inverse_a, inverse_b, result.mutable_data_ptr(), workspace.mutable_data_ptr()}, stream);
  return result;
}

Forward CudaBackend::forward(const Matrix& x_given, const Matrix& w_given, const StoredScales&, void* stream) {
  const auto guard = on_device_of(x_given);
  const Matrix x = aligned(x_given);
  const Matrix w = aligned(w_given);
  const int64_t tokens = rows_of(x), in = columns_of(x), out = rows_of(w);
  Matrix amax = new_vector(x, 2, ScalarType::Float);
  if (tokens == 0) return {zeros(x, 0, out), torch::stable::zero_(amax), std::nullopt};
  auto* bits = static_cast<int32_t*>(amax.mutable_data_ptr());
  find_amax(x, bits, stream);
  find_amax(w, bits + 1, stream);
  const Cast cast_x = cast(x, bits, Format::kE4M3, true, false, stream);
  const Cast cast_w = cast(w, bits + 1, Format::kE4M3, true, false, stream);
  const GemmShape shape{out, tokens, in, Format::kE4M3, Format::kE4M3, input_type(x), true};
  return {multiply(shape, cast_w.row_data(), cast_w.inverse(), cast_x.row_data(), cast_x.inverse(), x, stream), amax,
          std::nullopt};
}

Backward CudaBackend::backward(const Matrix& grad_given, const Matrix& x_given, const Matrix& w_given,
                               const Matrix& amax, const StoredScales&, bool needs_x, bool needs_w, void* stream) {
  const auto guard = on_device_of(x_given);
  const Matrix grad = aligned(grad_given);
  const Matrix x = aligned(x_given);
  const Matrix w = aligned(w_given);
  const int64_t tokens = rows_of(x), in = columns_of(x), out = rows_of(w);
  Backward result;
  if (tokens == 0) {
    if (needs_x) result.x = zeros(x, 0, in);
    if (needs_w) result.w = zeros(w, out, in);
    return result;
  }
  const auto* bits = static_cast<const int32_t*>(amax.const_data_ptr());
  const Matrix grad_amax = new_vector(grad, 1, ScalarType::Int);
  auto* grad_bits = static_cast<int32_t*>(grad_amax.mutable_data_ptr());
  find_amax(grad, grad_bits, stream);
  const Cast cast_grad = cast(grad, grad_bits, Format::kE5M2, needs_x, needs_w, stream);
  if (needs_x) {
    const Cast cast_w = cast(w, bits + 1, Format::kE4M3, false, true, stream);
    const GemmShape shape{in, tokens, out, Format::kE4M3, Format::kE5M2, input_type(x), false};
    result.x = multiply(shape, cast_w.column_data(), cast_w.inverse(), cast_grad.row_data(), cast_grad.inverse(), x,
                        stream);
  }
  if (needs_w) {
    const Cast cast_x = cast(x, bits, Format::kE4M3, false, true, stream);
    const GemmShape shape{in, out, padded(tokens), Format::kE4M3, Format::kE5M2, input_type(w), false};
    result.w = multiply(shape, cast_x.column_data(), cast_x.inverse(), cast_grad.column_data(), cast_grad.inverse(),
                        w, stream);
  }
  return result;
}

}  // namespace float8::device

namespace float8 {

namespace {

/// cuBLASLt is opened by the first product and not before: a plan for a GPU that is elsewhere needs
/// none here. That it is there, and new enough, the facts about the device have told.
class OpenedAtFirstUse final : public Backend {
 public:
  explicit OpenedAtFirstUse(int32_t capability_major) : capability_major_(capability_major) {}
  using Backend::backward;
  using Backend::forward;
  Forward forward(const Matrix& x, const Matrix& w, const StoredScales& stored, void* stream) override {
    return backend().forward(x, w, stored, stream);
  }
  Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& kept,
                    const StoredScales& stored, bool needs_x, bool needs_w, void* stream) override {
    return backend().backward(grad_y, x, w, kept, stored, needs_x, needs_w, stream);
  }

 private:
  Backend& backend() {
    std::call_once(once_, [this] {
      backend_ = std::make_unique<device::CudaBackend>(device::cuda_kernels(), device::load_cublaslt(), capability_major_);
    });
    return *backend_;
  }
  int32_t capability_major_;
  std::once_flag once_;
  std::unique_ptr<Backend> backend_;
};

}  // namespace

std::unique_ptr<Backend> make_cuda_backend(int32_t capability_major) {
  return std::make_unique<OpenedAtFirstUse>(capability_major);
}

bool built_with_cuda() { return true; }

}  // namespace float8
