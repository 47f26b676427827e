/// The device backend as it ships, on CPU tensors: kernels in loops, a double for cuBLASLt. Shows
/// indexing, padding, descriptors, caches and control flow; not speed, races or the hardware.
#include "cuda/cuda_backend.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <titan/cpp/error.hpp>

#include "device_double.h"
#include "support.h"

namespace float8::test {
namespace {

class CudaBackendTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_cublaslt() = {};
    launched().clear();
  }
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
  void use(Recipe recipe, int32_t capability = 0, std::optional<bool> power_of_two = std::nullopt) {
    backend.reset();
    plan = plan_of(recipe, power_of_two);
    backend = make_device_backend(plan, capability ? capability : capability_for(recipe));
  }
  static int64_t count(const char* kernel) {
    return std::count_if(launched().begin(), launched().end(), [&](const std::string& name) {
      return name.find(kernel) != std::string::npos;
    });
  }

  std::mt19937 random{11};
  std::normal_distribution<float> normal;
  Plan plan;
  std::unique_ptr<device::CudaBackend> backend;
};

TEST_F(CudaBackendTest, EqualsTheEmulatedLayerInEveryRecipe) {
  for (const Recipe recipe : all_recipes())
    for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
      for (const int64_t tokens : {0, 1, 17, 70})
        for (const auto& [in, out] : {std::pair<int64_t, int64_t>{32, 64}, {160, 288}}) {
          use(recipe);
          const Matrix x = random_matrix(tokens, in, type, 1.0F),
                       w = random_matrix(out, in, type, 0.05F);
          const Matrix grad = random_matrix(tokens, out, type, 1e-4F);
          const Layer got = run_layer(*backend, x, w, grad),
                      expected = run_layer(*make_emulate_backend(plan), x, w, grad);
          const double limit = type == ScalarType::Float ? 2e-6 : 0x1p-8;
          SCOPED_TRACE(testing::Message() << recipe_name(recipe) << " " << tokens << " x " << in
                                          << " to " << out << ", type " << static_cast<int>(type));
          for (const auto& [ours, reference] : {std::pair<Matrix, Matrix>{got.y, expected.y},
                                                {got.grad_x, expected.grad_x},
                                                {got.grad_w, expected.grad_w}})
            EXPECT_LE(relative_error(values_of(ours), values_of(reference)), limit);
          EXPECT_EQ(got.y.scalar_type(), type);
          EXPECT_EQ(got.grad_w.scalar_type(), type);
        }
}

TEST_F(CudaBackendTest, ANumberOfTokensThatFitsNothing) {
  for (const Recipe recipe : all_recipes()) {
    use(recipe);
    const Matrix x = random_matrix(5743, 64, ScalarType::BFloat16, 1),
                 w = random_matrix(64, 64, ScalarType::BFloat16, 1);
    const Matrix grad = random_matrix(5743, 64, ScalarType::BFloat16, 1);
    const Layer got = run_layer(*backend, x, w, grad),
                expected = run_layer(*make_emulate_backend(plan), x, w, grad);
    EXPECT_EQ(got.y.size(0), 5743);
    EXPECT_LE(relative_error(values_of(got.y), values_of(expected.y)), 0x1p-8)
        << recipe_name(recipe);
    EXPECT_LE(relative_error(values_of(got.grad_w), values_of(expected.grad_w)), 0x1p-8)
        << recipe_name(recipe);
  }
}

TEST_F(CudaBackendTest, ReferenceLinearCases) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  for (const auto& [name, facts] : cases.items())
    for (const int32_t capability : {89, 90, 100}) {
      use(*find_recipe(name.substr(0, name.find('/'))), capability);
      const Layer got =
          run_layer(*backend, make_matrix(file[name + "/x"]), make_matrix(file[name + "/w"]),
                    make_matrix(file[name + "/grad_output"]));
      const double tolerance = name.find("/bf16/") != std::string::npos ? 0x1p-7 : 2e-5;
      EXPECT_LE(relative_error(values_of(got.y), file[name + "/ref64/y_nobias"].as_double()),
                tolerance)
          << name;
      EXPECT_LE(relative_error(values_of(got.grad_x), file[name + "/ref64/grad_input"].as_double()),
                tolerance)
          << name;
      EXPECT_LE(
          relative_error(values_of(got.grad_w), file[name + "/ref64/grad_weight"].as_double()),
          tolerance)
          << name;
    }
}

