/// A double of cuBLASLt: enforces the documented limits of fp8 products and multiplies in memory.
#pragma once

#include <vector>

#include "cuda/cublaslt_table.h"

namespace float8::test {

/// One product that was run.
struct FakeProduct {
  int64_t m, n, k;
  cudaDataType_t a, b, d;
  int32_t a_mode, b_mode;  ///< cublasLtMatmulMatrixScale_t
  bool fast_accumulation, bias, accumulate;
  uint16_t align_a, align_b, align_d;  ///< that its algorithm was chosen for
};

/// The device and the library it plays, and what happened since it was assigned.
struct FakeCublasLt {
  int32_t capability = 90;  ///< 10 * major + minor
  size_t version = 130100;
  int heuristics = 0;
  int live_objects = 0;          ///< descriptors, layouts, preferences and handles not destroyed
  uint64_t workspace_limit = 0;  ///< of the last preference
  std::vector<FakeProduct> products;
  const char* refused = "";  ///< the rule that the last refusal was for
};
FakeCublasLt& fake_cublaslt();
const device::CublasLt& fake_cublaslt_table();

}  // namespace float8::test
