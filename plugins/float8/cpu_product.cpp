#include "cpu_product.h"

#include <dlfcn.h>
#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <titan/torch.hpp>
#include <vector>

#include "matrix.h"

namespace float8 {
namespace {

using torch::headeronly::ScalarType;

// cblas_gemm_bf16bf16f32: c [m, n] = alpha a b + beta c.
using NarrowGemm = void (*)(int layout, int transpose_a, int transpose_b, int m, int n, int k,
                            float alpha, const uint16_t* a, int lda, const uint16_t* b, int ldb,
                            float beta, float* c, int ldc);
constexpr int kRowMajor = 101, kAsItIs = 111, kTransposed = 112;

/// Looked up by name: the tier promises to load without it.
NarrowGemm narrow_gemm() {
  static const auto found =
      reinterpret_cast<NarrowGemm>(dlsym(RTLD_DEFAULT, "cblas_gemm_bf16bf16f32"));
  return found;
}

/// An operand of a product, in the product's own directions: rows by the summed dimension for the
/// left one, the summed dimension by columns for the right one.
struct Side {
  const uint16_t* data;
  int transpose;
  int64_t stride;
  int64_t rows, columns;
  const float* scales;  ///< null: nothing is left to undo
  Granularity granularity;
  int64_t stored_columns;  ///< of the matrix as it lies in memory
  bool transposed;

  explicit Side(const CpuOperand& operand)
      : data(static_cast<const uint16_t*>(operand.values.const_data_ptr())),
        transpose(operand.transposed ? kTransposed : kAsItIs),
        stride(columns_of(operand.values)),
        rows(operand.transposed ? columns_of(operand.values) : rows_of(operand.values)),
        columns(operand.transposed ? rows_of(operand.values) : columns_of(operand.values)),
        scales(operand.cast.granularity == Granularity::kNone || is_undone(operand.cast)
                   ? nullptr
                   : static_cast<const float*>(operand.scales.const_data_ptr())),
        granularity(operand.cast.granularity),
        stored_columns(columns_of(operand.values)),
        transposed(operand.transposed) {}

  const uint16_t* at(int64_t row, int64_t column) const {
    return data + (transposed ? column * stride + row : row * stride + column);
  }

  bool of_whole_tensor() const { return !scales || granularity == Granularity::kTensor; }

  /// The scale of the outer index (a row of the left operand, a column of the right
  /// one) in a block of the summed dimension; `summed_across`: that dimension lies along the rows
  /// of memory.
  float scale(int64_t outer, int64_t block, bool summed_across) const {
    if (!scales) return 1.0F;
    switch (granularity) {
      case Granularity::kTensor: return scales[0];
      case Granularity::kVector: return scales[outer];
      case Granularity::k128x128: {
        const int64_t across = (stored_columns + 127) / 128, other = outer / 128;
        return summed_across ? scales[other * across + block] : scales[block * across + other];
      }
      default: {
        const int64_t length = block_length(granularity);
        return summed_across ? scales[outer * ((stored_columns + length - 1) / length) + block]
                             : scales[block * stored_columns + outer];
      }
    }
  }
};

void gemm(const Side& left, const Side& right, int64_t row, int64_t rows, int64_t column,
          int64_t columns, int64_t first, int64_t count, float alpha, float* out, int64_t stride) {
  narrow_gemm()(kRowMajor, left.transpose, right.transpose, static_cast<int>(rows),
                static_cast<int>(columns), static_cast<int>(count), alpha, left.at(row, first),
                static_cast<int>(left.stride), right.at(first, column),
                static_cast<int>(right.stride), 0.0F, out, static_cast<int>(stride));
}

/// Rows and columns of a tile of the result: its sums stay in a core's cache between blocks.
constexpr int64_t kTile = 256;

void multiply_tiles(const Side& left, const Side& right, int64_t block, float* out) {
  const int64_t m = left.rows, k = left.columns, n = right.columns;
  const int64_t down = (m + kTile - 1) / kTile, across = (n + kTile - 1) / kTile;
  // Left sums over its columns, right over its rows.
  const bool left_across = !left.transposed, right_across = right.transposed;
  torch::stable::parallel_for(0, down * across, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> sums(static_cast<size_t>(kTile * kTile));
    std::array<float, kTile> of_columns;
    for (int64_t tile = begin; tile < end; ++tile) {
      const int64_t row = tile / across * kTile, column = tile % across * kTile;
      const int64_t rows = std::min(kTile, m - row), columns = std::min(kTile, n - column);
      for (int64_t first = 0; first < k; first += block) {
        const int64_t index = first / block;
        gemm(left, right, row, rows, column, columns, first, std::min(block, k - first), 1.0F,
             sums.data(), columns);
        for (int64_t j = 0; j < columns; ++j)
          of_columns[static_cast<size_t>(j)] = right.scale(column + j, index, right_across);
        for (int64_t i = 0; i < rows; ++i) {
          const float of_row = left.scale(row + i, index, left_across);
          const float* from = sums.data() + i * columns;
          float* to = out + (row + i) * n + column;
          if (first == 0)
            for (int64_t j = 0; j < columns; ++j)
              to[j] = from[j] / (of_row * of_columns[static_cast<size_t>(j)]);
          else
            for (int64_t j = 0; j < columns; ++j)
              to[j] += from[j] / (of_row * of_columns[static_cast<size_t>(j)]);
        }
      }
    }
  });
}

Matrix as_torch_takes_it(const CpuOperand& operand) {
  return operand.transposed ? torch::stable::transpose(operand.values, 0, 1) : operand.values;
}

}  // namespace

bool has_narrow_products() { return narrow_gemm() != nullptr; }

bool prefers_narrow_products() {
#if defined(__x86_64__)
  static const bool known = has_narrow_products() && (__builtin_cpu_supports("avx512bf16") ||
                                                      __builtin_cpu_supports("amx-bf16"));
  return known;
#else
  return false;
#endif
}

Matrix multiply(const CpuOperand& left_operand, const CpuOperand& right_operand) {
  if (left_operand.values.scalar_type() == ScalarType::Float)
    return titan::sdk::torch_op("aten::mm", "", as_torch_takes_it(left_operand),
                                as_torch_takes_it(right_operand));
  const Side left(left_operand), right(right_operand);
  Matrix result = new_matrix(left_operand.values, left.rows, right.columns, ScalarType::Float);
  auto* out = static_cast<float*>(result.mutable_data_ptr());
  if (left.columns == 0 || result.numel() == 0) {
    std::memset(out, 0, static_cast<size_t>(result.numel()) * sizeof(float));
    return result;
  }
  if (left.of_whole_tensor() && right.of_whole_tensor()) {
    // In double: the product of two scales may leave the range of float32 where the sum does not.
    const auto scale = [](const Side& side) {
      return side.scales ? static_cast<double>(side.scales[0]) : 1.0;
    };
    gemm(left, right, 0, left.rows, 0, right.columns, 0, left.columns,
         static_cast<float>(1.0 / (scale(left) * scale(right))), out, right.columns);
    return result;
  }
  const int64_t of_left = left.scales ? block_length(left.granularity) : 0,
                of_right = right.scales ? block_length(right.granularity) : 0;
  multiply_tiles(
      left, right,
      std::max({of_left, of_right, int64_t{0}}) == 0 ? left.columns : std::max(of_left, of_right),
      out);
  return result;
}

}  // namespace float8
