/// Initial values: element i of a tensor is a function of (seed, key, i) and its rule alone.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <string_view>

#include "model/init_rule.h"

namespace titan::model {

/// Values `first` .. `first + count - 1` (row-major) of a tensor of `shape`: float32 [count] on the
/// CPU. A shard therefore draws its own part only, and the result depends neither on the number of
/// threads or ranks nor on what else the model holds. kCopy has no values of its own: an internal
/// error here, materialize() resolves it.
at::Tensor draw_range(const InitRule& rule, at::IntArrayRef shape, uint64_t seed,
                      std::string_view key, int64_t first, int64_t count);

/// The whole tensor: float32 `shape` on the CPU.
at::Tensor draw(const InitRule& rule, at::IntArrayRef shape, uint64_t seed, std::string_view key);

}  // namespace titan::model
