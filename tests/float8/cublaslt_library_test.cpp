/// The real cuBLASLt, which describes products without a GPU: found at run time, and every
/// attribute of every product that the backend asks for is read back from it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "capability.h"
#include "cuda/cublaslt_table.h"
#include "cuda/cuda_backend.h"
#include "support.h"

namespace float8::test {
namespace {

/// One product as the real library has it in its descriptors.
struct ReadBack {
  int32_t compute, scale_type, pointer_mode, transa, transb, transc, epilogue, bias_type, a_mode,
      b_mode, d_mode, sm_count;
  int8_t fast;
  const void *a_scale, *b_scale, *c_scale, *d_scale, *bias, *amax;
  struct Layout {
    uint32_t type;
    int32_t order, batch_count;
    uint64_t rows, columns;
    int64_t leading, batch_stride;
  } a, b, c, d;
  uint32_t alignment[4];
  uint64_t workspace;
};

void* library() {
  static void* handle = dlopen(TITAN_CUBLASLT_PATH, RTLD_NOW | RTLD_LOCAL);
  return handle;
}
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library(), name));
}

std::vector<ReadBack>& read_back() {
  static std::vector<ReadBack> list;
  return list;
}

template <class T, class Handle, class Attribute, class Function>
void read(Function* get, Handle handle, Attribute attribute, T& value) {
  size_t written = 0;
  value = T{};
  EXPECT_EQ(get(handle, attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS)
      << attribute;
  EXPECT_EQ(written, sizeof value) << attribute;
}

ReadBack::Layout read_layout(cublasLtMatrixLayout_t layout) {
  const auto get =
      real<decltype(cublasLtMatrixLayoutGetAttribute)>("cublasLtMatrixLayoutGetAttribute");
  ReadBack::Layout got{};
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_TYPE, got.type);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_ORDER, got.order);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_ROWS, got.rows);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_COLS, got.columns);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_LD, got.leading);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, got.batch_count);
  read(get, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, got.batch_stride);
  return got;
}

