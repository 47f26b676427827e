/// The emulated linear layer, forward and backward, against reference layers.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <random>

#include "cpu_product.h"
#include "support.h"

namespace float8::test {
namespace {

/// Both ways to multiply, whatever this processor prefers.
std::vector<EmulatedProducts> ways() {
  std::vector<EmulatedProducts> all{EmulatedProducts::kFloat32};
  if (has_narrow_products()) all.push_back(EmulatedProducts::kNarrow);
  return all;
}

Layer run(EmulatedProducts products, const GoldenTensor& x, const GoldenTensor& w,
          const GoldenTensor& grad_y, Recipe recipe = Recipe::kTensorwise,
          std::optional<bool> power_of_two = std::nullopt) {
  return run_layer(*make_emulate_backend(plan_of(recipe, power_of_two), products), make_matrix(x),
                   make_matrix(w), make_matrix(grad_y));
}

/// A LibTorch for x86 has them; without, half of these tests would be left out in silence.
TEST(EmulateBackend, NarrowProductsAreThere) {
#if defined(__x86_64__)
  EXPECT_TRUE(has_narrow_products());
#endif
}

TEST(EmulateBackend, ReferenceLinearCases) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  int finite = 0, poisoned = 0;
  for (const EmulatedProducts products : ways())
    for (const auto& [name, facts] : cases.items()) {
      const auto recipe = find_recipe(name.substr(0, name.find('/')));
      ASSERT_TRUE(recipe) << name;
      const Layer got =
          run(products, file[name + "/x"], file[name + "/w"], file[name + "/grad_output"], *recipe);
      // One rounding of a bfloat16 result; for float32 the order of summation.
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
      EXPECT_LE(relative_error(values_of(got.grad_x), file[name + "/grad_input"].as_double()),
                tolerance)
          << name;
      EXPECT_LE(relative_error(values_of(got.grad_w), file[name + "/grad_weight"].as_double()),
                tolerance)
          << name;
      if (facts.contains("nonfinite")) {
        const auto& counts = facts.at("nonfinite");
        EXPECT_EQ(count_nan(values_of(got.y)), counts.at("y_nan").get<int64_t>()) << name;
        EXPECT_EQ(count_nan(values_of(got.grad_x)), counts.at("grad_input_nan").get<int64_t>())
            << name;
        EXPECT_EQ(count_nan(values_of(got.grad_w)), counts.at("grad_weight_nan").get<int64_t>())
            << name;
        ++poisoned;
      } else {
        ++finite;
      }
    }
  EXPECT_GT(finite, 0);
  EXPECT_GT(poisoned, 0);
}

TEST(EmulateBackend, ReferenceBlocksOf128) {
  const GoldenFile file("float8/blockwise.safetensors");
  for (const EmulatedProducts products : ways())
    for (const bool power_of_two : {false, true}) {
      // The reference with powers of two has no floor of 1e-12, which these tensors do not reach.
      const std::string base = std::string("lin/") + (power_of_two ? "te/" : "torchao/");
      const Layer got = run(products, file["lin/x"], file["lin/w"], file["lin/grad_output"],
                            Recipe::kBlockwise, power_of_two);
      EXPECT_LE(relative_error(values_of(got.y), file[base + "y_f32"].as_double()), 0x1p-7) << base;
      EXPECT_LE(relative_error(values_of(got.grad_x), file[base + "grad_input_f32"].as_double()),
                0x1p-7)
          << base;
      EXPECT_LE(relative_error(values_of(got.grad_w), file[base + "grad_weight_f32"].as_double()),
                0x1p-7)
          << base;
    }
}

TEST(EmulateBackend, ReferenceBlocksOf32) {
  const GoldenFile file("float8/mxfp8.safetensors");
  for (const EmulatedProducts products : ways()) {
    const Layer got = run(products, file["lin/rceil/x"], file["lin/rceil/w"],
                          file["lin/rceil/grad_output"], Recipe::kMxfp8);
    EXPECT_LE(relative_error(values_of(got.y), file["lin/rceil/ref64_y"].as_double()), 0x1p-7);
    EXPECT_LE(relative_error(values_of(got.grad_x), file["lin/rceil/grad_input"].as_double()),
              0x1p-7);
    EXPECT_LE(relative_error(values_of(got.grad_w), file["lin/rceil/grad_weight"].as_double()),
              0x1p-7);
  }
}

TEST(EmulateBackend, ReferenceVectors) {
  const GoldenFile file("llama/float8_vectors.safetensors");
  for (const EmulatedProducts products : ways())
    for (const std::string type : {"fp32", "bf16"}) {
      const std::string base = "linear." + type + ".";
      const Layer got = run(products, file[base + "x"], file[base + "w"], file[base + "grad_out"]);
      const double tolerance = type == "bf16" ? 0x1p-7 : 2e-6;
      EXPECT_LE(relative_error(values_of(got.y), file[base + "tensorwise.out"].as_double()),
                tolerance)
          << type;
      EXPECT_LE(relative_error(values_of(got.grad_x), file[base + "tensorwise.grad_x"].as_double()),
                tolerance)
          << type;
      EXPECT_LE(relative_error(values_of(got.grad_w), file[base + "tensorwise.grad_w"].as_double()),
                tolerance)
          << type;
      // Far from both the product in high precision and another recipe, so this is tensorwise fp8.
      EXPECT_GT(relative_error(values_of(got.y), file[base + "rowwise.out"].as_double()),
                4 * tolerance)
          << type;
    }
}

TEST(EmulateBackend, BiasAndItsGradient) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  int compared = 0;
  for (const EmulatedProducts products : ways())
    for (const auto& [name, facts] : cases.items()) {
      if (facts.contains("nonfinite")) continue;
      const auto backend =
          make_emulate_backend(plan_of(*find_recipe(name.substr(0, name.find('/')))), products);
      ForwardCall call =
          forward_call(make_matrix(file[name + "/x"]), make_matrix(file[name + "/w"]));
      const GoldenTensor& bias = file[name + "/b"];
      call.bias = torch::stable::reshape(make_matrix(bias), {bias.shape.data(), bias.shape.size()});
      const Forward forward = backend->forward(call);
      const double tolerance = name.find("/bf16/") != std::string::npos ? 0x1p-7 : 2e-5;
      EXPECT_LE(relative_error(values_of(forward.y), file[name + "/y"].as_double()), tolerance)
          << name;
      BackwardCall backward =
          backward_call(make_matrix(file[name + "/grad_output"]), forward, call.x.size(1));
      backward.needs_bias = true;
      EXPECT_LE(relative_error(values_of(*backend->backward(backward).bias),
                               file[name + "/grad_bias"].as_double()),
                tolerance)
          << name;
      ++compared;
    }
  EXPECT_GT(compared, 0);
}

