#include "fake_cublaslt.h"

#include <cstring>
#include <map>

#include "format.h"

namespace float8::test {
namespace {

struct Attributes {
  std::map<int, std::vector<char>> values;
  template <class T>
  T get(int attribute, T otherwise) const {
    const auto found = values.find(attribute);
    if (found == values.end()) return otherwise;
    if (found->second.size() != sizeof(T)) return otherwise;
    T value;
    std::memcpy(&value, found->second.data(), sizeof value);
    return value;
  }
};

struct Layout {
  cudaDataType_t type;
  int64_t rows, columns, leading;
};

/// What a heuristic stores in its opaque algorithm: the problem it was made for.
struct Problem {
  int64_t m, n, k;
  cudaDataType_t a, b, d;
};
static_assert(sizeof(Problem) <= sizeof(cublasLtMatmulAlgo_t));

template <class T, class Handle>
T& as(Handle handle) {
  return *reinterpret_cast<T*>(handle);
}
template <class T, class Handle>
cublasStatus_t make(Handle* out, T value) {
  *out = reinterpret_cast<Handle>(new T(std::move(value)));
  ++fake_cublaslt().live_objects;
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class Handle>
cublasStatus_t destroy(Handle handle) {
  delete reinterpret_cast<T*>(handle);
  --fake_cublaslt().live_objects;
  return CUBLAS_STATUS_SUCCESS;
}

int64_t size_of(cudaDataType_t type) { return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 1; }
bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
bool aligned(const void* pointer, uintptr_t to) {
  return pointer && reinterpret_cast<uintptr_t>(pointer) % to == 0;
}

/// The rules for Ada and Hopper; every other fp8 device takes at least what they take.
bool allowed(const Attributes& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d) {
  return desc.get<int32_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) == CUBLAS_OP_T &&
         desc.get<int32_t>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) == CUBLAS_OP_N && is_fp8(a.type) &&
         is_fp8(b.type) && !(a.type == CUDA_R_8F_E5M2 && b.type == CUDA_R_8F_E5M2) &&
         (d.type == CUDA_R_16BF || d.type == CUDA_R_32F) && c.type == d.type && a.rows == b.rows &&
         d.rows == a.columns && d.columns == b.columns && a.leading >= a.rows && b.leading >= b.rows &&
         d.leading >= d.rows && a.rows % 16 == 0 && a.leading % 16 == 0 && b.leading % 16 == 0 &&
         d.leading * size_of(d.type) % 16 == 0 && a.rows > 0 && a.columns > 0 && b.columns > 0 &&
         desc.get<const float*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, nullptr) != nullptr &&
         desc.get<const float*>(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, nullptr) != nullptr;
}

double element(const void* data, cudaDataType_t type, int64_t index) {
  const uint8_t code = static_cast<const uint8_t*>(data)[index];
  return type == CUDA_R_8F_E4M3 ? decode<Format::kE4M3>(code) : decode<Format::kE5M2>(code);
}

void store(void* data, cudaDataType_t type, int64_t index, double value) {
  const auto single = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[index] = single;
    return;
  }
  const uint32_t bits = bits_of(single);
  static_cast<uint16_t*>(data)[index] = single != single
                                            ? uint16_t{0x7fc0}
                                            : static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