/// Where cuBLASLt has no scales for rows, they are applied afterwards: the same bits, as they are
/// powers of two.
TEST_F(CudaBackendTest, ScalesOfRowsAppliedAfterwardsGiveTheSameBits) {
  for (const Recipe recipe : {Recipe::kRowwise, Recipe::kRowwiseWithGwHp})
    for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16}) {
      const Matrix x = random_matrix(70, 160, type, 1), w = random_matrix(288, 160, type, 1),
                   grad = random_matrix(70, 288, type, 1);
      use(recipe, 90);
      fake_cublaslt().products.clear();
      const Layer vectors = run_layer(*backend, x, w, grad);
      EXPECT_EQ(fake_cublaslt().products.at(0).a_mode, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
      EXPECT_EQ(count("Epilogue"), 0);
      for (const int32_t capability : {89, 100, 120}) {
        fake_cublaslt().products.clear();
        use(recipe, capability);
        const Layer afterwards = run_layer(*backend, x, w, grad);
        EXPECT_EQ(fake_cublaslt().products.at(0).a_mode, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
        EXPECT_EQ(values_of(afterwards.y), values_of(vectors.y));
        EXPECT_EQ(values_of(afterwards.grad_x), values_of(vectors.grad_x));
        EXPECT_EQ(values_of(afterwards.grad_w), values_of(vectors.grad_w));
      }
      launched().clear();
    }
}

TEST_F(CudaBackendTest, AsksForTheRightProducts) {
  use(Recipe::kTensorwise);
  const Matrix x = random_matrix(17, 32, ScalarType::BFloat16, 1),
               w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  run_layer(*backend, x, w, random_matrix(17, 48, ScalarType::BFloat16, 1));
  const auto& products = fake_cublaslt().products;
  ASSERT_EQ(products.size(), 3u);
  const auto expect = [](const FakeProduct& got, int64_t m, int64_t n, int64_t k, cudaDataType_t b,
                         bool fast) {
    EXPECT_EQ(got.m, m);
    EXPECT_EQ(got.n, n);
    EXPECT_EQ(got.k, k);
    EXPECT_EQ(got.a, CUDA_R_8F_E4M3);
    EXPECT_EQ(got.b, b);
    EXPECT_EQ(got.d, CUDA_R_16BF);
    EXPECT_EQ(got.fast_accumulation, fast);
  };
  // 17 tokens are padded to 32.
  expect(products[0], 48, 32, 32, CUDA_R_8F_E4M3, true);
  expect(products[1], 32, 32, 48, CUDA_R_8F_E5M2, false);
  expect(products[2], 32, 48, 32, CUDA_R_8F_E5M2, false);
  EXPECT_EQ(fake_cublaslt().workspace_limit, uint64_t{32} << 20);
}

TEST_F(CudaBackendTest, PlansAreKeptPerShapeAndAlignment) {
  use(Recipe::kTensorwise);
  // Memory of the CPU is aligned to 64 bytes and now and then to more: each alignment has a plan of
  // its own.
  const auto distinct = [] {
    std::set<std::tuple<int64_t, uint16_t, uint16_t, uint16_t>> seen;
    for (const FakeProduct& product : fake_cublaslt().products)
      seen.insert({product.n, product.align_a, product.align_b, product.align_d});
    return seen.size();
  };
  const Matrix x = random_matrix(32, 32, ScalarType::Float, 1),
               w = random_matrix(48, 32, ScalarType::Float, 1);
  for (int i = 0; i < 50; ++i) backend->forward({x, w});
  EXPECT_EQ(backend->plan_count(), distinct());
  EXPECT_EQ(static_cast<size_t>(fake_cublaslt().heuristics), distinct());
  EXPECT_LT(distinct(), 28u) << "no plan was kept";
  // Another scale with the same plan: the new pointers must be used.
  const Matrix large = random_matrix(32, 32, ScalarType::Float, 1000);
  EXPECT_LE(relative_error(values_of(backend->forward({large, w}).y),
                           values_of(make_emulate_backend()->forward({large, w}).y)),
            2e-6);
  backend->forward({random_matrix(64, 32, ScalarType::Float, 1), w});
  EXPECT_EQ(static_cast<size_t>(fake_cublaslt().heuristics), distinct());
}

TEST_F(CudaBackendTest, AWeightIsQuantisedOnceAVersion) {
  for (const Recipe recipe : all_recipes()) {
    use(recipe);
    const auto memory = backend->make_memory();
    const Matrix w = random_matrix(64, 32, ScalarType::BFloat16, 1),
                 other = random_matrix(64, 32, ScalarType::BFloat16, 5);
    const auto run = [&](const Matrix& weight, uint64_t version, bool gradients) {
      launched().clear();
      ForwardCall call{random_matrix(32, 32, ScalarType::BFloat16, 1), weight};
      call.needs_x = call.needs_w = gradients;
      call.memory = memory.get();
      call.weight_version = version;
      const Matrix expected = make_emulate_backend(plan)->forward(call).y;
      EXPECT_LE(relative_error(values_of(backend->forward(call).y), values_of(expected)), 0x1p-8)
          << recipe_name(recipe);
      return count("CastKernel");
    };
    // The weight of rowwise_with_gw_hp has two granularities, so two casts.
    const int64_t both = recipe == Recipe::kRowwiseWithGwHp ? 3 : 2;
    EXPECT_EQ(run(w, 1, false), 2) << recipe_name(recipe);
    EXPECT_EQ(run(w, 1, false), 1) << recipe_name(recipe);
    EXPECT_EQ(run(w, 1, true), both) << "validation left only what it needed";
    EXPECT_EQ(run(w, 1, true), 1) << recipe_name(recipe);
    EXPECT_EQ(run(other, 2, true), both) << "another version must not use the old bytes";
  }
}

TEST_F(CudaBackendTest, ACachedWeightKeepsItsOwnScale) {
  use(Recipe::kDelayed);
  const auto memory = backend->make_memory();
  const float first = 2.0F, later = 16.0F;
  ForwardCall call{random_matrix(32, 32, ScalarType::Float, 1),
                   random_matrix(64, 32, ScalarType::Float, 1)};
  call.memory = memory.get();
  const Matrix one = make_matrix(&first, 1, 1, ScalarType::Float);
  call.stored = {one, make_matrix(&first, 1, 1, ScalarType::Float), one};
  const Forward before = backend->forward(call);
  call.stored.w = make_matrix(&later, 1, 1, ScalarType::Float);
  const Forward after = backend->forward(call);
  EXPECT_EQ(values_of(after.y), values_of(before.y));
  EXPECT_EQ(values_of(*after.amax_w), values_of(*before.amax_w))
      << "the amax of a cached weight is staged in every micro-batch";
}

TEST_F(CudaBackendTest, GradientsOfWeightsInFloat32) {
  for (const Recipe recipe : all_recipes())
    for (const int32_t capability : {90, 100}) {
      if (capability != capability_for(recipe) && recipe != Recipe::kRowwise) continue;
      use(recipe, capability);
      const Matrix x = random_matrix(40, 64, ScalarType::BFloat16, 1),
                   w = random_matrix(96, 64, ScalarType::BFloat16, 1);
      const Matrix grad = random_matrix(40, 96, ScalarType::BFloat16, 1);
      const Forward forward = backend->forward(forward_call(x, w));
      BackwardCall call = backward_call(grad, forward, 64);
      call.float32_w = true;
      const Matrix wide = *backend->backward(call).w;
      ASSERT_EQ(wide.scalar_type(), ScalarType::Float);
      const auto emulated = make_emulate_backend(plan);
      BackwardCall same = backward_call(grad, emulated->forward(forward_call(x, w)), 64);
      same.float32_w = true;
      EXPECT_LE(relative_error(values_of(wide), values_of(*emulated->backward(same).w)), 2e-6)
          << recipe_name(recipe);

      Matrix sum = random_matrix(96, 64, ScalarType::Float, 1);
      std::vector<double> expected = values_of(sum);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += values_of(wide)[i];
      call.accumulate_w = sum;
      const Backward added = backend->backward(call);
      if (added.w) {
        EXPECT_TRUE(recipe == Recipe::kRowwiseWithGwHp || capability == 100) << recipe_name(recipe);
        EXPECT_EQ(values_of(*added.w), values_of(wide));
      } else {
        EXPECT_LE(relative_error(values_of(sum), expected), 1e-6) << recipe_name(recipe);
        EXPECT_TRUE(fake_cublaslt().products.back().accumulate);
      }
    }
}

TEST_F(CudaBackendTest, Bias) {
  for (const Recipe recipe : all_recipes())
    for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
      for (const int32_t capability :
           {capability_for(recipe), recipe == Recipe::kRowwise ? 89 : capability_for(recipe)}) {
        use(recipe, capability);
        const Matrix x = random_matrix(40, 64, type, 1), w = random_matrix(96, 64, type, 1),
                     grad = random_matrix(40, 96, type, 1);
        const Matrix row = random_matrix(1, 96, type, 3);
        const int64_t shape[1] = {96};
        ForwardCall call = forward_call(x, w);
        call.bias = torch::stable::reshape(row, {shape, 1});
        const auto emulated = make_emulate_backend(plan);
        const Forward got = backend->forward(call), expected = emulated->forward(call);
        // Applied after the scales of rows, it comes after a rounding of its own.
        EXPECT_LE(relative_error(values_of(got.y), values_of(expected.y)),
                  type == ScalarType::Float ? 2e-6 : 0x1p-7)
            << recipe_name(recipe);
        const bool in_epilogue =
            type == ScalarType::BFloat16 && !(recipe == Recipe::kRowwise && capability == 89);
        EXPECT_EQ(fake_cublaslt().products.back().bias,
                  in_epilogue && !(recipe == Recipe::kRowwiseWithGwHp && capability == 89));
        BackwardCall back = backward_call(grad, got, 64),
                     back_expected = backward_call(grad, expected, 64);
        back.needs_bias = back_expected.needs_bias = true;
        EXPECT_LE(relative_error(values_of(*backend->backward(back).bias),
                                 values_of(*emulated->backward(back_expected).bias)),
                  0x1p-8);
        back.needs_x = back.needs_w = false;
        EXPECT_TRUE(backend->backward(back).bias.has_value()) << "a bias alone";
      }
}

TEST_F(CudaBackendTest, OnlyWhatIsWantedIsComputedAndKept) {
  use(Recipe::kTensorwise);
  const Matrix x = random_matrix(16, 32, ScalarType::Float, 1),
               w = random_matrix(48, 32, ScalarType::Float, 1);
  const Matrix grad = random_matrix(16, 48, ScalarType::Float, 1);
  ForwardCall call{x, w};
  EXPECT_TRUE(backend->forward(call).kept.empty());
  call.needs_x = true;
  const Forward frozen = backend->forward(call);
  EXPECT_EQ(frozen.kept.at(0).numel(), 0) << "x is kept although the weight is frozen";
  fake_cublaslt().products.clear();
  BackwardCall back = backward_call(grad, frozen, 32);
  back.needs_w = false;
  const Backward result = backend->backward(back);
  EXPECT_TRUE(result.x.has_value());
  EXPECT_FALSE(result.w.has_value());
  EXPECT_EQ(fake_cublaslt().products.size(), 1u);
}

TEST_F(CudaBackendTest, InFeaturesThatArePadded) {
  for (const Recipe recipe : all_recipes()) {
    use(recipe);
    const Matrix x = random_matrix(17, 40, ScalarType::BFloat16, 1),
                 w = random_matrix(64, 40, ScalarType::BFloat16, 1);
    const Matrix grad = random_matrix(17, 64, ScalarType::BFloat16, 1);
    const Layer got = run_layer(*backend, x, w, grad),
                expected = run_layer(*make_emulate_backend(plan), x, w, grad);
    EXPECT_LE(relative_error(values_of(got.y), values_of(expected.y)), 0x1p-8)
        << recipe_name(recipe);
    EXPECT_LE(relative_error(values_of(got.grad_x), values_of(expected.grad_x)), 0x1p-8)
        << recipe_name(recipe);
    EXPECT_LE(relative_error(values_of(got.grad_w), values_of(expected.grad_w)), 0x1p-8)
        << recipe_name(recipe);
    EXPECT_EQ(got.grad_w.size(1), 40);
    EXPECT_TRUE(got.grad_w.is_contiguous());
  }
}

/// A weight is remembered as it was padded.
TEST_F(CudaBackendTest, APaddedWeightIsRemembered) {
  use(Recipe::kTensorwise);
  const auto memory = backend->make_memory();
  ForwardCall call{random_matrix(32, 40, ScalarType::Float, 1),
                   random_matrix(64, 40, ScalarType::Float, 1)};
  call.memory = memory.get();
  const Matrix first = backend->forward(call).y;
  Matrix w = call.w;
  std::fill_n(static_cast<float*>(w.mutable_data_ptr()), w.numel(), NAN);
  EXPECT_EQ(values_of(backend->forward(call).y), values_of(first));
}

TEST_F(CudaBackendTest, TensorsThatBeginAnywhere) {
  use(Recipe::kTensorwise);
  const Matrix whole = random_matrix(1, 17 * 32 + 1, ScalarType::BFloat16, 1);
  const int64_t shape[2] = {17, 32}, strides[2] = {32, 1};
  const Matrix shifted =
      torch::stable::from_blob(static_cast<uint16_t*>(whole.mutable_data_ptr()) + 1, {shape, 2},
                               {strides, 2}, whole.device(), ScalarType::BFloat16);
  ASSERT_NE(reinterpret_cast<uintptr_t>(shifted.const_data_ptr()) % 16, 0u);
  const Matrix w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  const Matrix copy = torch::stable::clone(shifted);
  EXPECT_EQ(values_of(backend->forward({shifted, w}).y), values_of(backend->forward({copy, w}).y));
}

TEST_F(CudaBackendTest, ARefusalNamesTheProduct) {
  use(Recipe::kBlockwise, 100);
  const Matrix x = random_matrix(17, 32, ScalarType::BFloat16, 1),
               w = random_matrix(48, 32, ScalarType::BFloat16, 1);
  try {
    backend->forward({x, w});
    FAIL() << "a product without an algorithm ran";
  } catch (const titan::sdk::Error& error) {
    EXPECT_EQ(error.status(), TITAN_UNSUPPORTED);
    const std::string text = error.what();
    for (const char* part : {"130100", "m=48 n=32 k=32", "e4m3 x e4m3 to bfloat16", "not supported",
                             "BLK128x128_32F x VEC128_32F", "compute capability 10.0",
                             "lda=ldb=32 ldd=48", "aligned to"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_FALSE(error.hint().empty());
  }
}

/// Every recipe on every device that is said to run it gives products that cuBLASLt's rules allow.
TEST_F(CudaBackendTest, RulesHoldWhereTheTableOfDevicesSaysSo) {
  for (const Recipe recipe : all_recipes())
    for (const int32_t capability : {89, 90, 100, 103, 120}) {
      const bool runs = recipe == Recipe::kBlockwise
                            ? capability == 90
                            : recipe != Recipe::kMxfp8 || (capability >= 100 && capability < 120);
      if (!runs) continue;
      use(recipe, capability);
      const Matrix x = random_matrix(33, 160, ScalarType::BFloat16, 1),
                   w = random_matrix(96, 160, ScalarType::BFloat16, 1);
      EXPECT_NO_THROW(run_layer(*backend, x, w, random_matrix(33, 96, ScalarType::BFloat16, 1)))
          << recipe_name(recipe) << " on " << capability << ": " << fake_cublaslt().refused;
    }
}

}  // namespace
}  // namespace float8::test
