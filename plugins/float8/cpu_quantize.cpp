/// The quantising loops, compiled once for each instruction set and chosen at run time.
/// Built with -ffp-contract=off: a product fused with the rounding addition would round once too
/// few (see round_magnitude).
#include "cpu_quantize.h"

#include "scale.h"

#if defined(__x86_64__)
#include "encode_avx2.h"
#endif

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

template <class T>
TITAN_HD void amax_segments_loop(const T* x, int64_t n, int64_t length, uint32_t* largest) {
  int64_t segment = 0, first = 0;
  const auto offer = [&](uint32_t bits) {
    largest[segment] = bits > largest[segment] ? bits : largest[segment];
    ++segment;
  };
  // A length that the compiler knows needs no loop's beginning and end.
  if (length == 32)
    for (; first + 32 <= n; first += 32) offer(amax_loop(x + first, 32));
  for (; first < n; first += length)
    offer(amax_loop(x + first, n - first < length ? n - first : length));
}

template <class T>
TITAN_HD void amax_columns_loop(const T* x, int64_t n, uint32_t* largest) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = bits_of(load_float(x[i])) & 0x7fffffffU;
    largest[i] = bits > largest[i] ? bits : largest[i];
  }
}

template <Format F, class T>
TITAN_HD void cast_loop(const T* x, int64_t n, float scale, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = encode<F>(multiply(load_float(x[i]), scale));
}

template <Format F, class T>
TITAN_HD void cast_columns_loop(const T* x, int64_t n, const float* scales, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = encode<F>(multiply(load_float(x[i]), scales[i]));
}

template <Format F, class T>
TITAN_HD void emulate_loop(const T* x, int64_t n, float scale, float* out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = round_to_format<F>(multiply(load_float(x[i]), scale)) / scale;
}

template <Format F, class T>
TITAN_HD void emulate_columns_loop(const T* x, int64_t n, const float* scales, float* out) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = round_to_format<F>(multiply(load_float(x[i]), scales[i])) / scales[i];
}

template <Format F, class T>
TITAN_HD void narrow_loop(const T* x, int64_t n, float scale, float undo, uint16_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const float value = multiply(round_to_format<F>(multiply(load_float(x[i]), scale)), undo);
    out[i] = static_cast<uint16_t>(bits_of(value) >> 16);
  }
}

template <Format F, class T>
TITAN_HD void narrow_columns_loop(const T* x, int64_t n, const float* scales, const float* undo,
                                  uint16_t* out) {
  for (int64_t i = 0; i < n; ++i) {
    const float value =
        multiply(round_to_format<F>(multiply(load_float(x[i]), scales[i])), undo[i]);
    out[i] = static_cast<uint16_t>(bits_of(value) >> 16);
  }
}

template <Format F>
TITAN_HD void dequantize_loop(const uint8_t* x, int64_t n, float scale, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = decode<F>(x[i]) / scale;
}

template <class T>
TITAN_HD const T* as(const void* x) {
  return static_cast<const T*>(x);
}

// By InputType and Format.
#define FLOAT8_OF_TYPES(FUNCTION) \
  { FUNCTION<float>, FUNCTION<uint16_t> }
#define FLOAT8_OF_ALL(FUNCTION)                                                 \
  {                                                                             \
    {FUNCTION<Format::kE4M3, float>, FUNCTION<Format::kE5M2, float>},           \
        {FUNCTION<Format::kE4M3, uint16_t>, FUNCTION<Format::kE5M2, uint16_t>}, \
  }

