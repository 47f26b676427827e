#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/swiglu.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, which compiles this file once for each instruction set.
#include <cmath>

#include "model/kernels/simd-inl.h"
#include "model/kernels/swiglu.h"

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

/// 1 / (1 + exp(-x)). exp overflows to infinity and the quotient to zero, as they should.
HWY_INLINE V32 sigmoid(F32 d, V32 x) {
  const V32 one = hn::Set(d, 1.0F);
  // Beyond this exp would leave the range that Exp computes; the quotient is zero there anyway.
  const V32 bounded = hn::Min(hn::Neg(x), hn::Set(d, 88.0F));
  const V32 result = hn::Div(one, hn::Add(one, exponential(d, bounded)));
  // Min may drop a NaN.
  return hn::IfThenElse(hn::Eq(x, x), result, x);
}
HWY_INLINE float sigmoid_one(float x) { return 1.0F / (1.0F + std::exp(-x)); }

template <class T>
void forward(int64_t n, const T* gate, const T* up, T* y) {
  const F32 d;
  for_vectors(
      n,
      [&](int64_t i) {
        const V32 g = load(d, gate + i);
        store(d, hn::Mul(hn::Mul(g, sigmoid(d, g)), load(d, up + i)), y + i);
      },
      [&](int64_t i) {
        const float g = load_one(gate + i);
        store_one(g * sigmoid_one(g) * load_one(up + i), y + i);
      });
}

template <class T>
void backward(int64_t n, const T* gate, const T* up, const T* grad_y, T* grad_gate, T* grad_up) {
  const F32 d;
  const V32 one = hn::Set(d, 1.0F);
  for_vectors(
      n,
      [&](int64_t i) {
        const V32 g = load(d, gate + i), u = load(d, up + i), grad = load(d, grad_y + i);
        const V32 s = sigmoid(d, g);
        const V32 slope = hn::Mul(s, hn::MulAdd(g, hn::Sub(one, s), one));
        store(d, hn::Mul(grad, hn::Mul(g, s)), grad_up + i);
        store(d, hn::Mul(hn::Mul(grad, u), slope), grad_gate + i);
      },
      [&](int64_t i) {
        const float g = load_one(gate + i), u = load_one(up + i), grad = load_one(grad_y + i);
        const float s = sigmoid_one(g);
        store_one(grad * g * s, grad_up + i);
        store_one(grad * u * s * (1.0F + g * (1.0F - s)), grad_gate + i);
      });
}

void forward_f32(int64_t n, const float* gate, const float* up, float* y) {
  forward(n, gate, up, y);
}
void forward_bf16(int64_t n, const Bf16* gate, const Bf16* up, Bf16* y) { forward(n, gate, up, y); }
void backward_f32(int64_t n, const float* gate, const float* up, const float* grad_y,
                  float* grad_gate, float* grad_up) {
  backward(n, gate, up, grad_y, grad_gate, grad_up);
}
void backward_bf16(int64_t n, const Bf16* gate, const Bf16* up, const Bf16* grad_y, Bf16* grad_gate,
                   Bf16* grad_up) {
  backward(n, gate, up, grad_y, grad_gate, grad_up);
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
void swiglu_forward(int64_t n, const float* gate, const float* up, float* y) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(n, gate, up, y);
}
template <>
void swiglu_forward(int64_t n, const Bf16* gate, const Bf16* up, Bf16* y) {
  HWY_DYNAMIC_DISPATCH(forward_bf16)(n, gate, up, y);
}
template <>
void swiglu_backward(int64_t n, const float* gate, const float* up, const float* grad_y,
                     float* grad_gate, float* grad_up) {
  HWY_DYNAMIC_DISPATCH(backward_f32)(n, gate, up, grad_y, grad_gate, grad_up);
}
template <>
void swiglu_backward(int64_t n, const Bf16* gate, const Bf16* up, const Bf16* grad_y,
                     Bf16* grad_gate, Bf16* grad_up) {
  HWY_DYNAMIC_DISPATCH(backward_bf16)(n, gate, up, grad_y, grad_gate, grad_up);
}

}  // namespace titan::model::kernels
#endif
