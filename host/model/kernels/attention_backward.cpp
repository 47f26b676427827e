#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/kernels/attention_backward.cpp"
#include <hwy/foreach_target.h>
// After foreach_target, which compiles this file once for each instruction set.
#include "model/kernels/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace titan::model::kernels::HWY_NAMESPACE {

/// Weights p and their gradients ds of one block, in the places of scores and of do v^T.
HWY_INLINE void weights_and_gradients(float* p, float* ds, int64_t first_row, int64_t rows,
                                      int64_t first_key, int64_t count, const float* lse,
                                      const float* delta) {
  const F32 d;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t seen = keys_of(first_row + r, first_key, count);
    const int64_t end = zeros_end(first_row, r, rows, first_key, count);
    float* const weights = p + r * kKeys;
    float* const gradients = ds + r * kKeys;
    exponentiate(weights, seen, end, lse[r]);
    int64_t i = 0;
    const V32 shift = hn::Set(d, delta[r]);
    for (; i + lanes() <= seen; i += lanes())
      hn::StoreU(hn::Mul(hn::LoadU(d, weights + i), hn::Sub(hn::LoadU(d, gradients + i), shift)), d,
                 gradients + i);
    for (; i < seen; ++i) gradients[i] = weights[i] * (gradients[i] - delta[r]);
    std::fill(gradients + i, gradients + std::max(end, i), 0.0F);
  }
}

/// What backward keeps of each query head of a task, [length, padded] each.
struct QuerySide {
  float *rotated, *grad_out, *grad_rotated, *delta;
};

template <class T>
void load_query_side(const AttentionShape& shape, const Geometry& g, AttentionTask task,
                     int64_t head, Heads<const T> q, const float* rope, const T* out,
                     const T* grad_out, QuerySide side) {
  const F32 d;
  for (int64_t i = 0; i < g.length; ++i) {
    const T* const x =
        q.data + task.sequence * q.batch_stride + i * q.token_stride + head * g.head_dim;
    rotate(x, rope + i * g.head_dim, g.head_dim, 1.0F, g.scale, side.rotated + i * g.padded);
    pad_row(g, side.rotated + i * g.padded);
    const int64_t at = ((task.sequence * g.length + i) * shape.heads + head) * g.head_dim;
    float* const grad = side.grad_out + i * g.padded;
    widen(grad_out + at, g.head_dim, grad);
    pad_row(g, grad);
    V32 along = hn::Zero(d);
    float rest = 0;
    for_vectors(
        g.head_dim,
        [&](int64_t j) {
          along = hn::MulAdd(hn::LoadU(d, grad + j), load(d, out + at + j), along);
        },
        [&](int64_t j) { rest += grad[j] * load_one(out + at + j); });
    side.delta[i] = sum_of(along) + rest;
  }
  std::fill(side.grad_rotated, side.grad_rotated + g.length * g.padded, 0.0F);
}

