/// The real cuBLASLt, which describes products without a GPU: found at run time, and every attribute
/// that the plugin sets is read back from it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include "cuda/cublaslt_table.h"
#include "cuda/gemm.h"

namespace float8::test {
namespace {

class CublasLtLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    library = dlopen(TITAN_CUBLASLT_PATH, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    get_attribute = reinterpret_cast<decltype(get_attribute)>(dlsym(library, "cublasLtMatmulDescGetAttribute"));
    get_layout = reinterpret_cast<decltype(get_layout)>(dlsym(library, "cublasLtMatrixLayoutGetAttribute"));
    ASSERT_NE(get_attribute, nullptr);
    ASSERT_NE(get_layout, nullptr);
  }
  template <class T>
  T read(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute) {
    T value{};
    size_t written = 0;
    EXPECT_EQ(get_attribute(desc, attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(written, sizeof value);
    return value;
  }
  void expect_layout(cublasLtMatrixLayout_t layout, cudaDataType_t type, uint64_t rows, uint64_t columns) {
    EXPECT_EQ(read_layout<uint32_t>(layout, CUBLASLT_MATRIX_LAYOUT_TYPE), static_cast<uint32_t>(type));
    EXPECT_EQ(read_layout<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER), CUBLASLT_ORDER_COL);
    EXPECT_EQ(read_layout<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS), rows);
    EXPECT_EQ(read_layout<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_COLS), columns);
    EXPECT_EQ(read_layout<int64_t>(layout, CUBLASLT_MATRIX_LAYOUT_LD), static_cast<int64_t>(rows));
    EXPECT_EQ(read_layout<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT), 1);
  }
  template <class T>
  T read_layout(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute) {
    T value{};
    size_t written = 0;
    EXPECT_EQ(get_layout(layout, attribute, &value, sizeof value, &written), CUBLAS_STATUS_SUCCESS);
    return value;
  }

  void* library = nullptr;
  decltype(&cublasLtMatmulDescGetAttribute) get_attribute = nullptr;
  decltype(&cublasLtMatrixLayoutGetAttribute) get_layout = nullptr;
};

TEST_F(CublasLtLibrary, DescriptorsReadBackAsSet) {
  const device::CublasLt table = device::cublaslt_table(library);
  const float scales[2] = {2.0F, 4.0F};
  for (const bool forward : {true, false}) {
    const device::GemmShape shape{48, 17, 32, Format::kE4M3, forward ? Format::kE4M3 : Format::kE5M2,
                                  forward ? InputType::kBFloat16 : InputType::kFloat32, forward};
    device::GemmDescriptors descriptors(table, shape);
    descriptors.set_scales(&scales[0], &scales[1]);
    const cublasLtMatmulDesc_t desc = descriptors.matmul();
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE), CUBLAS_COMPUTE_32F);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE), CUDA_R_32F);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_POINTER_MODE), CUBLASLT_POINTER_MODE_HOST);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_TRANSA), CUBLAS_OP_T);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_TRANSB), CUBLAS_OP_N);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_EPILOGUE), CUBLASLT_EPILOGUE_DEFAULT);
    EXPECT_EQ(read<int8_t>(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM), forward ? 1 : 0);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_A_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
    EXPECT_EQ(read<int32_t>(desc, CUBLASLT_MATMUL_DESC_B_SCALE_MODE), CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
    EXPECT_EQ(read<const float*>(desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER), &scales[0]);
    EXPECT_EQ(read<const float*>(desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER), &scales[1]);
    expect_layout(descriptors.a(), CUDA_R_8F_E4M3, 32, 48);
    expect_layout(descriptors.b(), forward ? CUDA_R_8F_E4M3 : CUDA_R_8F_E5M2, 32, 17);
    expect_layout(descriptors.d(), forward ? CUDA_R_16BF : CUDA_R_32F, 48, 17);
  }
}

TEST_F(CublasLtLibrary, TheMappedCopyIsPreferred) {
  // SetUp has mapped the toolkit's copy, as torch maps its own.
  EXPECT_EQ(reinterpret_cast<void*>(device::load_cublaslt().get_version), dlsym(library, "cublasLtGetVersion"));
  EXPECT_GE(device::load_cublaslt().get_version(), 120100u);
}

TEST_F(CublasLtLibrary, AnotherLibraryIsRefusedByTheMissingName) {
  void* libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(libc, nullptr);
  EXPECT_THROW(device::cublaslt_table(libc), std::runtime_error);
}

}  // namespace
}  // namespace float8::test
