/// The CUDA backend as it ships, on CPU tensors: kernels' bodies in loops, a double for cuBLASLt.
/// Shows indexing, padding, descriptors and control flow; not speed, races or the hardware.
#include "cuda/cuda_backend.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <titan/cpp/error.hpp>

#include "fake_cublaslt.h"
#include "host_kernels.h"
#include "support.h"

namespace float8::test {
namespace {

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override { fake_cublaslt() = {}; }
  void TearDown() override {
    backend.reset();
    EXPECT_EQ(fake_cublaslt().live_objects, 0);
  }
  Matrix random_matrix(int64_t rows, int64_t columns, ScalarType type, float size) {
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (float& value : values) value = normal(random) * size;
    if (type == ScalarType::Float) return make_matrix(values.data(), rows, columns, type);
    std::vector<uint16_t> halves;
    for (const float value : values) halves.push_back(static_cast<uint16_t>(bits_of(value) >> 16));
    return make_matrix(halves.data(), rows, columns, type);
  }

  std::mt19937 random{11};
  std::normal_distribution<float> normal;
  std::unique_ptr<device::CudaBackend> backend =
      std::make_unique<device::CudaBackend>(kHostKernels, fake_cublaslt_table(), 9);
};

TEST_F(CudaBackendTest, EqualsTheEmulatedLayer) {
  const auto emulated = make_emulate_backend();
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
    for (const int64_t tokens : {0, 1, 16, 17, 70})
      for (const int64_t in : {16, 80})
        for (const int64_t out : {32, 144}) {
          const Matrix x = random_matrix(tokens, in, type, 1.0F), w = random_matrix(out, in, type, 0.05F);
          const Matrix grad = random_matrix(tokens, out, type, 1e-4F);
          const Forward got = backend->forward(x, w, nullptr), expected = emulated->forward(x, w, nullptr);
          const Backward got_grads = backend->backward(grad, x, w, got.kept, true, true, nullptr);
          const Backward expected_grads = emulated->backward(grad, x, w, expected.kept, true, true, nullptr);
          const double tolerance = type == ScalarType::Float ? 2e-6 : 0x1p-8;
          const std::string where = std::to_string(tokens) + " x " + std::to_string(in) + " to " + std::to_string(out);
          EXPECT_LE(relative_error(values_of(got.y), values_of(expected.y)), tolerance) << where;
          EXPECT_LE(relative_error(values_of(*got_grads.x), values_of(*expected_grads.x)), tolerance) << where;
          EXPECT_LE(relative_error(values_of(*got_grads.w), values_of(*expected_grads.w)), tolerance) << where;
          EXPECT_EQ(got.y.scalar_type(), type);
          EXPECT_EQ(got_grads.w->scalar_type(), type);
        }
}

TEST_F(CudaBackendTest, ReferenceLinearCases) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  for (const auto& [name, facts] : cases.items()) {
    if (name.rfind("tensorwise/", 0) != 0) continue;
    const Matrix x = make_matrix(file[name + "/x"]), w = make_matrix(file[name + "/w"]);
    const Forward forward = backend->forward(x, w, nullptr);
    const Backward grads = backend->backward(make_matrix(file[name + "/grad_output"]), x, w, forward.kept, true, true, nullptr);
    const double tolerance = name.find("/bf16/") != std::string::npos ? 0x1p-7 : 2e-5;
    EXPECT_LE(relative_error(values_of(forward.y), file[name + "/ref64/y_nobias"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(*grads.x), file[name + "/grad_input"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(*grads.w), file[name + "/grad_weight"].as_double()), tolerance) << name;
  }
}

TEST_F(CudaBackendTest, AsksForTheRightProducts) {
  const Matrix x = random_matrix(17, 32, ScalarType::BFloat16, 1), w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  const Matrix grad = random_matrix(17, 48, ScalarType::BFloat16, 1);
  const Forward forward = backend->forward(x, w, nullptr);
  backend->backward(grad, x, w, forward.kept, true, true, nullptr);
  const auto& products = fake_cublaslt().products;
  ASSERT_EQ(products.size(), 3u);
  const auto expect = [](const FakeProduct& got, int64_t m, int64_t n, int64_t k, cudaDataType_t b, bool fast) {
    EXPECT_EQ(got.m, m);
    EXPECT_EQ(got.n, n);
    EXPECT_EQ(got.k, k);
    EXPECT_EQ(got.a, CUDA_R_8F_E4M3);
    EXPECT_EQ(got.b, b);
    EXPECT_EQ(got.d, CUDA_R_16BF);
    EXPECT_EQ(got.fast_accumulation, fast);
  };
  expect(products[0], 48, 17, 32, CUDA_R_8F_E4M3, true);
  expect(products[1], 32, 17, 48, CUDA_R_8F_E5M2, false);
  expect(products[2], 32, 48, 32, CUDA_R_8F_E5M2, false);  // 17 tokens padded to 32
  EXPECT_EQ(fake_cublaslt().workspace_limit, uint64_t{32} << 20);
}

TEST_F(CudaBackendTest, PlansAreKeptPerShape) {
  const Matrix x = random_matrix(32, 32, ScalarType::Float, 1), w = random_matrix(48, 32, ScalarType::Float, 1);
  for (int i = 0; i < 3; ++i) backend->forward(x, w, nullptr);
  EXPECT_EQ(fake_cublaslt().heuristics, 1);
  EXPECT_EQ(backend->gemm().plan_count(), 1u);
  // Another scale with the same plan: the new pointers must be used.
  const Matrix large = random_matrix(32, 32, ScalarType::Float, 1000);
  const auto emulated = make_emulate_backend();
  EXPECT_LE(relative_error(values_of(backend->forward(large, w, nullptr).y), values_of(emulated->forward(large, w, nullptr).y)), 2e-6);
  EXPECT_EQ(fake_cublaslt().heuristics, 1);
  backend->forward(random_matrix(64, 32, ScalarType::Float, 1), w, nullptr);
  EXPECT_EQ(fake_cublaslt().heuristics, 2);
}

TEST_F(CudaBackendTest, OnlyTheWantedGradientIsComputed) {
  const Matrix x = random_matrix(16, 32, ScalarType::Float, 1), w = random_matrix(48, 32, ScalarType::Float, 1);
  const Matrix grad = random_matrix(16, 48, ScalarType::Float, 1);
  const Matrix amax = backend->forward(x, w, nullptr).kept;
  fake_cublaslt().products.clear();
  const Backward result = backend->backward(grad, x, w, amax, false, true, nullptr);
  EXPECT_FALSE(result.x.has_value());
  EXPECT_TRUE(result.w.has_value());
  EXPECT_EQ(fake_cublaslt().products.size(), 1u);
}

TEST_F(CudaBackendTest, TensorsThatBeginAnywhere) {
  const Matrix whole = random_matrix(1, 17 * 32 + 1, ScalarType::BFloat16, 1);
  const int64_t shape[2] = {17, 32}, strides[2] = {32, 1};
  const Matrix shifted = torch::stable::from_blob(static_cast<uint16_t*>(whole.mutable_data_ptr()) + 1, {shape, 2}, {strides, 2},
                                                  whole.device(), ScalarType::BFloat16);
  ASSERT_NE(reinterpret_cast<uintptr_t>(shifted.const_data_ptr()) % 16, 0u);
  const Matrix w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  const Matrix copy = torch::stable::clone(shifted);
  EXPECT_EQ(values_of(backend->forward(shifted, w, nullptr).y), values_of(backend->forward(copy, w, nullptr).y));
}

TEST_F(CudaBackendTest, ARefusalNamesTheProduct) {
  fake_cublaslt().supports_fp8 = false;
  const Matrix x = random_matrix(17, 32, ScalarType::BFloat16, 1), w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  try {
    backend->forward(x, w, nullptr);
    FAIL() << "a product without an algorithm ran";
  } catch (const titan::sdk::Error& error) {
    EXPECT_EQ(error.status(), TITAN_UNSUPPORTED);
    const std::string text = error.what();
    for (const char* part : {"130100", "m=48 n=17 k=32", "e4m3 x e4m3 to bfloat16", "not supported"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace
}  // namespace float8::test
