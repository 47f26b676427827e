#include "footprint.h"

#include <algorithm>

namespace float8 {
namespace {

/// Of the scales of an operand [rows, columns] in one layout, summed over its columns.
int64_t scale_bytes(const Cast& cast, int64_t rows, int64_t columns) {
  switch (cast.granularity) {
    case Granularity::kNone: return 0;
    case Granularity::kTensor: return 4;
    case Granularity::kVector: return 4 * rows;
    case Granularity::k1x128: return 4 * rows * ((columns + 127) / 128);
    case Granularity::k128x128: return 4 * ((rows + 127) / 128) * ((columns + 127) / 128);
    case Granularity::k1x32: return rows * ((columns + 31) / 32);
  }
  return 0;
}

bool quantised(const Cast& cast) { return cast.granularity != Granularity::kNone; }

titan::sdk::Memory emulated(const Plan& plan, int64_t m, int64_t k, int64_t n,
                            int64_t element_size) {
  constexpr int64_t kFloat = 4;
  titan::sdk::Memory memory;
  memory.keeps_inputs = true;
  // A product leaves in float32 and is rounded to the narrower type, if there is one.
  const bool narrow = element_size < kFloat;
  const int64_t forward = kFloat * (m * k + n * k + (narrow ? m * n : 0));
  // One scale for all: dy goes through fp8 once and serves both products.
  const bool shared = plan.dx.left.granularity == Granularity::kTensor;
  const int64_t dx = kFloat * (m * n + n * k + (narrow ? m * k : 0));
  const int64_t dw_operands = quantised(plan.dw.left) ? kFloat * (m * n + m * k) : 0;
  const int64_t dw = dw_operands + (narrow ? kFloat * n * k : 0);
  memory.working_bytes = std::max({forward, dx, dw, shared ? kFloat * m * n : 0});
  return memory;
}

}  // namespace

titan::sdk::Memory linear_footprint(const Plan& plan, bool emulate, int64_t tokens, int64_t in,
                                    int64_t out, int64_t element_size) {
  if (emulate) return emulated(plan, tokens, in, out, element_size);
  const int64_t multiple = size_multiple(plan.recipe);
  const int64_t m = (tokens + multiple - 1) / multiple * multiple,
                k = (in + multiple - 1) / multiple * multiple;
  titan::sdk::Memory memory;
  // The gradient of w sums over tokens: it takes x along its columns.
  memory.keeps_inputs = !quantised(plan.dw.right);
  if (!memory.keeps_inputs) memory.saved_bytes = m * k + scale_bytes(plan.dw.right, k, m);
  memory.cache_bytes =
      2 * out * k + scale_bytes(plan.y.right, out, k) + scale_bytes(plan.dx.right, k, out);
  const int64_t rows_of_x = m * k + scale_bytes(plan.y.left, m, k);
  const int64_t layouts_of_dy =
      m * out + scale_bytes(plan.dx.left, m, out) +
      (quantised(plan.dw.left) ? m * out + scale_bytes(plan.dw.left, out, m) : 0);
  memory.working_bytes = std::max(rows_of_x, layouts_of_dy);
  return memory;
}

}  // namespace float8
