/// What a float8 linear layer holds in memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <titan/titan_sdk.hpp>

#include "recipe.h"

namespace float8 {

/// What the sizes rest on, as users see it.
inline constexpr std::string_view kFootprintBasis = "sizes of the tensors that float8 makes";

/// Of y [M, N] = x [M, K] w^T, forward and backward, with x in a type of `element_size` bytes. The
/// device keeps x in fp8, one byte an element, and each weight in both layouts; emulation keeps x
/// as it is and makes float32 copies of operands in every product. cuBLASLt's workspace, which all
/// layers share, is not part of it.
titan::sdk::Memory linear_footprint(const Plan& plan, bool emulate, int64_t tokens, int64_t in,
                                    int64_t out, int64_t element_size);

}  // namespace float8
