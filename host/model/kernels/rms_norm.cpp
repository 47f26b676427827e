#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/rms_norm.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, which compiles this file once for each instruction set.
#include <cmath>

#include "model/kernels/rms_norm.h"
#include "model/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

template <class T>
void forward_rows(int64_t rows, int64_t dim, const T* x, const float* weight, float eps, T* y,
                  float* rstd) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += dim, y += dim) {
    V32 squares = hn::Zero(d);
    float rest = 0;
    for_vectors(
        dim,
        [&](int64_t i) {
          const V32 value = load(d, x + i);
          squares = hn::MulAdd(value, value, squares);
        },
        [&](int64_t i) { rest += load_one(x + i) * load_one(x + i); });
    const float scale = 1.0F / std::sqrt((sum_of(squares) + rest) / static_cast<float>(dim) + eps);
    rstd[r] = scale;
    const V32 factor = hn::Set(d, scale);
    for_vectors(
        dim,
        [&](int64_t i) {
          store(d, hn::Mul(hn::Mul(load(d, x + i), factor), hn::LoadU(d, weight + i)), y + i);
        },
        [&](int64_t i) { store_one(load_one(x + i) * scale * weight[i], y + i); });
  }
}

template <class T>
void backward_rows(int64_t rows, int64_t dim, const T* x, const float* weight, const float* rstd,
                   const T* grad_y, T* grad_x, float* grad_weight) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r, x += dim, grad_y += dim) {
    const float scale = rstd[r];
    const V32 factor = hn::Set(d, scale);
    V32 along = hn::Zero(d);
    float rest = 0;
    for_vectors(
        dim,
        [&](int64_t i) {
          const V32 normal = hn::Mul(load(d, x + i), factor), grad = load(d, grad_y + i);
          along = hn::MulAdd(hn::Mul(grad, hn::LoadU(d, weight + i)), normal, along);
          if (grad_weight)
            hn::StoreU(hn::MulAdd(grad, normal, hn::LoadU(d, grad_weight + i)), d, grad_weight + i);
        },
        [&](int64_t i) {
          const float normal = load_one(x + i) * scale, grad = load_one(grad_y + i);
          rest += grad * weight[i] * normal;
          if (grad_weight) grad_weight[i] += grad * normal;
        });
    if (!grad_x) continue;
    const float mean = (sum_of(along) + rest) / static_cast<float>(dim);
    const V32 means = hn::Set(d, mean);
    T* const to = grad_x + r * dim;
    for_vectors(
        dim,
        [&](int64_t i) {
          const V32 normal = hn::Mul(load(d, x + i), factor);
          const V32 u = hn::Mul(load(d, grad_y + i), hn::LoadU(d, weight + i));
          store(d, hn::Mul(factor, hn::NegMulAdd(normal, means, u)), to + i);
        },
        [&](int64_t i) {
          const float normal = load_one(x + i) * scale;
          store_one(scale * (load_one(grad_y + i) * weight[i] - normal * mean), to + i);
        });
  }
}

void forward_f32(int64_t rows, int64_t dim, const float* x, const float* weight, float eps,
                 float* y, float* rstd) {
  forward_rows(rows, dim, x, weight, eps, y, rstd);
}
void forward_bf16(int64_t rows, int64_t dim, const Bf16* x, const float* weight, float eps, Bf16* y,
                  float* rstd) {
  forward_rows(rows, dim, x, weight, eps, y, rstd);
}
void backward_f32(int64_t rows, int64_t dim, const float* x, const float* weight, const float* rstd,
                  const float* grad_y, float* grad_x, float* grad_weight) {
  backward_rows(rows, dim, x, weight, rstd, grad_y, grad_x, grad_weight);
}
void backward_bf16(int64_t rows, int64_t dim, const Bf16* x, const float* weight, const float* rstd,
                   const Bf16* grad_y, Bf16* grad_x, float* grad_weight) {
  backward_rows(rows, dim, x, weight, rstd, grad_y, grad_x, grad_weight);
}

}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace titan::model::kernels {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_bf16);
HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_bf16);

template <>
void rms_norm_forward(int64_t rows, int64_t dim, const float* x, const float* weight, float eps,
                      float* y, float* rstd) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(rows, dim, x, weight, eps, y, rstd);
}
template <>
void rms_norm_forward(int64_t rows, int64_t dim, const Bf16* x, const float* weight, float eps,
                      Bf16* y, float* rstd) {
  HWY_DYNAMIC_DISPATCH(forward_bf16)(rows, dim, x, weight, eps, y, rstd);
}
template <>
void rms_norm_backward(int64_t rows, int64_t dim, const float* x, const float* weight,
                       const float* rstd, const float* grad_y, float* grad_x, float* grad_weight) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(rows, dim, x, weight, rstd, grad_y, grad_x, grad_weight);
}
template <>
void rms_norm_backward(int64_t rows, int64_t dim, const Bf16* x, const float* weight,
                       const float* rstd, const Bf16* grad_y, Bf16* grad_x, float* grad_weight) {
  HWY_DYNAMIC_DISPATCH(backward_bf16)(rows, dim, x, weight, rstd, grad_y, grad_x, grad_weight);
}

}  // namespace titan::model::kernels
#endif