/// x and w take no gradient, so nothing was kept.
TEST(EmulateBackend, ABiasAlone) {
  const float grads[4] = {1, 2, 3, 4};
  BackwardCall call{make_matrix(grads, 2, 2, ScalarType::Float)};
  call.needs_bias = true;
  for (const Recipe recipe : all_recipes()) {
    const Backward result = make_emulate_backend(plan_of(recipe))->backward(call);
    EXPECT_EQ(values_of(*result.bias), (std::vector<double>{4, 6})) << recipe_name(recipe);
    EXPECT_FALSE(result.x || result.w);
  }
}

TEST(EmulateBackend, GivesOnlyTheGradientsThatAreWanted) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const std::string base = "tensorwise/f32/s0/";
  const auto backend = make_emulate_backend();
  const Matrix x = make_matrix(file[base + "x"]), w = make_matrix(file[base + "w"]);
  const Matrix grad = make_matrix(file[base + "grad_output"]);
  const Forward forward = backend->forward(forward_call(x, w));
  BackwardCall call = backward_call(grad, forward, x.size(1));
  call.needs_x = false;
  const Backward only_w = backend->backward(call);
  EXPECT_FALSE(only_w.x.has_value());
  EXPECT_TRUE(only_w.w.has_value());
  call.needs_x = true;
  call.needs_w = false;
  const Backward only_x = backend->backward(call);
  EXPECT_TRUE(only_x.x.has_value());
  EXPECT_FALSE(only_x.w.has_value());
}

