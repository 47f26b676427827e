/// cuBLASLt as a table of functions, found at run time.
#pragma once

#include <cublasLt.h>

namespace float8::device {

/// The functions that are used, named as in the library without its prefix. Tests put another
/// implementation in their place.
struct CublasLt {
  decltype(&cublasLtGetVersion) get_version;
  decltype(&cublasLtGetStatusString) get_status_string;
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtDestroy) destroy;
  decltype(&cublasLtMatmulDescCreate) matmul_desc_create;
  decltype(&cublasLtMatmulDescDestroy) matmul_desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) matmul_desc_set_attribute;
  decltype(&cublasLtMatrixLayoutCreate) matrix_layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) matrix_layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) matmul_preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) matmul_preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) matmul_preference_set_attribute;
  decltype(&cublasLtMatmulAlgoGetHeuristic) matmul_algo_get_heuristic;
  decltype(&cublasLtMatmul) matmul;
};

/// Loads the library on the first call: the copy that torch has mapped if there is one, else
/// libcublasLt.so.13 or .12 from the library search path. Stays loaded. Throws TITAN_UNSUPPORTED
/// naming what was tried.
const CublasLt& load_cublaslt();

/// The table of a library that is open already (a dlopen handle). Throws if it lacks a function.
CublasLt cublaslt_table(void* library);

}  // namespace float8::device
