/// What attention's two passes share: tiles of keys and values, products that leave out what the
/// causal mask hides, exponentials. Include it after <hwy/foreach_target.h>.
#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/kernels/attention.h"
#include "model/kernels/simd-inl.h"

#if defined(TITAN_MODEL_KERNELS_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef TITAN_MODEL_KERNELS_ATTENTION_INL_H
#undef TITAN_MODEL_KERNELS_ATTENTION_INL_H
#else
#define TITAN_MODEL_KERNELS_ATTENTION_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

/// Queries of a block and keys of a tile: scores of both passes stay in the first two caches.
/// Multiples of kTileRows and of the lanes of every instruction set.
constexpr int64_t kQueries = 48, kKeys = 96;

/// Float32 memory of one thread, grown as needed and kept: a step allocates nothing.
class Scratch {
 public:
  explicit Scratch(size_t floats) {
    thread_local hwy::AlignedFreeUniquePtr<float[]> kept;
    thread_local size_t size = 0;
    if (size < floats) {
      kept = hwy::AllocateAligned<float>(floats);
      size = floats;
    }
    next_ = kept.get();
  }
  float* take(int64_t floats) {
    float* const result = next_;
    next_ += round_up(floats, 16);
    return result;
  }

 private:
  float* next_;
};

/// Pairs (x0, x1) of one head turned by the angles of its position, times `factor`; direction -1
/// turns back. `to` [head_dim], float32.
template <class T>
HWY_INLINE void rotate(const T* x, const float* angles, int64_t head_dim, float direction,
                       float factor, float* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR  // pairs are neighbours in a vector
  const F32 d;
  for (; i + lanes() <= head_dim; i += lanes()) {
    const V32 value = load(d, x + i), turn = hn::LoadU(d, angles + i);
    const V32 sine = hn::Mul(hn::DupOdd(turn), hn::Set(d, direction));
    const V32 crossed = hn::Mul(hn::Reverse2(d, value), hn::OddEven(sine, hn::Neg(sine)));
    const V32 turned = hn::MulAdd(value, hn::DupEven(turn), crossed);
    hn::StoreU(hn::Mul(turned, hn::Set(d, factor)), d, to + i);
  }
#endif
  for (; i < head_dim; ++i) {
    const float cosine = angles[i & ~int64_t{1}], sine = direction * angles[i | 1];
    const float own = load_one(x + i), other = load_one(x + (i ^ 1));
    to[i] = (own * cosine + (i % 2 == 0 ? -other * sine : other * sine)) * factor;
  }
}

template <class T>
HWY_INLINE void widen(const T* x, int64_t n, float* to) {
  const F32 d;
  for_vectors(
      n, [&](int64_t i) { hn::StoreU(load(d, x + i), d, to + i); },
      [&](int64_t i) { to[i] = load_one(x + i); });
}

/// `rows` rows of head_dim values at ld `from_ld` become columns: to[d * kKeys + row].
HWY_INLINE void transpose(const float* from, int64_t from_ld, int64_t rows, int64_t head_dim,
                          float* to) {
  for (int64_t first = 0; first < head_dim; first += 8)
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t i = first; i < std::min(first + 8, head_dim); ++i)
        to[i * kKeys + row] = from[row * from_ld + i];
}

/// Keys or values of one tile, as rows and as columns; columns beyond the sequence are zero.
struct Tile {
  float *rows, *columns;
};

/// One sequence's head geometry with what rounding to whole vectors makes of it.
struct Geometry {
  explicit Geometry(const AttentionShape& shape)
      : length(shape.length),
        head_dim(shape.head_dim),
        group(shape.heads / shape.kv_heads),
        padded(round_up(shape.head_dim, lanes())),
        scale(static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)))) {}
  int64_t length, head_dim, group, padded;
  float scale;
};

/// Zeros behind each row's head_dim values, which sums over whole vectors read.
HWY_INLINE void pad_row(const Geometry& g, float* row) {
  std::fill(row + g.head_dim, row + g.padded, 0.0F);
}

template <class T>
HWY_INLINE void load_tile(const Geometry& g, const T* from, int64_t token_stride, const float* rope,
                          int64_t first, int64_t count, Tile tile, bool as_columns) {
  for (int64_t j = 0; j < count; ++j) {
    float* const row = tile.rows + j * g.padded;
    const T* const x = from + (first + j) * token_stride;
    if (rope)
      rotate(x, rope + (first + j) * g.head_dim, g.head_dim, 1.0F, 1.0F, row);
    else
      widen(x, g.head_dim, row);
    pad_row(g, row);
  }
  if (!as_columns) return;
  if (count < kKeys) std::fill(tile.columns, tile.columns + g.head_dim * kKeys, 0.0F);
  transpose(tile.rows, g.padded, count, g.head_dim, tile.columns);
}