// Why not target_clones: its resolvers run while the library is being loaded, before a sanitizer's
// runtime is ready, and a test could not choose a variant.
#define FLOAT8_VARIANT(ID, NAME, ATTRIBUTE)                                                      \
  struct ID {                                                                                    \
    template <class T>                                                                           \
    ATTRIBUTE static uint32_t amax(const void* x, int64_t n) {                                   \
      return amax_loop(as<T>(x), n);                                                             \
    }                                                                                            \
    template <class T>                                                                           \
    ATTRIBUTE static void amax_segments(const void* x, int64_t n, int64_t length,                \
                                        uint32_t* largest) {                                     \
      amax_segments_loop(as<T>(x), n, length, largest);                                          \
    }                                                                                            \
    template <class T>                                                                           \
    ATTRIBUTE static void amax_columns(const void* x, int64_t n, uint32_t* largest) {            \
      amax_columns_loop(as<T>(x), n, largest);                                                   \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void cast(const void* x, int64_t n, float scale, uint8_t* out) {            \
      cast_loop<F>(as<T>(x), n, scale, out);                                                     \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void cast_columns(const void* x, int64_t n, const float* scales,            \
                                       uint8_t* out) {                                           \
      cast_columns_loop<F>(as<T>(x), n, scales, out);                                            \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void emulate(const void* x, int64_t n, float scale, float* out) {           \
      emulate_loop<F>(as<T>(x), n, scale, out);                                                  \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void emulate_columns(const void* x, int64_t n, const float* scales,         \
                                          float* out) {                                          \
      emulate_columns_loop<F>(as<T>(x), n, scales, out);                                         \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void narrow(const void* x, int64_t n, float scale, float undo,              \
                                 uint16_t* out) {                                                \
      narrow_loop<F>(as<T>(x), n, scale, undo, out);                                             \
    }                                                                                            \
    template <Format F, class T>                                                                 \
    ATTRIBUTE static void narrow_columns(const void* x, int64_t n, const float* scales,          \
                                         const float* undo, uint16_t* out) {                     \
      narrow_columns_loop<F>(as<T>(x), n, scales, undo, out);                                    \
    }                                                                                            \
    template <Format F>                                                                          \
    ATTRIBUTE static void dequantize(const uint8_t* x, int64_t n, float scale, float* out) {     \
      dequantize_loop<F>(x, n, scale, out);                                                      \
    }                                                                                            \
    static constexpr CpuQuantizer kTable{NAME,                                                   \
                                         {dequantize<Format::kE4M3>, dequantize<Format::kE5M2>}, \
                                         FLOAT8_OF_TYPES(amax),                                  \
                                         FLOAT8_OF_TYPES(amax_segments),                         \
                                         FLOAT8_OF_TYPES(amax_columns),                          \
                                         FLOAT8_OF_ALL(cast),                                    \
                                         FLOAT8_OF_ALL(cast_columns),                            \
                                         FLOAT8_OF_ALL(emulate),                                 \
                                         FLOAT8_OF_ALL(emulate_columns),                         \
                                         FLOAT8_OF_ALL(narrow),                                  \
                                         FLOAT8_OF_ALL(narrow_columns)};                         \
  };

FLOAT8_VARIANT(Generic, "generic", )
#if defined(__x86_64__)
FLOAT8_VARIANT(Avx2, "avx2", __attribute__((target("avx2"))))
FLOAT8_VARIANT(
    Avx512, "avx512f",
    __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512"))))
#endif
#undef FLOAT8_VARIANT

#if defined(__x86_64__)
struct PackedCast {
  template <Format F, class T>
  __attribute__((target("avx2"))) static void one(const void* x, int64_t n, float scale,
                                                  uint8_t* out) {
    const int64_t done = n < 32 ? 0 : avx2_cast<F, false>(as<T>(x), n, &scale, out);
    cast_loop<F>(as<T>(x) + done, n - done, scale, out + done);
  }
  template <Format F, class T>
  __attribute__((target("avx2"))) static void each(const void* x, int64_t n, const float* scales,
                                                   uint8_t* out) {
    const int64_t done = n < 32 ? 0 : avx2_cast<F, true>(as<T>(x), n, scales, out);
    cast_columns_loop<F>(as<T>(x) + done, n - done, scales + done, out + done);
  }
};
constexpr CpuQuantizer avx2_table() {
  CpuQuantizer table = Avx2::kTable;
  for (const Format format : {Format::kE4M3, Format::kE5M2}) {
    const bool e4m3 = format == Format::kE4M3;
    const auto index = static_cast<size_t>(format);
    table.cast_of[0][index] =
        e4m3 ? PackedCast::one<Format::kE4M3, float> : PackedCast::one<Format::kE5M2, float>;
    table.cast_of[1][index] =
        e4m3 ? PackedCast::one<Format::kE4M3, uint16_t> : PackedCast::one<Format::kE5M2, uint16_t>;
    table.cast_columns_of[0][index] =
        e4m3 ? PackedCast::each<Format::kE4M3, float> : PackedCast::each<Format::kE5M2, float>;
    table.cast_columns_of[1][index] = e4m3 ? PackedCast::each<Format::kE4M3, uint16_t>
                                           : PackedCast::each<Format::kE5M2, uint16_t>;
  }
  return table;
}
constexpr CpuQuantizer kAvx2Table = avx2_table();
#endif
#undef FLOAT8_OF_ALL
#undef FLOAT8_OF_TYPES

size_t index_of(InputType type) { return static_cast<size_t>(type); }
size_t index_of(Format format) { return static_cast<size_t>(format); }

}  // namespace

std::vector<const CpuQuantizer*> cpu_quantizers() {
  std::vector<const CpuQuantizer*> list;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq"))
    list.push_back(&Avx512::kTable);
  if (__builtin_cpu_supports("avx2")) list.push_back(&kAvx2Table);
#endif
  list.push_back(&Generic::kTable);
  return list;
}

const CpuQuantizer& cpu_quantizer() {
  static const CpuQuantizer* const fastest = cpu_quantizers().front();
  return *fastest;
}

uint32_t CpuQuantizer::amax_bits(const void* x, InputType type, int64_t n) const {
  return amax_of[index_of(type)](x, n);
}

void CpuQuantizer::amax_segments(const void* x, InputType type, int64_t n, int64_t length,
                                 uint32_t* largest) const {
  amax_segments_of[index_of(type)](x, n, length, largest);
}

void CpuQuantizer::amax_columns(const void* x, InputType type, int64_t n, uint32_t* largest) const {
  amax_columns_of[index_of(type)](x, n, largest);
}

void CpuQuantizer::cast(const void* x, InputType type, int64_t n, float scale, Format format,
                        uint8_t* out) const {
  cast_of[index_of(type)][index_of(format)](x, n, scale, out);
}

void CpuQuantizer::cast_columns(const void* x, InputType type, int64_t n, const float* scales,
                                Format format, uint8_t* out) const {
  cast_columns_of[index_of(type)][index_of(format)](x, n, scales, out);
}

void CpuQuantizer::emulate(const void* x, InputType type, int64_t n, float scale, Format format,
                           float* out) const {
  emulate_of[index_of(type)][index_of(format)](x, n, scale, out);
}

void CpuQuantizer::emulate_columns(const void* x, InputType type, int64_t n, const float* scales,
                                   Format format, float* out) const {
  emulate_columns_of[index_of(type)][index_of(format)](x, n, scales, out);
}

void CpuQuantizer::narrow(const void* x, InputType type, int64_t n, float scale, float undo,
                          Format format, uint16_t* out) const {
  narrow_of[index_of(type)][index_of(format)](x, n, scale, undo, out);
}

void CpuQuantizer::narrow_columns(const void* x, InputType type, int64_t n, const float* scales,
                                  const float* undo, Format format, uint16_t* out) const {
  narrow_columns_of[index_of(type)][index_of(format)](x, n, scales, undo, out);
}

float scale_of(float amax, Format format, ScaleRule rule) {
  const bool e4m3 = format == Format::kE4M3;
  if (rule == ScaleRule::kRoundUpE8M0)
    return scale_of_e8m0(e4m3 ? e8m0_of<Format::kE4M3>(amax) : e8m0_of<Format::kE5M2>(amax));
  const float exact = e4m3 ? scale_of<Format::kE4M3>(amax) : scale_of<Format::kE5M2>(amax);
  return rule == ScaleRule::kPowerOfTwo ? power_of_two_below(exact) : exact;
}

}  // namespace float8