/// In place of the heuristic, which needs a GPU.
cublasStatus_t CUBLASWINAPI describe(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                     cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                     cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                     cublasLtMatmulPreference_t preference, int,
                                     cublasLtMatmulHeuristicResult_t*, int* count) {
  const auto get = real<decltype(cublasLtMatmulDescGetAttribute)>("cublasLtMatmulDescGetAttribute");
  ReadBack got{};
  read(get, desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, got.compute);
  read(get, desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, got.scale_type);
  read(get, desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, got.pointer_mode);
  read(get, desc, CUBLASLT_MATMUL_DESC_TRANSA, got.transa);
  read(get, desc, CUBLASLT_MATMUL_DESC_TRANSB, got.transb);
  read(get, desc, CUBLASLT_MATMUL_DESC_TRANSC, got.transc);
  read(get, desc, CUBLASLT_MATMUL_DESC_EPILOGUE, got.epilogue);
  read(get, desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, got.bias_type);
  read(get, desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, got.bias);
  read(get, desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, got.fast);
  read(get, desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, got.a_mode);
  read(get, desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, got.b_mode);
  read(get, desc, CUBLASLT_MATMUL_DESC_D_SCALE_MODE, got.d_mode);
  read(get, desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, got.a_scale);
  read(get, desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, got.b_scale);
  read(get, desc, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, got.c_scale);
  read(get, desc, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, got.d_scale);
  read(get, desc, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, got.amax);
  read(get, desc, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, got.sm_count);
  got.a = read_layout(a), got.b = read_layout(b), got.c = read_layout(c), got.d = read_layout(d);
  const auto get_preference =
      real<decltype(cublasLtMatmulPreferenceGetAttribute)>("cublasLtMatmulPreferenceGetAttribute");
  read(get_preference, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, got.workspace);
  read(get_preference, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, got.alignment[0]);
  read(get_preference, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, got.alignment[1]);
  read(get_preference, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, got.alignment[2]);
  read(get_preference, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, got.alignment[3]);
  read_back().push_back(got);
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t CUBLASWINAPI no_handle(cublasLtHandle_t* out) {
  *out = reinterpret_cast<cublasLtHandle_t>(uintptr_t{1});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t CUBLASWINAPI no_destroy(cublasLtHandle_t) { return CUBLAS_STATUS_SUCCESS; }
cublasStatus_t CUBLASWINAPI no_product(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*,
                                       const void*, cublasLtMatrixLayout_t, const void*,
                                       cublasLtMatrixLayout_t, const void*, const void*,
                                       cublasLtMatrixLayout_t, void*, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  return CUBLAS_STATUS_SUCCESS;
}

/// The real library, but for what asks a GPU.
const device::CublasLt& describing_table() {
  static const device::CublasLt table = [] {
    device::CublasLt made = device::cublaslt_table(library());
    made.create = no_handle;
    made.destroy = no_destroy;
    made.matmul_algo_get_heuristic = describe;
    made.matmul = no_product;
    return made;
  }();
  return table;
}

/// What a product of a recipe must look like, written down apart from the code that makes it.
struct Expected {
  uint64_t m, n, k;
  cudaDataType_t b;  ///< A is always e4m3
  int32_t a_mode, b_mode;
  bool fast, bias;
};

constexpr int32_t kScalar = CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F,
                  kRows = CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F,
                  kBlocks = CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F,
                  kSquares = CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F,
                  kMx = CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0;

/// 33 tokens, in 160, out 96: y, dx, dw. Tokens are padded to 48, with mxfp8 to 64.
std::vector<Expected> expected_products(Recipe recipe, bool hopper, bool bias) {
  const int32_t rows = hopper ? kRows : kScalar;
  // A bias goes into the epilogue unless scales are applied after the product.
  const bool bias_after = bias && !hopper;
  switch (recipe) {
    case Recipe::kTensorwise:
    case Recipe::kDelayed:
      return {{96, 48, 160, CUDA_R_8F_E4M3, kScalar, kScalar, true, bias},
              {160, 48, 96, CUDA_R_8F_E5M2, kScalar, kScalar, false, false},
              {160, 96, 48, CUDA_R_8F_E5M2, kScalar, kScalar, false, false}};
    case Recipe::kRowwise:
      return {{96, 48, 160, CUDA_R_8F_E4M3, rows, rows, true, bias && !bias_after},
              {160, 48, 96, CUDA_R_8F_E4M3, rows, rows, false, false},
              {160, 96, 48, CUDA_R_8F_E4M3, rows, rows, false, false}};
    case Recipe::kRowwiseWithGwHp:
      return {{96, 48, 160, CUDA_R_8F_E4M3, rows, rows, true, bias && !bias_after},
              {160, 48, 96, CUDA_R_8F_E4M3, rows, rows, false, false}};
    case Recipe::kBlockwise:
      return {{96, 48, 160, CUDA_R_8F_E4M3, kSquares, kBlocks, false, bias},
              {160, 48, 96, CUDA_R_8F_E4M3, kSquares, kBlocks, false, false},
              {160, 96, 48, CUDA_R_8F_E4M3, kBlocks, kBlocks, false, false}};
    case Recipe::kMxfp8:
      return {{96, 64, 160, CUDA_R_8F_E4M3, kMx, kMx, false, bias},
              {160, 64, 96, CUDA_R_8F_E4M3, kMx, kMx, false, false},
              {160, 96, 64, CUDA_R_8F_E4M3, kMx, kMx, false, false}};
  }
  return {};
}

void expect_layout(const ReadBack::Layout& got, cudaDataType_t type, uint64_t rows,
                   uint64_t columns, const std::string& where) {
  EXPECT_EQ(got.type, static_cast<uint32_t>(type)) << where;
  EXPECT_EQ(got.order, CUBLASLT_ORDER_COL) << where;
  EXPECT_EQ(got.rows, rows) << where;
  EXPECT_EQ(got.columns, columns) << where;
  EXPECT_EQ(got.leading, static_cast<int64_t>(rows)) << where;
  EXPECT_EQ(got.batch_count, 1) << where;
  EXPECT_EQ(got.batch_stride, 0) << where;
}

void expect_product(const ReadBack& got, const Expected& expected, cudaDataType_t result,
                    bool unit_scales, int32_t capability, const std::string& where) {
  EXPECT_EQ(got.compute, CUBLAS_COMPUTE_32F) << where;
  EXPECT_EQ(got.scale_type, CUDA_R_32F) << where;
  EXPECT_EQ(got.pointer_mode, CUBLASLT_POINTER_MODE_HOST) << where;
  EXPECT_EQ(got.transa, CUBLAS_OP_T) << where;
  EXPECT_EQ(got.transb, CUBLAS_OP_N) << where;
  EXPECT_EQ(got.transc, CUBLAS_OP_N) << where;
  EXPECT_EQ(got.a_mode, expected.a_mode) << where;
  EXPECT_EQ(got.b_mode, expected.b_mode) << where;
  EXPECT_EQ(got.d_mode, kScalar) << where;
  EXPECT_EQ(got.fast, expected.fast ? 1 : 0) << where;
  EXPECT_EQ(got.epilogue, expected.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT)
      << where;
  EXPECT_EQ(got.bias != nullptr, expected.bias) << where;
  EXPECT_TRUE(!expected.bias || got.bias_type == CUDA_R_16BF) << where;
  for (const void* scale : {got.a_scale, got.b_scale}) {
    EXPECT_EQ(scale == nullptr, unit_scales) << where;
    EXPECT_TRUE(expected.a_mode == kScalar || reinterpret_cast<uintptr_t>(scale) % 16 == 0)
        << where;
  }
  EXPECT_EQ(got.c_scale, nullptr) << where;
  EXPECT_EQ(got.d_scale, nullptr) << where;
  EXPECT_EQ(got.amax, nullptr) << where;
  EXPECT_EQ(got.sm_count, 0) << where;
  expect_layout(got.a, CUDA_R_8F_E4M3, expected.k, expected.m, where + " A");
  expect_layout(got.b, expected.b, expected.k, expected.n, where + " B");
  expect_layout(got.c, result, expected.m, expected.n, where + " C");
  expect_layout(got.d, result, expected.m, expected.n, where + " D");
  for (const uint32_t alignment : got.alignment)
    EXPECT_TRUE(alignment >= 16 && alignment <= 256) << where << " " << alignment;
  EXPECT_EQ(got.workspace, uint64_t{capability >= 90 ? 32u : 4u} << 20) << where;
}

TEST(CublasLtLibrary, EveryProductReadsBackAsItShould) {
  ASSERT_NE(library(), nullptr) << dlerror();
  const std::vector<float> values(96 * 160, 1.0F);
  int compared = 0;
  for (const Recipe recipe : all_recipes())
    for (const int32_t capability : {89, 90, 100, 120})
      for (const bool bias : {false, true})
        for (const ScalarType type : {ScalarType::BFloat16, ScalarType::Float}) {
          auto device = TITAN_SIZED(titan_device_info);
          device.type = TITAN_CUDA;
          device.capability_major = capability / 10, device.capability_minor = capability % 10,
          device.cublaslt_version = 130100;
          if (check_device(device, {recipe, true, false, 130100})) continue;
          const std::string where = std::string(recipe_name(recipe)) + " on " +
                                    std::to_string(capability) + (bias ? " with bias" : "");
          DeviceSettings settings{capability / 10, capability % 10, has_vector_scales(device)};
          settings.fast_y = usual_fast_accumulation(recipe).y;
          device::CudaBackend backend(plan_of(recipe), settings, &describing_table);
          const auto ones = [&](int64_t rows, int64_t columns) {
            return torch::stable::to(make_matrix(values.data(), rows, columns, ScalarType::Float),
                                     type);
          };
          const int64_t shape[1] = {96};
          ForwardCall call = forward_call(ones(33, 160), ones(96, 160));
          if (bias) call.bias = torch::stable::reshape(ones(1, 96), {shape, 1});
          read_back().clear();
          const Forward forward = backend.forward(call);
          backend.backward(backward_call(ones(33, 96), forward, 160));

          auto expected = expected_products(recipe, capability == 90, bias);
          const bool of_rows = recipe == Recipe::kRowwise || recipe == Recipe::kRowwiseWithGwHp;
          ASSERT_EQ(read_back().size(), expected.size()) << where;
          for (size_t i = 0; i < expected.size(); ++i) {
            // A float32 result takes no bias in the epilogue: cuBLASLt's would be bfloat16.
            if (type == ScalarType::Float) expected[i].bias = false;
            expect_product(
                read_back()[i], expected[i], type == ScalarType::Float ? CUDA_R_32F : CUDA_R_16BF,
                of_rows && capability != 90, capability, where + " product " + std::to_string(i));
            ++compared;
          }
        }
  EXPECT_GT(compared, 100);
}

TEST(CublasLtLibrary, TheMappedCopyIsPreferred) {
  ASSERT_NE(library(), nullptr);
  // The toolkit's copy is mapped now, as torch maps its own.
  EXPECT_EQ(reinterpret_cast<void*>(device::load_cublaslt().get_version),
            dlsym(library(), "cublasLtGetVersion"));
  EXPECT_GE(device::load_cublaslt().get_version(), 120100u);
}

TEST(CublasLtLibrary, AnotherLibraryIsRefusedByTheMissingName) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  EXPECT_THROW(device::cublaslt_table(libc), std::runtime_error);
}

}  // namespace
}  // namespace float8::test
