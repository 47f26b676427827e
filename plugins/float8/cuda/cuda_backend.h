/// float8 on the GPU, put together from the kernels and cuBLASLt; both can be exchanged in tests.
#pragma once

#include "../backend.h"
#include "gemm.h"
#include "kernels.h"

namespace float8::device {

/// Never run on a GPU. Tests run it on CPU tensors, with loops for the kernels and a double for
/// cuBLASLt. `kernels` and `library` must outlive it.
class CudaBackend final : public Backend {
 public:
  CudaBackend(const Kernels& kernels, const CublasLt& library, int32_t capability_major)
      : kernels_(kernels), gemm_(library, capability_major) {}
  using Backend::backward;
  using Backend::forward;
  Forward forward(const Matrix& x, const Matrix& w, const StoredScales& stored, void* stream) override;
  Backward backward(const Matrix& grad_y, const Matrix& x, const Matrix& w, const Matrix& kept,
                    const StoredScales& stored, bool needs_x, bool needs_w, void* stream) override;
  const Gemm& gemm() const { return gemm_; }

 private:
  struct Cast;
  void find_amax(const Matrix& x, int32_t* amax_bits, void* stream) const;
  Cast cast(const Matrix& x, const int32_t* amax_bits, Format format, bool rows, bool columns,
            void* stream) const;
  Matrix multiply(const GemmShape& shape, const void* a, const float* inverse_a, const void* b,
                  const float* inverse_b, const Matrix& like, void* stream);

  const Kernels& kernels_;
  Gemm gemm_;
};

}  // namespace float8::device
