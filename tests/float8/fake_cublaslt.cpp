#include "fake_cublaslt.h"

#include <algorithm>
#include <cmath>
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
  int32_t m, n, k;
  uint8_t a, b, d, a_mode, b_mode, flags;
  uint16_t align_a, align_b, align_d;
  bool operator==(const Problem& other) const {
    return std::memcmp(this, &other, sizeof *this) == 0;
  }
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

int64_t size_of(cudaDataType_t type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 1;
}
bool is_fp8(cudaDataType_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }
bool aligned(const void* pointer, uintptr_t to) {
  return pointer && reinterpret_cast<uintptr_t>(pointer) % to == 0;
}

/// A product as its descriptors say.
struct Described {
  const Attributes& desc;
  const Layout &a, &b, &c, &d;
  int32_t a_mode() const { return desc.get<int32_t>(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 0); }
  int32_t b_mode() const { return desc.get<int32_t>(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 0); }
  const void* a_scales() const {
    return desc.get<const void*>(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, nullptr);
  }
  const void* b_scales() const {
    return desc.get<const void*>(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, nullptr);
  }
  bool fast() const { return desc.get<int8_t>(CUBLASLT_MATMUL_DESC_FAST_ACCUM, 0) != 0; }
  bool bias() const {
    return desc.get<int32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, 1) == CUBLASLT_EPILOGUE_BIAS;
  }
};

constexpr int32_t kScalar = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
                  kBlocksOf32 = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0,
                  kVector = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
                  kBlocksOf128 = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                  kSquares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F;

/// The rule that the product breaks, or null. Rules: the cuBLAS manual on fp8 and its scale modes.
const char* broken_rule(const Described& p) {
  const int32_t capability = fake_cublaslt().capability, mode_a = p.a_mode(), mode_b = p.b_mode();
  const size_t version = fake_cublaslt().version;
  const bool hopper = capability >= 90 && capability < 100;
  if (capability < 89) return "fp8 needs compute capability 8.9";
  if (version < (capability >= 100 ? 120800u : 120100u))
    return "the library is too old for the device";
  if (p.desc.get<int32_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N) != CUBLAS_OP_T ||
      p.desc.get<int32_t>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N) != CUBLAS_OP_N)
    return "A is transposed and B is not";
  if (!is_fp8(p.a.type) || !is_fp8(p.b.type)) return "operands are fp8";
  if (p.a.type == CUDA_R_8F_E5M2 && p.b.type == CUDA_R_8F_E5M2) return "e5m2 x e5m2 does not exist";
  if ((p.d.type != CUDA_R_16BF && p.d.type != CUDA_R_32F) || p.c.type != p.d.type)
    return "C and D are both bf16 or both f32";
  if (p.a.rows != p.b.rows || p.d.rows != p.a.columns || p.d.columns != p.b.columns)
    return "dimensions agree";
  if (p.a.rows <= 0 || p.a.columns <= 0 || p.b.columns <= 0) return "no dimension is 0";
  if (p.a.leading < p.a.rows || p.b.leading < p.b.rows || p.d.leading < p.d.rows)
    return "leading dimensions hold a column";
  if (p.a.rows % 16 != 0 || p.a.leading % 16 != 0 || p.b.leading % 16 != 0)
    return "k and leading dimensions are multiples of 16 bytes";
  if (p.d.leading * size_of(p.d.type) % 16 != 0)
    return "the result's leading dimension is a multiple of 16 bytes";
  const bool of_128 = (mode_a == kBlocksOf128 || mode_a == kSquares) &&
                      (mode_b == kBlocksOf128 || mode_b == kSquares);
  if (mode_a == kScalar && mode_b == kScalar) return nullptr;
  if (!p.a_scales() || !p.b_scales()) return "scales that are no scalar have pointers";
  if (!aligned(p.a_scales(), 16) || !aligned(p.b_scales(), 16))
    return "scales are aligned to 16 bytes";
  if (mode_a == kVector && mode_b == kVector) {
    if (!hopper) return "OUTER_VEC_32F is for compute capability 9.0";
    return version < 120900 ? "OUTER_VEC_32F came with 12.9" : nullptr;
  }
  if (of_128) {
    if (!hopper) return "scales of 128 are for compute capability 9.0";
    if (version < 120900) return "scales of 128 came with 12.9";
    if (mode_a == kSquares && mode_b == kSquares) return "not both operands have squares";
    if (p.d.rows % 4 != 0 || p.d.columns % 4 != 0) return "m and n are multiples of 4";
    return p.fast() ? "no fast accumulation with blocks" : nullptr;
  }
  if (mode_a == kBlocksOf32 && mode_b == kBlocksOf32) {
    if (capability < 100) return "VEC32_UE8M0 is for compute capability 10.0";
    return p.a.rows % 32 != 0 ? "k is a multiple of 32" : nullptr;
  }
  return "these two scale modes do not go together";
}

