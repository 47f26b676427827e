/// The emulated linear layer, forward and backward, against reference layers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support.h"

namespace float8::test {
namespace {

struct Layer {
  Matrix y, grad_x, grad_w;
};

Layer run(const GoldenTensor& x, const GoldenTensor& w, const GoldenTensor& grad_y,
          Recipe recipe = Recipe::kTensorwise, std::optional<bool> power_of_two = std::nullopt) {
  const auto backend = make_emulate_backend(plan_of(recipe, power_of_two));
  const Matrix mx = make_matrix(x), mw = make_matrix(w);
  const Forward forward = backend->forward(mx, mw, nullptr);
  const Backward backward = backend->backward(make_matrix(grad_y), mx, mw, forward.kept, true, true, nullptr);
  return {forward.y, *backward.x, *backward.w};
}

TEST(EmulateBackend, ReferenceLinearCases) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const auto cases = titan::test::golden_json("float8/linear_cases.json");
  int finite = 0, poisoned = 0;
  for (const auto& [name, facts] : cases.items()) {
    const auto recipe = find_recipe(name.substr(0, name.find('/')));
    ASSERT_TRUE(recipe) << name;
    const Layer got = run(file[name + "/x"], file[name + "/w"], file[name + "/grad_output"], *recipe);
    // One rounding of a bfloat16 result; for float32 the order of summation.
    const double tolerance = name.find("/bf16/") != std::string::npos ? 0x1p-7 : 2e-5;
    EXPECT_LE(relative_error(values_of(got.y), file[name + "/ref64/y_nobias"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(got.grad_x), file[name + "/ref64/grad_input"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(got.grad_w), file[name + "/ref64/grad_weight"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(got.grad_x), file[name + "/grad_input"].as_double()), tolerance) << name;
    EXPECT_LE(relative_error(values_of(got.grad_w), file[name + "/grad_weight"].as_double()), tolerance) << name;
    if (facts.contains("nonfinite")) {
      const auto& counts = facts.at("nonfinite");
      EXPECT_EQ(count_nan(values_of(got.y)), counts.at("y_nan").get<int64_t>()) << name;
      EXPECT_EQ(count_nan(values_of(got.grad_x)), counts.at("grad_input_nan").get<int64_t>()) << name;
      EXPECT_EQ(count_nan(values_of(got.grad_w)), counts.at("grad_weight_nan").get<int64_t>()) << name;
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
  for (const bool power_of_two : {false, true}) {
    // The reference with powers of two has no floor of 1e-12, which these tensors do not reach.
    const std::string base = std::string("lin/") + (power_of_two ? "te/" : "torchao/");
    const Layer got = run(file["lin/x"], file["lin/w"], file["lin/grad_output"], Recipe::kBlockwise, power_of_two);
    EXPECT_LE(relative_error(values_of(got.y), file[base + "y_f32"].as_double()), 0x1p-7) << base;
    EXPECT_LE(relative_error(values_of(got.grad_x), file[base + "grad_input_f32"].as_double()), 0x1p-7) << base;
    EXPECT_LE(relative_error(values_of(got.grad_w), file[base + "grad_weight_f32"].as_double()), 0x1p-7) << base;
  }
}

TEST(EmulateBackend, ReferenceBlocksOf32) {
  const GoldenFile file("float8/mxfp8.safetensors");
  const Layer got = run(file["lin/rceil/x"], file["lin/rceil/w"], file["lin/rceil/grad_output"], Recipe::kMxfp8);
  EXPECT_LE(relative_error(values_of(got.y), file["lin/rceil/ref64_y"].as_double()), 0x1p-7);
  EXPECT_LE(relative_error(values_of(got.grad_x), file["lin/rceil/grad_input"].as_double()), 0x1p-7);
  EXPECT_LE(relative_error(values_of(got.grad_w), file["lin/rceil/grad_weight"].as_double()), 0x1p-7);
}

TEST(EmulateBackend, ReferenceVectors) {
  const GoldenFile file("llama/float8_vectors.safetensors");
  for (const std::string type : {"fp32", "bf16"}) {
    const std::string base = "linear." + type + ".";
    const Layer got = run(file[base + "x"], file[base + "w"], file[base + "grad_out"]);
    const double tolerance = type == "bf16" ? 0x1p-7 : 2e-6;
    EXPECT_LE(relative_error(values_of(got.y), file[base + "tensorwise.out"].as_double()), tolerance) << type;
    EXPECT_LE(relative_error(values_of(got.grad_x), file[base + "tensorwise.grad_x"].as_double()), tolerance) << type;
    EXPECT_LE(relative_error(values_of(got.grad_w), file[base + "tensorwise.grad_w"].as_double()), tolerance) << type;
    // Far from both the product in high precision and another recipe, so this is tensorwise fp8.
    EXPECT_GT(relative_error(values_of(got.y), file[base + "rowwise.out"].as_double()), 4 * tolerance) << type;
  }
}

TEST(EmulateBackend, GivesOnlyTheGradientsThatAreWanted) {
  const GoldenFile file("float8/linear_cases.safetensors");
  const std::string base = "tensorwise/f32/s0/";
  const auto backend = make_emulate_backend();
  const Matrix x = make_matrix(file[base + "x"]), w = make_matrix(file[base + "w"]);
  const Matrix grad = make_matrix(file[base + "grad_output"]);
  const Matrix amax = backend->forward(x, w, nullptr).kept;
  const Backward only_w = backend->backward(grad, x, w, amax, false, true, nullptr);
  EXPECT_FALSE(only_w.x.has_value());
  EXPECT_TRUE(only_w.w.has_value());
  const Backward only_x = backend->backward(grad, x, w, amax, true, false, nullptr);
  EXPECT_TRUE(only_x.x.has_value());
  EXPECT_FALSE(only_x.w.has_value());
}

TEST(EmulateBackend, AnyNumberOfTokens) {
  for (const Recipe recipe : all_recipes()) for (const int64_t tokens : {0, 1, 17, 33}) {
    const std::vector<float> ones(static_cast<size_t>(64 * 64), 1.0F);
    const auto backend = make_emulate_backend(plan_of(recipe));
    const Matrix x = make_matrix(ones.data(), tokens, 32, ScalarType::Float);
    const Matrix w = make_matrix(ones.data(), 16, 32, ScalarType::Float);
    const Matrix grad = make_matrix(ones.data(), tokens, 16, ScalarType::Float);
    const Forward forward = backend->forward(x, w, nullptr);
    ASSERT_EQ(forward.y.size(0), tokens);
    ASSERT_EQ(forward.y.size(1), 16);
    for (const double value : values_of(forward.y)) EXPECT_EQ(value, 32.0);
    const Backward backward = backend->backward(grad, x, w, forward.kept, true, true, nullptr);
    ASSERT_EQ(backward.x->size(0), tokens);
    for (const double value : values_of(*backward.x)) EXPECT_EQ(value, 16.0);
    ASSERT_EQ(backward.w->size(0), 16);
    for (const double value : values_of(*backward.w)) EXPECT_EQ(value, static_cast<double>(tokens));
  }
}

TEST(EmulateBackend, OtherTypesAreRefusedByName) {
  const auto backend = make_emulate_backend();
  const int64_t shape[2] = {16, 16};
  const Matrix half = torch::stable::full({shape, 2}, 1.0, ScalarType::Half);
  try {
    backend->forward(half, half, nullptr);
    FAIL() << "float16 was accepted";
  } catch (const std::exception& error) {
    EXPECT_NE(std::string(error.what()).find("Half"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace float8::test