size_t CUBLASWINAPI get_version() { return 130100; }
const char* CUBLASWINAPI get_status_string(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "status";
}
cublasStatus_t CUBLASWINAPI create(cublasLtHandle_t* out) { return make(out, Attributes{}); }
cublasStatus_t CUBLASWINAPI destroy_handle(cublasLtHandle_t handle) { return destroy<Attributes>(handle); }
cublasStatus_t CUBLASWINAPI desc_create(cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  return make(out, Attributes{});
}
cublasStatus_t CUBLASWINAPI desc_destroy(cublasLtMatmulDesc_t desc) { return destroy<Attributes>(desc); }
cublasStatus_t CUBLASWINAPI desc_set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                                     const void* value, size_t size) {
  const auto* bytes = static_cast<const char*>(value);
  as<Attributes>(desc).values[attribute].assign(bytes, bytes + size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI layout_create(cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  return make(out, Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
}
cublasStatus_t CUBLASWINAPI layout_destroy(cublasLtMatrixLayout_t layout) { return destroy<Layout>(layout); }
cublasStatus_t CUBLASWINAPI preference_create(cublasLtMatmulPreference_t* out) { return make(out, Attributes{}); }
cublasStatus_t CUBLASWINAPI preference_destroy(cublasLtMatmulPreference_t preference) {
  return destroy<Attributes>(preference);
}
cublasStatus_t CUBLASWINAPI preference_set(cublasLtMatmulPreference_t preference,
                                           cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                                           size_t size) {
  const auto* bytes = static_cast<const char*>(value);
  as<Attributes>(preference).values[attribute].assign(bytes, bytes + size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a_layout,
                                          cublasLtMatrixLayout_t b_layout, cublasLtMatrixLayout_t c_layout,
                                          cublasLtMatrixLayout_t d_layout, cublasLtMatmulPreference_t preference,
                                          int requested, cublasLtMatmulHeuristicResult_t* results, int* count) {
  ++fake_cublaslt().heuristics;
  *count = 0;
  const auto &a = as<Layout>(a_layout), &b = as<Layout>(b_layout), &c = as<Layout>(c_layout), &d = as<Layout>(d_layout);
  if (!fake_cublaslt().supports_fp8 || requested < 1 || !allowed(as<Attributes>(desc), a, b, c, d))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  fake_cublaslt().workspace_limit =
      as<Attributes>(preference).get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
  const Problem problem{d.rows, d.columns, a.rows, a.type, b.type, d.type};
  std::memcpy(&results[0].algo, &problem, sizeof problem);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI matmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc_handle, const void* alpha, const void* a_data,
                                   cublasLtMatrixLayout_t a_layout, const void* b_data, cublasLtMatrixLayout_t b_layout,
                                   const void* beta, const void*, cublasLtMatrixLayout_t c_layout, void* d_data,
                                   cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                                   void* workspace, size_t workspace_size, cudaStream_t) {
  const auto& desc = as<Attributes>(desc_handle);
  const auto &a = as<Layout>(a_layout), &b = as<Layout>(b_layout), &c = as<Layout>(c_layout), &d = as<Layout>(d_layout);
  if (!allowed(desc, a, b, c, d)) return CUBLAS_STATUS_NOT_SUPPORTED;
  Problem problem;
  std::memcpy(&problem, algorithm, sizeof problem);
  const bool right_algorithm = problem.m == d.rows && problem.n == d.columns && problem.k == a.rows &&
                               problem.a == a.type && problem.b == b.type && problem.d == d.type;
  if (!right_algorithm || !aligned(a_data, 16) || !aligned(b_data, 16) || !aligned(d_data, 16) ||
      !aligned(workspace, 16) || workspace_size < fake_cublaslt().workspace_limit ||
      *static_cast<const float*>(beta) != 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  const double factor = static_cast<double>(*static_cast<const float*>(alpha)) *
                        *desc.get<const float*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, nullptr) *
                        *desc.get<const float*>(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, nullptr);
  for (int64_t j = 0; j < d.columns; ++j)
    for (int64_t i = 0; i < d.rows; ++i) {
      double sum = 0;
      for (int64_t l = 0; l < a.rows; ++l)
        sum += element(a_data, a.type, i * a.leading + l) * element(b_data, b.type, j * b.leading + l);
      store(d_data, d.type, j * d.leading + i, factor * sum);
    }
  fake_cublaslt().products.push_back({d.rows, d.columns, a.rows, a.type, b.type, d.type,
                                      desc.get<int8_t>(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 0) != 0});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublasLt& fake_cublaslt() {
  static FakeCublasLt state;
  return state;
}

const device::CublasLt& fake_cublaslt_table() {
  static const device::CublasLt table{get_version,   get_status_string, create,           destroy_handle,
                                      desc_create,   desc_destroy,      desc_set,         layout_create,
                                      layout_destroy, preference_create, preference_destroy, preference_set,
                                      get_heuristic, matmul};
  return table;
}

}  // namespace float8::test