TEST(EmulateBackend, AnyNumberOfTokens) {
  for (const EmulatedProducts products : ways())
    for (const Recipe recipe : all_recipes())
      for (const int64_t tokens : {0, 1, 17, 33}) {
        // Narrow: the scales of both operands are undone together, by a reciprocal that is rounded.
        const double unit = products == EmulatedProducts::kNarrow ? 0x1p-23 : 0;
        const std::vector<float> ones(static_cast<size_t>(64 * 64), 1.0F);
        const auto backend = make_emulate_backend(plan_of(recipe), products);
        const Matrix x = make_matrix(ones.data(), tokens, 32, ScalarType::Float);
        const Matrix w = make_matrix(ones.data(), 16, 32, ScalarType::Float);
        const Matrix grad = make_matrix(ones.data(), tokens, 16, ScalarType::Float);
        const Layer got = run_layer(*backend, x, w, grad);
        ASSERT_EQ(got.y.size(0), tokens);
        ASSERT_EQ(got.y.size(1), 16);
        for (const double value : values_of(got.y)) EXPECT_NEAR(value, 32.0, 32.0 * unit);
        ASSERT_EQ(got.grad_x.size(0), tokens);
        for (const double value : values_of(got.grad_x)) EXPECT_NEAR(value, 16.0, 16.0 * unit);
        ASSERT_EQ(got.grad_w.size(0), 16);
        for (const double value : values_of(got.grad_w))
          EXPECT_NEAR(value, static_cast<double>(tokens), static_cast<double>(tokens) * unit);
      }
}

Matrix random_matrix(int64_t rows, int64_t columns, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(normal(random), static_cast<int>(i / 100 % 7));
  return make_matrix(values.data(), rows, columns, ScalarType::Float);
}

/// More than one tile of the result and, in every direction, more than one block with a rest: with
/// scales of either rule the two ways to multiply differ by the order of sums alone.
TEST(EmulateBackend, NarrowProductsGiveTheSameNumbers) {
  ASSERT_TRUE(has_narrow_products());
  const Matrix x = random_matrix(300, 272, 1), w = random_matrix(400, 272, 2),
               grad = random_matrix(300, 400, 3);
  for (const Recipe recipe : all_recipes())
    for (const bool power_of_two : {false, true}) {
      if (recipe == Recipe::kMxfp8 && !power_of_two) continue;
      const Plan plan = plan_of(recipe, power_of_two);
      const Layer wide =
          run_layer(*make_emulate_backend(plan, EmulatedProducts::kFloat32), x, w, grad);
      const Layer narrow =
          run_layer(*make_emulate_backend(plan, EmulatedProducts::kNarrow), x, w, grad);
      const std::string where =
          std::string(recipe_name(recipe)) + (power_of_two ? ", powers of two" : "");
      EXPECT_LE(relative_error(values_of(narrow.y), values_of(wide.y)), 2e-6) << where;
      EXPECT_LE(relative_error(values_of(narrow.grad_x), values_of(wide.grad_x)), 2e-6) << where;
      EXPECT_LE(relative_error(values_of(narrow.grad_w), values_of(wide.grad_w)), 2e-6) << where;
    }
}

/// A weight is cast once for each of its versions, also for backward.
TEST(EmulateBackend, AWeightIsCastOnceForEachVersion) {
  ASSERT_TRUE(has_narrow_products());
  const Matrix x = random_matrix(32, 64, 1), grad = random_matrix(32, 48, 3);
  for (const Recipe recipe : all_recipes()) {
    const auto backend = make_emulate_backend(plan_of(recipe), EmulatedProducts::kNarrow);
    const auto memory = backend->make_memory();
    Matrix w = random_matrix(48, 64, 2);
    const auto run_version = [&](uint64_t version) {
      ForwardCall call = forward_call(x, w);
      call.memory = memory.get();
      call.weight_version = version;
      const Forward forward = backend->forward(call);
      std::vector<double> both = values_of(forward.y);
      const Backward backward = backend->backward(backward_call(grad, forward, 64));
      for (const double value : values_of(*backward.x)) both.push_back(value);
      return both;
    };
    const auto first = run_version(7);
    auto* values = static_cast<float*>(w.mutable_data_ptr());
    for (int64_t i = 0; i < w.numel(); ++i) values[i] *= 4;
    EXPECT_EQ(run_version(7), first) << recipe_name(recipe);
    const auto later = run_version(8);
    ASSERT_EQ(later.size(), first.size());
    for (size_t i = 0; i < later.size(); ++i)
      ASSERT_EQ(later[i], 4 * first[i]) << recipe_name(recipe);
  }
}

TEST(EmulateBackend, OtherTypesAreRefusedByName) {
  const auto backend = make_emulate_backend();
  const int64_t shape[2] = {16, 16};
  const Matrix half = torch::stable::full({shape, 2}, 1.0, ScalarType::Half);
  try {
    backend->forward(forward_call(half, half));
    FAIL() << "float16 was accepted";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("Half"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace float8::test