Problem problem_of(const Described& p, const Attributes* preference) {
  Problem made;
  std::memset(&made, 0, sizeof made);
  made.m = static_cast<int32_t>(p.d.rows), made.n = static_cast<int32_t>(p.d.columns),
  made.k = static_cast<int32_t>(p.a.rows);
  made.a = static_cast<uint8_t>(p.a.type), made.b = static_cast<uint8_t>(p.b.type),
  made.d = static_cast<uint8_t>(p.d.type);
  made.a_mode = static_cast<uint8_t>(p.a_mode()), made.b_mode = static_cast<uint8_t>(p.b_mode());
  made.flags = static_cast<uint8_t>((p.fast() ? 1 : 0) | (p.bias() ? 2 : 0));
  if (preference) {
    const auto claim = [&](cublasLtMatmulPreferenceAttributes_t attribute) {
      return static_cast<uint16_t>(preference->get<uint32_t>(attribute, 256));
    };
    made.align_a = claim(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
    made.align_b = claim(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
    made.align_d = claim(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  }
  return made;
}

const float* values_of_codes(cudaDataType_t type) {
  static const auto table = [] {
    std::vector<float> values(512);
    for (int code = 0; code < 256; ++code) {
      values[static_cast<size_t>(code)] = decode<Format::kE4M3>(static_cast<uint8_t>(code));
      values[static_cast<size_t>(256 + code)] = decode<Format::kE5M2>(static_cast<uint8_t>(code));
    }
    return values;
  }();
  return table.data() + (type == CUDA_R_8F_E4M3 ? 0 : 256);
}

/// What element (line, l) of an operand with `lines` lines of length k is multiplied by, but for a
/// scale that the whole line shares.
double block_scale(int32_t mode, const void* scales, int64_t line, int64_t lines, int64_t l,
                   int64_t k) {
  const auto* floats = static_cast<const float*>(scales);
  if (mode == kBlocksOf128) return floats[l / 128 * lines + line];
  if (mode == kSquares) return floats[line / 128 * (((k + 127) / 128 + 3) / 4 * 4) + l / 128];
  if (mode != kBlocksOf32) return 1;
  // Tiles of 128 x 4, in them 32 x 16: rows 32 apart lie beside each other.
  const int64_t block = l / 32, across = ((k + 31) / 32 + 3) / 4;
  const int64_t at =
      (line / 128 * across + block / 4) * 512 + line % 32 * 16 + line % 128 / 32 * 4 + block % 4;
  const uint8_t exponent = static_cast<const uint8_t*>(scales)[at];
  return exponent == 255 ? std::nan("") : std::ldexp(1.0, exponent - 127);
}
double line_scale(int32_t mode, const void* scales, int64_t line) {
  if (!scales || (mode != kScalar && mode != kVector)) return 1;
  return static_cast<const float*>(scales)[mode == kVector ? line : 0];
}

/// An operand as numbers, its scales but those of lines applied.
std::vector<float> dequantised(const void* data, const Layout& layout, int32_t mode,
                               const void* scales) {
  const float* values = values_of_codes(layout.type);
  const auto* codes = static_cast<const uint8_t*>(data);
  const int64_t lines = layout.columns, k = layout.rows,
                step = mode == kBlocksOf32                  ? 32
                       : mode == kScalar || mode == kVector ? k
                                                            : 128;
  std::vector<float> out(static_cast<size_t>(lines * k));
  for (int64_t line = 0; line < lines; ++line)
    for (int64_t first = 0; first < k; first += step) {
      const auto scale = static_cast<float>(block_scale(mode, scales, line, lines, first, k));
      for (int64_t l = first; l < std::min(first + step, k); ++l)
        out[static_cast<size_t>(line * k + l)] = values[codes[line * layout.leading + l]] * scale;
    }
  return out;
}

double dot(const float* a, const float* b, int64_t k) {
  double sums[8] = {};
  for (int64_t l = 0; l < k; l += 8)
    for (int64_t i = 0; i < 8; ++i)
      sums[i] += static_cast<double>(a[l + i]) * static_cast<double>(b[l + i]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

float load(const void* data, cudaDataType_t type, int64_t index) {
  return type == CUDA_R_32F ? static_cast<const float*>(data)[index]
                            : load_float(static_cast<const uint16_t*>(data)[index]);
}

void store(void* data, cudaDataType_t type, int64_t index, double value) {
  const auto single = static_cast<float>(value);
  if (type == CUDA_R_32F) {
    static_cast<float*>(data)[index] = single;
    return;
  }
  const uint32_t bits = bits_of(single);
  static_cast<uint16_t*>(data)[index] =
      single != single ? uint16_t{0x7fc0}
                       : static_cast<uint16_t>((bits + 0x7fffU + ((bits >> 16) & 1U)) >> 16);
}

size_t CUBLASWINAPI get_version() { return fake_cublaslt().version; }
const char* CUBLASWINAPI get_status_string(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "status";
}
cublasStatus_t CUBLASWINAPI create(cublasLtHandle_t* out) { return make(out, Attributes{}); }
cublasStatus_t CUBLASWINAPI destroy_handle(cublasLtHandle_t handle) {
  return destroy<Attributes>(handle);
}
cublasStatus_t CUBLASWINAPI desc_create(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  if (compute != CUBLAS_COMPUTE_32F || scale != CUDA_R_32F) return CUBLAS_STATUS_INVALID_VALUE;
  return make(out, Attributes{});
}
cublasStatus_t CUBLASWINAPI desc_destroy(cublasLtMatmulDesc_t desc) {
  return destroy<Attributes>(desc);
}
cublasStatus_t CUBLASWINAPI desc_set(cublasLtMatmulDesc_t desc,
                                     cublasLtMatmulDescAttributes_t attribute, const void* value,
                                     size_t size) {
  const bool is_mode = attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE ||
                       attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE;
  if (is_mode && fake_cublaslt().version < 120800) return CUBLAS_STATUS_INVALID_VALUE;
  const auto* bytes = static_cast<const char*>(value);
  as<Attributes>(desc).values[attribute].assign(bytes, bytes + size);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI layout_create(cublasLtMatrixLayout_t* out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  return make(out,
              Layout{type, static_cast<int64_t>(rows), static_cast<int64_t>(columns), leading});
}
cublasStatus_t CUBLASWINAPI layout_destroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout);
}
cublasStatus_t CUBLASWINAPI preference_create(cublasLtMatmulPreference_t* out) {
  return make(out, Attributes{});
}
cublasStatus_t CUBLASWINAPI preference_destroy(cublasLtMatmulPreference_t preference) {
  return destroy<Attributes>(preference);
}
cublasStatus_t CUBLASWINAPI preference_set(cublasLtMatmulPreference_t preference,
                                           cublasLtMatmulPreferenceAttributes_t attribute,
                                           const void* value, size_t size) {
  const auto* bytes = static_cast<const char*>(value);
  as<Attributes>(preference).values[attribute].assign(bytes, bytes + size);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI get_heuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                          cublasLtMatrixLayout_t a_layout,
                                          cublasLtMatrixLayout_t b_layout,
                                          cublasLtMatrixLayout_t c_layout,
                                          cublasLtMatrixLayout_t d_layout,
                                          cublasLtMatmulPreference_t preference, int requested,
                                          cublasLtMatmulHeuristicResult_t* results, int* count) {
  ++fake_cublaslt().heuristics;
  *count = 0;
  const Described product{as<Attributes>(desc), as<Layout>(a_layout), as<Layout>(b_layout),
                          as<Layout>(c_layout), as<Layout>(d_layout)};
  if (const char* rule = requested < 1 ? "results are asked for" : broken_rule(product)) {
    fake_cublaslt().refused = rule;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  fake_cublaslt().workspace_limit =
      as<Attributes>(preference).get<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 0);
  const Problem problem = problem_of(product, &as<Attributes>(preference));
  std::memcpy(&results[0].algo, &problem, sizeof problem);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI matmul(cublasLtHandle_t, cublasLtMatmulDesc_t desc_handle,
                                   const void* alpha, const void* a_data,
                                   cublasLtMatrixLayout_t a_layout, const void* b_data,
                                   cublasLtMatrixLayout_t b_layout, const void* beta,
                                   const void* c_data, cublasLtMatrixLayout_t c_layout,
                                   void* d_data, cublasLtMatrixLayout_t d_layout,
                                   const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                                   size_t workspace_size, cudaStream_t) {
  const Described p{as<Attributes>(desc_handle), as<Layout>(a_layout), as<Layout>(b_layout),
                    as<Layout>(c_layout), as<Layout>(d_layout)};
  if (const char* rule = broken_rule(p)) {
    fake_cublaslt().refused = rule;
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  Problem chosen, needed = problem_of(p, nullptr);
  std::memcpy(&chosen, algorithm, sizeof chosen);
  needed.align_a = chosen.align_a, needed.align_b = chosen.align_b, needed.align_d = chosen.align_d;
  const auto beta_value = static_cast<double>(*static_cast<const float*>(beta));
  const char* fault = !(chosen == needed) ? "the algorithm is for this product"
                      : !aligned(a_data, chosen.align_a) || !aligned(b_data, chosen.align_b)
                          ? "operands are aligned as was said"
                      : !aligned(d_data, chosen.align_d) ? "the result is aligned as was said"
                      : chosen.align_a < 16 || chosen.align_b < 16 || chosen.align_d < 16
                          ? "matrices are aligned to 16 bytes"
                      : !aligned(workspace, 256) || workspace_size < fake_cublaslt().workspace_limit
                          ? "the workspace is as was said"
                      : beta_value != 0 && (c_data != d_data || p.d.type != CUDA_R_32F)
                          ? "what is added to is float32, in place"
                          : nullptr;
  const void* bias =
      p.bias() ? p.desc.get<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr) : nullptr;
  if (!fault && p.bias() &&
      (!bias || p.desc.get<int32_t>(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, -1) != CUDA_R_16BF))
    fault = "a bias has a pointer, and is bfloat16";
  if (fault) {
    fake_cublaslt().refused = fault;
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const std::vector<float> a = dequantised(a_data, p.a, p.a_mode(), p.a_scales());
  const std::vector<float> b = dequantised(b_data, p.b, p.b_mode(), p.b_scales());
  const int64_t k = p.a.rows;
  for (int64_t j = 0; j < p.d.columns; ++j) {
    const double of_b = static_cast<double>(*static_cast<const float*>(alpha)) *
                        line_scale(p.b_mode(), p.b_scales(), j);
    for (int64_t i = 0; i < p.d.rows; ++i) {
      double value = of_b * line_scale(p.a_mode(), p.a_scales(), i) *
                     dot(a.data() + i * k, b.data() + j * k, k);
      if (bias) value += static_cast<double>(load(bias, CUDA_R_16BF, i));
      if (beta_value != 0)
        value += beta_value * static_cast<double>(load(d_data, p.d.type, j * p.d.leading + i));
      store(d_data, p.d.type, j * p.d.leading + i, value);
    }
  }
  fake_cublaslt().products.push_back({p.d.rows, p.d.columns, k, p.a.type, p.b.type, p.d.type,
                                      p.a_mode(), p.b_mode(), p.fast(), p.bias(), beta_value != 0,
                                      chosen.align_a, chosen.align_b, chosen.align_d});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

FakeCublasLt& fake_cublaslt() {
  static FakeCublasLt state;
  return state;
}

const device::CublasLt& fake_cublaslt_table() {
  static const device::CublasLt table{
      get_version,        get_status_string, create,        destroy_handle, desc_create,
      desc_destroy,       desc_set,          layout_create, layout_destroy, preference_create,
      preference_destroy, preference_set,    get_heuristic, matmul};
  return table;
}

}  // namespace float8::test
