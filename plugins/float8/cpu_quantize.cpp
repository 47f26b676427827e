/// The quantising loops, compiled once for each instruction set and chosen at run time.
/// Built with -ffp-contract=off: a product fused with the rounding addition would round once too
/// few (see round_magnitude).
#include "cpu_quantize.h"

#include "scale.h"

namespace float8 {
namespace {

TITAN_HD uint32_t amax_loop(const float* x, int64_t n) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = bits_of(x[i]) & 0x7fffffffU;
    largest = bits > largest ? bits : largest;
  }
  return largest;
}

TITAN_HD uint32_t amax_loop(const uint16_t* x, int64_t n) {
  uint16_t largest = 0;
  for (int64_t i = 0; i < n; ++i) {
    const uint16_t bits = x[i] & 0x7fffU;
    largest = bits > largest ? bits : largest;
  }
  return static_cast<uint32_t>(largest) << 16;
}

template <Format F, class T>
TITAN_HD void cast_loop(const T* x, int64_t n, float scale, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = encode<F>(multiply(load_float(x[i]), scale));
}

template <Format F, class T>
TITAN_HD void emulate_loop(const T* x, int64_t n, float scale, float* out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = round_to_format<F>(multiply(load_float(x[i]), scale)) / scale;
}

template <class T>
TITAN_HD void amax_columns_loop(const T* x, int64_t n, uint32_t* largest) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = bits_of(load_float(x[i])) & 0x7fffffffU;
    largest[i] = bits > largest[i] ? bits : largest[i];
  }
}

template <Format F, class T>
TITAN_HD void cast_columns_loop(const T* x, int64_t n, const float* scales, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = encode<F>(multiply(load_float(x[i]), scales[i]));
}

template <Format F, class T>
TITAN_HD void emulate_columns_loop(const T* x, int64_t n, const float* scales, float* out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = round_to_format<F>(multiply(load_float(x[i]), scales[i])) / scales[i];
}

template <Format F>
TITAN_HD void dequantize_loop(const uint8_t* x, int64_t n, float scale, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = decode<F>(x[i]) / scale;
}

// Why not target_clones: its resolvers run while the library is being loaded, before a sanitizer's
// runtime is ready, and a test could not choose a variant.
#define FLOAT8_VARIANT(ID, NAME, ATTRIBUTE)                                                        \
  struct ID {                                                                                      \
    ATTRIBUTE static uint32_t amax_f32(const float* x, int64_t n) { return amax_loop(x, n); }      \
    ATTRIBUTE static uint32_t amax_bf16(const uint16_t* x, int64_t n) { return amax_loop(x, n); }  \
    template <Format F, class T>                                                                   \
    ATTRIBUTE static void cast(const T* x, int64_t n, float scale, uint8_t* out) {                 \
      cast_loop<F>(x, n, scale, out);                                                              \
    }                                                                                              \
    template <Format F, class T>                                                                   \
    ATTRIBUTE static void emulate(const T* x, int64_t n, float scale, float* out) {                \
      emulate_loop<F>(x, n, scale, out);                                                           \
    }                                                                                              \
    template <class T>                                                                             \
    ATTRIBUTE static void amax_columns(const T* x, int64_t n, uint32_t* largest) {                 \
      amax_columns_loop(x, n, largest);                                                            \
    }                                                                                              \
    template <Format F, class T>                                                                   \
    ATTRIBUTE static void cast_columns(const T* x, int64_t n, const float* scales, uint8_t* out) { \
      cast_columns_loop<F>(x, n, scales, out);                                                     \
    }                                                                                              \
    template <Format F, class T>                                                                   \
    ATTRIBUTE static void emulate_columns(const T* x, int64_t n, const float* scales,              \
                                          float* out) {                                            \
      emulate_columns_loop<F>(x, n, scales, out);                                                  \
    }                                                                                              \
    template <Format F>                                                                            \
    ATTRIBUTE static void dequantize(const uint8_t* x, int64_t n, float scale, float* out) {       \
      dequantize_loop<F>(x, n, scale, out);                                                        \
    }                                                                                              \
    static constexpr CpuQuantizer kTable{                                                          \
        NAME,                                                                                      \
        amax_f32,                                                                                  \
        amax_bf16,                                                                                 \
        {cast<Format::kE4M3, float>, cast<Format::kE5M2, float>},                                  \
        {cast<Format::kE4M3, uint16_t>, cast<Format::kE5M2, uint16_t>},                            \
        {emulate<Format::kE4M3, float>, emulate<Format::kE5M2, float>},                            \
        {emulate<Format::kE4M3, uint16_t>, emulate<Format::kE5M2, uint16_t>},                      \
        amax_columns<float>,                                                                       \
        amax_columns<uint16_t>,                                                                    \
        {cast_columns<Format::kE4M3, float>, cast_columns<Format::kE5M2, float>},                  \
        {cast_columns<Format::kE4M3, uint16_t>, cast_columns<Format::kE5M2, uint16_t>},            \
        {emulate_columns<Format::kE4M3, float>, emulate_columns<Format::kE5M2, float>},            \
        {emulate_columns<Format::kE4M3, uint16_t>, emulate_columns<Format::kE5M2, uint16_t>},      \
        {dequantize<Format::kE4M3>, dequantize<Format::kE5M2>},                                    \
    };                                                                                             \
  };

