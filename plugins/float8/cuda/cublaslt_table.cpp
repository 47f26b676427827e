#include "cublaslt_table.h"

#include <dlfcn.h>

#include <string>
#include <titan/cpp/error.hpp>

namespace float8::device {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (!function)
    throw titan::sdk::Error(TITAN_UNSUPPORTED,
                            std::string("the cuBLASLt that was found has no function ") + name,
                            "install a torch built for a newer CUDA");
}

void* open_library() {
  constexpr const char* kNames[] = {"libcublasLt.so.13", "libcublasLt.so.12"};
  // Why the mapped copy first: two copies would hold two sets of kernels and two caches.
  for (const char* name : kNames)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_NOLOAD)) return library;
  std::string reasons;
  for (const char* name : kNames) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    reasons += std::string(reasons.empty() ? "" : "; ") + dlerror();
  }
  throw titan::sdk::Error(
      TITAN_UNSUPPORTED, "float8 cannot load cuBLASLt: " + reasons,
      "install the CUDA build of torch, or add the folder of libcublasLt.so to LD_LIBRARY_PATH");
}

}  // namespace

CublasLt cublaslt_table(void* library) {
  CublasLt table{};
  find(library, "cublasLtGetVersion", table.get_version);
  find(library, "cublasLtGetStatusString", table.get_status_string);
  find(library, "cublasLtCreate", table.create);
  find(library, "cublasLtDestroy", table.destroy);
  find(library, "cublasLtMatmulDescCreate", table.matmul_desc_create);
  find(library, "cublasLtMatmulDescDestroy", table.matmul_desc_destroy);
  find(library, "cublasLtMatmulDescSetAttribute", table.matmul_desc_set_attribute);
  find(library, "cublasLtMatrixLayoutCreate", table.matrix_layout_create);
  find(library, "cublasLtMatrixLayoutDestroy", table.matrix_layout_destroy);
  find(library, "cublasLtMatmulPreferenceCreate", table.matmul_preference_create);
  find(library, "cublasLtMatmulPreferenceDestroy", table.matmul_preference_destroy);
  find(library, "cublasLtMatmulPreferenceSetAttribute", table.matmul_preference_set_attribute);
  find(library, "cublasLtMatmulAlgoGetHeuristic", table.matmul_algo_get_heuristic);
  find(library, "cublasLtMatmul", table.matmul);
  return table;
}

const CublasLt& load_cublaslt() {
  static const CublasLt table = cublaslt_table(open_library());
  return table;
}

}  // namespace float8::device
