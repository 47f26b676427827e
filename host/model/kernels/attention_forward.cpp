#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_forward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, which compiles this file once for each instruction set.
#include "model/kernels/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

/// The running softmax of a block of rows: largest score, sum of exponentials, weighted values.
struct Running {
  float largest[kQueries], sum[kQueries];
  float* values;  ///< [kQueries, padded]
};

/// Scores of one tile become weights, and what was summed before is brought to the new maximum.
HWY_INLINE void soften(const Geometry& g, float* scores, int64_t first_row, int64_t rows,
                       int64_t first_key, int64_t count, Running& running) {
  for (int64_t r = 0; r < rows; ++r) {
    float* const row = scores + r * kKeys;
    const int64_t seen = keys_of(first_row + r, first_key, count);
    const int64_t end = zeros_end(first_row, r, rows, first_key, count);
    if (seen == 0) {
      std::fill(row, row + end, 0.0F);
      continue;
    }
    const float largest = std::max(running.largest[r], largest_of(row, seen));
    const float sum = exponentiate(row, seen, end, largest);
    if (largest != running.largest[r]) {
      const float shrink = std::exp(running.largest[r] - largest);
      running.sum[r] *= shrink;
      scale_row(running.values + r * g.padded, g.padded, shrink);
      running.largest[r] = largest;
    }
    running.sum[r] += sum;
  }
}

template <class T>
void forward_task(const AttentionShape& shape, AttentionTask task, Heads<const T> q,
                  Heads<const T> k, Heads<const T> v, const float* rope, T* out, float* lse) {
  const Geometry g(shape);
  const int64_t tiles = (g.length + kKeys - 1) / kKeys;
  const int64_t tile_rows = kKeys * g.padded, tile_columns = kKeys * g.head_dim;
  const int64_t block = kQueries * g.padded;
  Scratch scratch(static_cast<size_t>(tiles * (tile_rows + tile_columns) + tile_rows + 2 * block +
                                      kQueries * kKeys + 64 + 32 * tiles));
  float* const spare = scratch.take(tile_rows);
  float* const keys = scratch.take(tiles * tile_columns);
  float* const values = scratch.take(tiles * tile_rows);
  float* const queries = scratch.take(block);
  float* const scores = scratch.take(kQueries * kKeys);
  Running running = {};
  running.values = scratch.take(block);

  const T* const k_head = k.data + task.sequence * k.batch_stride + task.kv_head * g.head_dim;
  const T* const v_head = v.data + task.sequence * v.batch_stride + task.kv_head * g.head_dim;
  for (int64_t t = 0; t < tiles; ++t) {
    const int64_t count = std::min(kKeys, g.length - t * kKeys);
    load_tile(g, k_head, k.token_stride, rope, t * kKeys, count, {spare, keys + t * tile_columns},
              true);
    load_tile(g, v_head, v.token_stride, nullptr, t * kKeys, count,
              {values + t * tile_rows, nullptr}, false);
  }
  for (int64_t head = task.kv_head * g.group; head < (task.kv_head + 1) * g.group; ++head)
    for (int64_t first = 0; first < g.length; first += kQueries) {
      const int64_t rows = std::min(kQueries, g.length - first);
      for (int64_t r = 0; r < rows; ++r) {
        const T* const x = q.data + task.sequence * q.batch_stride + (first + r) * q.token_stride +
                           head * g.head_dim;
        rotate(x, rope + (first + r) * g.head_dim, g.head_dim, 1.0F, g.scale,
               queries + r * g.padded);
      }
      std::fill(running.largest, running.largest + rows, -std::numeric_limits<float>::infinity());
      std::fill(running.sum, running.sum + rows, 0.0F);
      std::fill(running.values, running.values + rows * g.padded, 0.0F);
      for (int64_t t = 0; t * kKeys < first + rows; ++t) {
        const int64_t first_key = t * kKeys, count = std::min(kKeys, g.length - first_key);
        causal_product(g, queries, first, rows, keys + t * tile_columns, first_key, count, scores);
        soften(g, scores, first, rows, first_key, count, running);
        add_weighted(g, scores, first, rows, values + t * tile_rows, first_key, count,
                     running.values);
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t token = task.sequence * g.length + first + r;
        store_scaled(running.values + r * g.padded, g.head_dim, 1.0F / running.sum[r],
                     out + (token * shape.heads + head) * g.head_dim);
        lse[(task.sequence * shape.heads + head) * g.length + first + r] =
            running.largest[r] + std::log(running.sum[r]);
      }
    }
}

void forward_f32(const AttentionShape& shape, AttentionTask task, Heads<const float> q,
                 Heads<const float> k, Heads<const float> v, const float* rope, float* out,
                 float* lse) {
  forward_task(shape, task, q, k, v, rope, out, lse);
}
void forward_bf16(const AttentionShape& shape, AttentionTask task, Heads<const Bf16> q,
                  Heads<const Bf16> k, Heads<const Bf16> v, const float* rope, Bf16* out,
                  float* lse) {
  forward_task(shape, task, q, k, v, rope, out, lse);
}
}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace titan::model::kernels {

HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_bf16);

template <>
void attention_forward(const AttentionShape& shape, AttentionTask task, Heads<const float> q,
                       Heads<const float> k, Heads<const float> v, const float* rope, float* out,
                       float* lse) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(shape, task, q, k, v, rope, out, lse);
}
template <>
void attention_forward(const AttentionShape& shape, AttentionTask task, Heads<const Bf16> q,
                       Heads<const Bf16> k, Heads<const Bf16> v, const float* rope, Bf16* out,
                       float* lse) {
  HWY_DYNAMIC_DISPATCH(forward_bf16)(shape, task, q, k, v, rope, out, lse);
}
}  // namespace titan::model::kernels
#endif