FLOAT8_VARIANT(Generic, "generic", )
#if defined(__x86_64__)
FLOAT8_VARIANT(Avx2, "avx2", __attribute__((target("avx2"))))
FLOAT8_VARIANT(Avx512, "avx512f", __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq"))))
#endif
#undef FLOAT8_VARIANT

}  // namespace

std::vector<const CpuQuantizer*> cpu_quantizers() {
  std::vector<const CpuQuantizer*> list;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    list.push_back(&Avx512::kTable);
  if (__builtin_cpu_supports("avx2")) list.push_back(&Avx2::kTable);
#endif
  list.push_back(&Generic::kTable);
  return list;
}

const CpuQuantizer& cpu_quantizer() {
  static const CpuQuantizer* const fastest = cpu_quantizers().front();
  return *fastest;
}

uint32_t CpuQuantizer::amax_bits(const void* x, InputType type, int64_t n) const {
  return type == InputType::kFloat32 ? amax_bits_f32(static_cast<const float*>(x), n)
                                     : amax_bits_bf16(static_cast<const uint16_t*>(x), n);
}

void CpuQuantizer::cast(const void* x, InputType type, int64_t n, float scale, Format format,
                        uint8_t* out) const {
  const auto index = static_cast<size_t>(format);
  if (type == InputType::kFloat32)
    cast_f32[index](static_cast<const float*>(x), n, scale, out);
  else
    cast_bf16[index](static_cast<const uint16_t*>(x), n, scale, out);
}

void CpuQuantizer::emulate(const void* x, InputType type, int64_t n, float scale, Format format,
                           float* out) const {
  const auto index = static_cast<size_t>(format);
  if (type == InputType::kFloat32)
    emulate_f32[index](static_cast<const float*>(x), n, scale, out);
  else
    emulate_bf16[index](static_cast<const uint16_t*>(x), n, scale, out);
}

void CpuQuantizer::amax_columns(const void* x, InputType type, int64_t n, uint32_t* largest) const {
  if (type == InputType::kFloat32)
    amax_columns_f32(static_cast<const float*>(x), n, largest);
  else
    amax_columns_bf16(static_cast<const uint16_t*>(x), n, largest);
}

void CpuQuantizer::cast_columns(const void* x, InputType type, int64_t n, const float* scales,
                                Format format, uint8_t* out) const {
  const auto index = static_cast<size_t>(format);
  if (type == InputType::kFloat32)
    cast_columns_f32[index](static_cast<const float*>(x), n, scales, out);
  else
    cast_columns_bf16[index](static_cast<const uint16_t*>(x), n, scales, out);
}

void CpuQuantizer::emulate_columns(const void* x, InputType type, int64_t n, const float* scales,
                                   Format format, float* out) const {
  const auto index = static_cast<size_t>(format);
  if (type == InputType::kFloat32)
    emulate_columns_f32[index](static_cast<const float*>(x), n, scales, out);
  else
    emulate_columns_bf16[index](static_cast<const uint16_t*>(x), n, scales, out);
}

float scale_of(float amax, Format format, ScaleRule rule) {
  const bool e4m3 = format == Format::kE4M3;
  if (rule == ScaleRule::kRoundUpE8M0)
    return scale_of_e8m0(e4m3 ? e8m0_of<Format::kE4M3>(amax) : e8m0_of<Format::kE5M2>(amax));
  const float exact = e4m3 ? scale_of<Format::kE4M3>(amax) : scale_of<Format::kE5M2>(amax);
  return rule == ScaleRule::kPowerOfTwo ? power_of_two_below(exact) : exact;
}

}  // namespace float8