template <class T>
void backward_task(const AttentionShape& shape, AttentionTask task, Heads<const T> q,
                   Heads<const T> k, Heads<const T> v, const float* rope, const T* out,
                   const float* lse, const T* grad_out, T* grad_q, T* grad_k, T* grad_v) {
  const Geometry g(shape);
  const int64_t whole = g.length * g.padded, tile = kKeys * g.padded, columns = kKeys * g.head_dim;
  Scratch scratch(static_cast<size_t>(g.group * (3 * whole + g.length + 64) + 4 * tile +
                                      2 * columns + 2 * kQueries * kKeys + g.padded + 128));
  const QuerySide all{scratch.take(g.group * whole), scratch.take(g.group * whole),
                      scratch.take(g.group * whole), scratch.take(g.group * g.length)};
  const auto side_of = [&](int64_t member) {
    return QuerySide{all.rotated + member * whole, all.grad_out + member * whole,
                     all.grad_rotated + member * whole, all.delta + member * g.length};
  };
  const Tile keys{scratch.take(tile), scratch.take(columns)};
  const Tile values{scratch.take(tile), scratch.take(columns)};
  float* const grad_keys = scratch.take(tile);
  float* const grad_values = scratch.take(tile);
  float* const weights = scratch.take(kQueries * kKeys);
  float* const gradients = scratch.take(kQueries * kKeys);
  float* const turned = scratch.take(g.padded);
  for (int64_t member = 0; member < g.group; ++member)
    load_query_side(shape, g, task, task.kv_head * g.group + member, q, rope, out, grad_out,
                    side_of(member));

  const T* const k_head = k.data + task.sequence * k.batch_stride + task.kv_head * g.head_dim;
  const T* const v_head = v.data + task.sequence * v.batch_stride + task.kv_head * g.head_dim;
  for (int64_t first_key = 0; first_key < g.length; first_key += kKeys) {
    const int64_t count = std::min(kKeys, g.length - first_key);
    load_tile(g, k_head, k.token_stride, rope, first_key, count, keys, true);
    load_tile(g, v_head, v.token_stride, nullptr, first_key, count, values, true);
    std::fill(grad_keys, grad_keys + tile, 0.0F);
    std::fill(grad_values, grad_values + tile, 0.0F);
    for (int64_t member = 0; member < g.group; ++member) {
      const QuerySide side = side_of(member);
      const int64_t head = task.kv_head * g.group + member;
      const float* const own_lse = lse + (task.sequence * shape.heads + head) * g.length;
      for (int64_t first = first_key / kQueries * kQueries; first < g.length; first += kQueries) {
        const int64_t rows = std::min(kQueries, g.length - first);
        const float* const rotated = side.rotated + first * g.padded;
        const float* const grad = side.grad_out + first * g.padded;
        causal_product(g, rotated, first, rows, keys.columns, first_key, count, weights);
        causal_product(g, grad, first, rows, values.columns, first_key, count, gradients);
        weights_and_gradients(weights, gradients, first, rows, first_key, count, own_lse + first,
                              side.delta + first);
        add_transposed(g, weights, first, rows, grad, first_key, count, grad_values);
        add_transposed(g, gradients, first, rows, rotated, first_key, count, grad_keys);
        add_weighted(g, gradients, first, rows, keys.rows, first_key, count,
                     side.grad_rotated + first * g.padded);
      }
    }
    for (int64_t j = 0; j < count; ++j) {
      const int64_t at =
          ((task.sequence * g.length + first_key + j) * shape.kv_heads + task.kv_head) * g.head_dim;
      rotate(grad_keys + j * g.padded, rope + (first_key + j) * g.head_dim, g.head_dim, -1.0F, 1.0F,
             turned);
      store_scaled(turned, g.head_dim, 1.0F, grad_k + at);
      store_scaled(grad_values + j * g.padded, g.head_dim, 1.0F, grad_v + at);
    }
  }
  for (int64_t member = 0; member < g.group; ++member)
    for (int64_t i = 0; i < g.length; ++i) {
      const int64_t head = task.kv_head * g.group + member;
      rotate(side_of(member).grad_rotated + i * g.padded, rope + i * g.head_dim, g.head_dim, -1.0F,
             g.scale, turned);
      store_scaled(turned, g.head_dim, 1.0F,
                   grad_q + ((task.sequence * g.length + i) * shape.heads + head) * g.head_dim);
    }
}

void backward_f32(const AttentionShape& shape, AttentionTask task, Heads<const float> q,
                  Heads<const float> k, Heads<const float> v, const float* rope, const float* out,
                  const float* lse, const float* grad_out, float* grad_q, float* grad_k,
                  float* grad_v) {
  backward_task(shape, task, q, k, v, rope, out, lse, grad_out, grad_q, grad_k, grad_v);
}
void backward_bf16(const AttentionShape& shape, AttentionTask task, Heads<const Bf16> q,
                   Heads<const Bf16> k, Heads<const Bf16> v, const float* rope, const Bf16* out,
                   const float* lse, const Bf16* grad_out, Bf16* grad_q, Bf16* grad_k,
                   Bf16* grad_v) {
  backward_task(shape, task, q, k, v, rope, out, lse, grad_out, grad_q, grad_k, grad_v);
}

}  // namespace titan::model::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace titan::model::kernels {

HWY_EXPORT(backward_f32);
HWY_EXPORT(backward_bf16);

template <>
void attention_backward(const AttentionShape& shape, AttentionTask task, Heads<const float> q,
                        Heads<const float> k, Heads<const float> v, const float* rope,
                        const float* out, const float* lse, const float* grad_out, float* grad_q,
                        float* grad_k, float* grad_v) {
  HWY_DYNAMIC_DISPATCH(backward_f32)
  (shape, task, q, k, v, rope, out, lse, grad_out, grad_q, grad_k, grad_v);
}
template <>
void attention_backward(const AttentionShape& shape, AttentionTask task, Heads<const Bf16> q,
                        Heads<const Bf16> k, Heads<const Bf16> v, const float* rope,
                        const Bf16* out, const float* lse, const Bf16* grad_out, Bf16* grad_q,
                        Bf16* grad_k, Bf16* grad_v) {
  HWY_DYNAMIC_DISPATCH(backward_bf16)
  (shape, task, q, k, v, rope, out, lse, grad_out, grad_q, grad_k, grad_v);
}

}  // namespace titan::model::kernels
#endif
