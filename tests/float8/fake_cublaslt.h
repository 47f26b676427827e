/// A double of cuBLASLt: enforces the documented limits of fp8 products and multiplies in memory.
#pragma once

#include <vector>

#include "cuda/cublaslt_table.h"

namespace float8::test {

/// One product that was run.
struct FakeProduct {
  int64_t m, n, k;
  cudaDataType_t a, b, d;
  bool fast_accumulation;
};

/// What happened since reset().
struct FakeCublasLt {
  int heuristics = 0;
  int live_objects = 0;         ///< descriptors, layouts, preferences and handles not destroyed
  bool supports_fp8 = true;     ///< false: the heuristic finds nothing
  uint64_t workspace_limit = 0;  ///< of the last preference
  std::vector<FakeProduct> products;
};
FakeCublasLt& fake_cublaslt();
const device::CublasLt& fake_cublaslt_table();

}  // namespace float8::test
