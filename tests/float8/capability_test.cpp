/// The device table: injected facts in, verdict and wording out.
#include "capability.h"
#include "auto_filter.h"

#include <gtest/gtest.h>

namespace float8::test {
namespace {

titan_device_info device(const char* name, int32_t type, int32_t major, int32_t minor,
                         int32_t cublaslt) {
  auto info = TITAN_SIZED(titan_device_info);
  info.type = type;
  info.name = {name, std::char_traits<char>::length(name)};
  info.capability_major = major;
  info.capability_minor = minor;
  info.cublaslt_version = cublaslt;
  return info;
}

struct Row {
  const char* name;
  int32_t type, major, minor, cublaslt;
  bool emulate, with_cuda;
  const char* message;  ///< part of the refusal; null: it can run
  const char* hint;
};

TEST(Capability, Table) {
  const Row rows[] = {
      {"CPU", TITAN_CPU, 0, 0, 0, false, true,
       "float8 needs a GPU of compute capability 8.9 or newer; this run is on CPU",
       "--float8.emulate=true"},
      {"CPU", TITAN_CPU, 0, 0, 0, true, true, nullptr, nullptr},
      {"CPU", TITAN_CPU, 0, 0, 0, true, false, nullptr, nullptr},
      {"NVIDIA A100", TITAN_CUDA, 8, 0, 130100, false, true,
       "recipe tensorwise needs compute capability 8.9 or newer; NVIDIA A100 has 8.0",
       "float8.emulate=true"},
      {"NVIDIA RTX A6000", TITAN_CUDA, 8, 6, 130100, false, true, "NVIDIA RTX A6000 has 8.6",
       "float8.emulate=true"},
      {"NVIDIA L4", TITAN_CUDA, 8, 9, 120100, false, true, nullptr, nullptr},
      {"NVIDIA H100", TITAN_CUDA, 9, 0, 120100, false, true, nullptr, nullptr},
      {"NVIDIA H100", TITAN_CUDA, 9, 0, 120006, false, true,
       "needs cuBLASLt 12.1.0 or newer; found 12.0.6 (this float8.so was built for 13.1.0)",
       "newer CUDA"},
      {"NVIDIA H100", TITAN_CUDA, 9, 0, 0, false, true, "none was found", "libcublasLt.so"},
      {"NVIDIA B200", TITAN_CUDA, 10, 0, 120800, false, true, nullptr, nullptr},
      {"NVIDIA B200", TITAN_CUDA, 10, 0, 120700, false, true,
       "needs cuBLASLt 12.8.0 or newer; found 12.7.0", "newer CUDA"},
      {"NVIDIA RTX 5090", TITAN_CUDA, 12, 0, 130100, false, true, nullptr, nullptr},
      {"NVIDIA H100", TITAN_CUDA, 9, 0, 130100, false, false,
       "was built without CUDA and cannot use NVIDIA H100", "TITAN_CUDA=ON"},
      {"NVIDIA H100", TITAN_CUDA, 9, 0, 130100, true, true, "float8.emulate computes on the CPU",
       "training.device=cpu"},
  };
  for (const Row& row : rows) {
    const auto refusal =
        check_device(device(row.name, row.type, row.major, row.minor, row.cublaslt),
                     {Recipe::kTensorwise, false, row.emulate, row.with_cuda ? 130100 : 0});
    const std::string where = std::string(row.name) + " emulate " + (row.emulate ? "on" : "off");
    ASSERT_EQ(refusal.has_value(), row.message != nullptr)
        << where << (refusal ? ": " + refusal->message : "");
    if (!refusal) continue;
    EXPECT_NE(refusal->message.find(row.message), std::string::npos) << refusal->message;
    EXPECT_NE(refusal->hint.find(row.hint), std::string::npos) << refusal->hint;
  }
}

/// What each recipe meets on each kind of GPU, with the newest cuBLASLt: "" runs, else what is
/// said.
TEST(Capability, EveryRecipeOnEveryArchitecture) {
  const int32_t capabilities[] = {80, 86, 89, 90, 100, 120};
  const char* kOld = "needs compute capability 8.9 or newer";
  const char* kHopper = "needs compute capability 9.0; ";
  const char* kBlackwell = "needs compute capability 10.0 to 11.9";
  const struct {
    Recipe recipe;
    const char* says[6];
  } rows[] = {
      {Recipe::kTensorwise, {kOld, kOld, "", "", "", ""}},
      {Recipe::kDelayed, {kOld, kOld, "", "", "", ""}},
      {Recipe::kRowwise, {kOld, kOld, "", "", "", ""}},
      {Recipe::kRowwiseWithGwHp, {kOld, kOld, "", "", "", ""}},
      {Recipe::kBlockwise, {kHopper, kHopper, kHopper, "", kHopper, kHopper}},
      {Recipe::kMxfp8,
       {kBlackwell, kBlackwell, kBlackwell, kBlackwell, "", "no layouts for backward"}},
  };
  for (const auto& row : rows)
    for (size_t i = 0; i < std::size(capabilities); ++i) {
      const auto refusal = check_device(
          device("GPU", TITAN_CUDA, capabilities[i] / 10, capabilities[i] % 10, 130100),
          {row.recipe, /*power_of_two=*/true, /*emulate=*/false, 130100});
      const std::string where =
          std::string(recipe_name(row.recipe)) + " on " + std::to_string(capabilities[i]);
      ASSERT_EQ(refusal.has_value(), row.says[i][0] != 0) << where;
      if (!refusal) continue;
      EXPECT_NE(refusal->message.find(row.says[i]), std::string::npos)
          << where << ": " << refusal->message;
      EXPECT_NE(refusal->message.find(recipe_name(row.recipe)), std::string::npos)
          << refusal->message;
      EXPECT_NE(refusal->hint.find("float8.emulate=true"), std::string::npos) << refusal->hint;
    }
  for (const Recipe recipe : all_recipes())
    EXPECT_FALSE(
        check_device(device("CPU", TITAN_CPU, 0, 0, 0), {recipe, false, /*emulate=*/true, 0}));
}

/// Scales for rows that are no powers of two need cuBLASLt to know them; the others do not.
TEST(Capability, ScalesOfRows) {
  const auto refused = [](int32_t capability, int32_t cublaslt, bool power_of_two) {
    const auto refusal =
        check_device(device("GPU", TITAN_CUDA, capability / 10, capability % 10, cublaslt),
                     {Recipe::kRowwise, power_of_two, false, 130100});
    return refusal ? refusal->message + "; " + refusal->hint : "";
  };
  for (const int32_t capability : {89, 90, 100, 120})
    EXPECT_EQ(refused(capability, 130100, true), "");
  EXPECT_EQ(refused(90, 120800, true), "");
  EXPECT_EQ(refused(90, 120900, false), "");
  for (const auto& [capability, cublaslt] :
       {std::pair{89, 130100}, {90, 120800}, {100, 130100}, {120, 130100}}) {
    const std::string text = refused(capability, cublaslt, false);
    EXPECT_NE(text.find("power_of_two_scales off needs compute capability 9.0 and cuBLASLt 12.9.0"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("leave power_of_two_scales at auto"), std::string::npos) << text;
  }
  EXPECT_TRUE(has_vector_scales(device("H100", TITAN_CUDA, 9, 0, 120900)));
  EXPECT_FALSE(has_vector_scales(device("H100", TITAN_CUDA, 9, 0, 120800)));
  EXPECT_FALSE(has_vector_scales(device("B200", TITAN_CUDA, 10, 0, 130100)));
}

TEST(AutoFilter, TheThresholdsOfTorchao) {
  const struct {
    Recipe recipe;
    int64_t in, out;
    bool stays;
  } rows[] = {
      {Recipe::kTensorwise, 4096, 1024, true},  {Recipe::kTensorwise, 4097, 1024, false},
      {Recipe::kTensorwise, 4096, 1025, false}, {Recipe::kDelayed, 4096, 1024, true},
      {Recipe::kRowwise, 8192, 2048, true},     {Recipe::kRowwise, 8192, 2049, false},
      {Recipe::kRowwise, 1024, 65536, true},    {Recipe::kRowwise, 1025, 65536, false},
      {Recipe::kRowwise, 2048, 4096, true},     {Recipe::kRowwise, 2049, 4096, false},
      {Recipe::kRowwise, 2048, 4097, false},
  };
  for (const auto& row : rows)
    EXPECT_EQ(!auto_filter(row.recipe, row.in, row.out).empty(), row.stays)
        << recipe_name(row.recipe) << " " << row.in << " " << row.out;
  EXPECT_FALSE(has_auto_filter(Recipe::kBlockwise));
  EXPECT_FALSE(has_auto_filter(Recipe::kRowwiseWithGwHp));
  EXPECT_EQ(auto_filter(Recipe::kMxfp8, 16, 16), "");
}

TEST(Capability, RecipesAreFoundByName) {
  for (const Recipe recipe : all_recipes()) EXPECT_EQ(find_recipe(recipe_name(recipe)), recipe);
  EXPECT_EQ(find_recipe("tensorwise"), Recipe::kTensorwise);
  EXPECT_EQ(find_recipe("rowwis"), std::nullopt);
  EXPECT_EQ(recipe_name(Recipe::kTensorwise), "tensorwise");
}

}  // namespace
}  // namespace float8::test
