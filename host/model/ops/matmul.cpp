#include "model/ops/matmul.h"

#include <ATen/cpu/Utils.h>
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <cstdint>

// MKL's, which LibTorch brings along on x86: bfloat16 in, float32 out. Weak: other builds lack it.
extern "C" __attribute__((weak)) void cblas_gemm_bf16bf16f32(int layout, int transpose_a,
                                                             int transpose_b, int m, int n, int k,
                                                             float alpha, const uint16_t* a,
                                                             int lda, const uint16_t* b, int ldb,
                                                             float beta, float* c, int ldc);

namespace titan::model {
namespace {

constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112;

/// A matrix as BLAS reads it.
struct Operand {
  at::Tensor matrix;  ///< keeps a copy alive where one had to be made
  int transpose;
  int stride;
};

Operand operand(const at::Tensor& x) {
  // A dimension of one element may have any stride.
  if (x.stride(1) == 1 && x.stride(0) >= x.size(1))
    return {x, kAsItIs, static_cast<int>(x.stride(0))};
  if (x.stride(0) == 1 && x.stride(1) >= x.size(0))
    return {x, kTransposed, static_cast<int>(x.stride(1))};
  const at::Tensor dense = x.contiguous();
  return {dense, kAsItIs, static_cast<int>(dense.size(1))};
}

bool narrow_on_cpu(const at::Tensor& x) { return x.is_cpu() && x.scalar_type() == at::kBFloat16; }

bool has_kernel_for_narrow() { return cblas_gemm_bf16bf16f32 && multiplies_bfloat16(); }

void multiply_narrow(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, bool add) {
  const Operand left = operand(a), right = operand(b);
  cblas_gemm_bf16bf16f32(kRowMajor, left.transpose, right.transpose, static_cast<int>(a.size(0)),
                         static_cast<int>(b.size(1)), static_cast<int>(a.size(1)), 1.0F,
                         static_cast<const uint16_t*>(left.matrix.const_data_ptr()), left.stride,
                         static_cast<const uint16_t*>(right.matrix.const_data_ptr()), right.stride,
                         add ? 1.0F : 0.0F, sum.mutable_data_ptr<float>(),
                         static_cast<int>(sum.stride(0)));
}

}  // namespace

bool multiplies_bfloat16() {
  static const bool known = [] {
    const auto facts = at::cpu::get_cpu_capabilities();
    const auto has = [&](const char* name) {
      const auto found = facts.find(name);
      return found != facts.end() && found->second.isBool() && found->second.toBool();
    };
    return has("avx512_bf16") || (has("amx_bf16") && at::cpu::init_amx());
  }();
  return known;
}

at::Tensor matmul(const at::Tensor& a, const at::Tensor& b, at::ScalarType type) {
  if (a.scalar_type() == type && (!narrow_on_cpu(a) || multiplies_bfloat16())) return at::mm(a, b);
  if (a.is_meta())  // counted as where the product comes out in this type
    return at::empty({a.size(0), b.size(1)}, a.options().dtype(type));
  if (!narrow_on_cpu(a)) return at::mm(a, b).to(type);
  if (type == at::kFloat && has_kernel_for_narrow()) {
    at::Tensor sum = at::empty({a.size(0), b.size(1)}, a.options().dtype(at::kFloat));
    multiply_narrow(sum, a, b, false);
    return sum;
  }
  // The numbers are bfloat16's, and so are their exact products.
  return at::mm(a.to(at::kFloat), b.to(at::kFloat)).to(type);
}

void matmul_into(at::Tensor& sum, const at::Tensor& a, const at::Tensor& b, bool add) {
  if (sum.is_meta()) return;
  if (narrow_on_cpu(a) && has_kernel_for_narrow()) return multiply_narrow(sum, a, b, add);
  const at::Tensor left = a.to(at::kFloat), right = b.to(at::kFloat);
  if (add)
    sum.addmm_(left, right);
  else
    at::mm_out(sum, left, right);
}

}  // namespace titan::model
