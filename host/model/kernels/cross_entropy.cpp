#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/cross_entropy.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, which compiles this file once for each instruction set.
#include <cmath>
#include <limits>

#include "model/kernels/cross_entropy.h"
#include "model/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

HWY_INLINE float largest_of(int64_t n, const float* x) {
  const F32 d;
  V32 largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  float rest = -std::numeric_limits<float>::infinity();
  for_vectors(
      n, [&](int64_t i) { largest = hn::Max(largest, hn::LoadU(d, x + i)); },
      [&](int64_t i) { rest = x[i] > rest ? x[i] : rest; });
  const float vectors = max_of(largest);
  return vectors > rest ? vectors : rest;
}

/// Sum of exp(x - offset); writes the exponentials if `keep`. Sums of a vector's lanes grow apart
/// from each other, and are joined in float64.
template <class Keep>
HWY_INLINE double sum_of_exponentials(int64_t n, const float* x, float offset, const Keep& keep) {
  const F32 d;
  const V32 shift = hn::Set(d, offset);
  V32 sum = hn::Zero(d);
  double rest = 0;
  for_vectors(
      n,
      [&](int64_t i) {
        const V32 value = exponential(d, hn::Sub(hn::LoadU(d, x + i), shift));
        sum = hn::Add(sum, value);
        keep.vector(i, value);
      },
      [&](int64_t i) {
        const float value = std::exp(x[i] - offset);
        rest += static_cast<double>(value);
        keep.one(i, value);
      });
  return static_cast<double>(sum_of(sum)) + rest;
}

struct KeepNothing {
  void vector(int64_t, V32) const {}
  void one(int64_t, float) const {}
};
struct KeepIn {
  float* to;
  void vector(int64_t i, V32 value) const { hn::StoreU(value, F32(), to + i); }
  void one(int64_t i, float value) const { to[i] = value; }
};

double loss_of(int64_t n, const float* logits, int64_t label) {
  const float largest = largest_of(n, logits);
  const double sum = sum_of_exponentials(n, logits, largest, KeepNothing());
  return static_cast<double>(largest) + std::log(sum) - static_cast<double>(logits[label]);
}

template <class T>
double gradient_of(int64_t n, float* logits, int64_t label, float scale, T* gradient) {
  const F32 d;
  const float largest = largest_of(n, logits);
  const double own = static_cast<double>(logits[label]);
  const double sum = sum_of_exponentials(n, logits, largest, KeepIn{logits});
  const float factor = static_cast<float>(static_cast<double>(scale) / sum);
  const float at_label = logits[label] * factor - scale;
  for_vectors(
      n,
      [&](int64_t i) {
        store(d, hn::Mul(hn::LoadU(d, logits + i), hn::Set(d, factor)), gradient + i);
      },
      [&](int64_t i) { store_one(logits[i] * factor, gradient + i); });
  store_one(at_label, gradient + label);
  return static_cast<double>(largest) + std::log(sum) - own;
}

void round_all(int64_t n, float* values) {
  const F32 d;
  HWY_ALIGN Bf16 narrow[HWY_MAX_BYTES / sizeof(float)];
  for_vectors(
      n,
      [&](int64_t i) {
        store(d, hn::LoadU(d, values + i), narrow);
        hn::StoreU(load(d, narrow), d, values + i);
      },
      [&](int64_t i) { values[i] = widened(narrowed(values[i])); });
}

double gradient_f32(int64_t n, float* logits, int64_t label, float scale, float* gradient) {
  return gradient_of(n, logits, label, scale, gradient);
}
double gradient_bf16(int64_t n, float* logits, int64_t label, float scale, Bf16* gradient) {
  return gradient_of(n, logits, label, scale, gradient);
}

}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace titan::model::kernels {

HWY_EXPORT(loss_of);
HWY_EXPORT(gradient_f32);
HWY_EXPORT(gradient_bf16);
HWY_EXPORT(round_all);

double cross_entropy_loss(int64_t n, const float* logits, int64_t label) {
  return HWY_DYNAMIC_DISPATCH(loss_of)(n, logits, label);
}
double cross_entropy_gradient(int64_t n, float* logits, int64_t label, float scale,
                              float* gradient) {
  return HWY_DYNAMIC_DISPATCH(gradient_f32)(n, logits, label, scale, gradient);
}
double cross_entropy_gradient(int64_t n, float* logits, int64_t label, float scale,
                              Bf16* gradient) {
  return HWY_DYNAMIC_DISPATCH(gradient_bf16)(n, logits, label, scale, gradient);
}

void round_to_bfloat16(int64_t n, float* values) { HWY_DYNAMIC_DISPATCH(round_all)(n, values); }

}  // namespace titan::model::kernels
#endif