/// Where the keys of a tile end for a band of rows: past the last one that its last row sees.
HWY_INLINE int64_t keys_of(int64_t last_row, int64_t first_key, int64_t count) {
  return std::clamp<int64_t>(last_row + 1 - first_key, 0, count);
}

/// scores [rows, kKeys] = left [rows, padded] columns, for the keys that each band of rows may see.
HWY_INLINE void causal_product(const Geometry& g, const float* left, int64_t first_row,
                               int64_t rows, const float* columns, int64_t first_key, int64_t count,
                               float* scores) {
  for (int64_t r = 0; r < rows; r += kTileRows) {
    const int64_t band = std::min<int64_t>(kTileRows, rows - r);
    const int64_t keys = round_up(keys_of(first_row + r + band - 1, first_key, count), lanes());
    if (keys > 0)
      product_band(band, keys, g.head_dim, left + r * g.padded, g.padded, 1, columns, kKeys,
                   scores + r * kKeys, kKeys, false);
  }
}

/// to [rows, padded] += weights [rows, keys] right [keys, padded].
HWY_INLINE void add_weighted(const Geometry& g, const float* weights, int64_t first_row,
                             int64_t rows, const float* right, int64_t first_key, int64_t count,
                             float* to) {
  for (int64_t r = 0; r < rows; r += kTileRows) {
    const int64_t band = std::min<int64_t>(kTileRows, rows - r);
    const int64_t keys = keys_of(first_row + r + band - 1, first_key, count);
    if (keys > 0)
      product_band(band, g.padded, keys, weights + r * kKeys, kKeys, 1, right, g.padded,
                   to + r * g.padded, g.padded, true);
  }
}

/// to [count, padded] += weights^T [count, rows] left [rows, padded]; rows before a key see nothing
/// of it.
HWY_INLINE void add_transposed(const Geometry& g, const float* weights, int64_t first_row,
                               int64_t rows, const float* left, int64_t first_key, int64_t count,
                               float* to) {
  for (int64_t j = 0; j < count; j += kTileRows) {
    const int64_t band = std::min<int64_t>(kTileRows, count - j);
    const int64_t skipped = std::max<int64_t>(0, first_key + j - first_row);
    if (skipped < rows)
      product_band(band, g.padded, rows - skipped, weights + skipped * kKeys + j, 1, kKeys,
                   left + skipped * g.padded, g.padded, to + j * g.padded, g.padded, true);
  }
}

/// Where the zeros behind what a row sees end: other rows of its band read further, and so does a
/// band of keys that begins at the row's own position.
HWY_INLINE int64_t zeros_end(int64_t first_row, int64_t row, int64_t rows, int64_t first_key,
                             int64_t count) {
  const int64_t band_end = std::min(row / kTileRows * kTileRows + kTileRows, rows) - 1;
  const int64_t seen = keys_of(first_row + row, first_key, count);
  const int64_t read = std::max(keys_of(first_row + band_end, first_key, count), seen + kTileRows);
  return round_up(std::min(read, count), lanes());
}

/// In place: exp(score - offset) for the first `count` of a row, zero up to `end`. Their sum.
HWY_INLINE float exponentiate(float* row, int64_t count, int64_t end, float offset) {
  const F32 d;
  const V32 shift = hn::Set(d, offset);
  V32 sum = hn::Zero(d);
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) {
    const V32 value = exponential(d, hn::Sub(hn::LoadU(d, row + i), shift));
    sum = hn::Add(sum, value);
    hn::StoreU(value, d, row + i);
  }
  if (i < count) {
    const auto seen = hn::FirstN(d, static_cast<size_t>(count - i));
    const V32 value =
        hn::IfThenElseZero(seen, exponential(d, hn::Sub(hn::LoadU(d, row + i), shift)));
    sum = hn::Add(sum, value);
    hn::StoreU(value, d, row + i);
    i += lanes();
  }
  for (; i < end; i += lanes()) hn::StoreU(hn::Zero(d), d, row + i);
  return sum_of(sum);
}

HWY_INLINE float largest_of(const float* row, int64_t count) {
  const F32 d;
  V32 largest = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + lanes() <= count; i += lanes()) largest = hn::Max(largest, hn::LoadU(d, row + i));
  float result = max_of(largest);
  for (; i < count; ++i) result = std::max(result, row[i]);
  return result;
}

HWY_INLINE void scale_row(float* row, int64_t n, float factor) {
  const F32 d;
  for (int64_t i = 0; i < n; i += lanes())
    hn::StoreU(hn::Mul(hn::LoadU(d, row + i), hn::Set(d, factor)), d, row + i);
}

template <class T>
HWY_INLINE void store_scaled(const float* from, int64_t n, float factor, T* to) {
  const F32 d;
  for_vectors(
      n, [&](int64_t i) { store(d, hn::Mul(hn::LoadU(d, from + i), hn::Set(d, factor)), to + i); },
      [&](int64_t i) { store_one(from[i] * factor, to + i); });
}

}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif  // per-target guard
