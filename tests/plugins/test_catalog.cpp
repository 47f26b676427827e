/// Scanning folders, finding converters, the error for a missing one, speed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "base/error.h"
#include "plugins/catalog.h"
#include "plugins/load_requested.h"
#include "plugins/mapping.h"
#include "plugins/plugin_testing.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::small_host;
using testing::TempFolder;
using testing::write_text;

SearchOptions folder_only(const TempFolder& folder) {
  SearchOptions options;
  options.paths = {folder.path()};
  return options;
}

/// What `call` throws; fails the test if it throws nothing.
template <class Call>
Error thrown_by(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return internal_error("nothing was thrown");
}

bool is_mapped(const std::filesystem::path& path) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with(path.native())) return true;
  return false;
}

TEST(Catalog, FindsWithoutLoadingAndLoadsOnlyWhatIsUsed) {
  TempFolder folder;
  const auto scale = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  const auto layer = copy_to(folder, TITAN_TEST_SO "/test_cpp_layer.so");
  const auto noteless = copy_to(folder, TITAN_TEST_SO "/test_noteless.so");
  const Catalog catalog = scan(folder_only(folder));
  EXPECT_EQ(catalog.converter_names(),
            (std::vector<std::string>{"nothing", "scale", "scale.twice"}));
  ASSERT_EQ(catalog.find("scale").size(), 1u);
  EXPECT_EQ(catalog.without_note().size(), 1u);
  for (const auto& path : {scale, layer, noteless}) EXPECT_FALSE(is_mapped(path)) << path;

  const auto loaded =
      load_requested(catalog, {"scale.twice", "lora", "scale"}, {"lora"}, small_host());
  ASSERT_EQ(loaded.size(), 1u) << "one file, though two of its converters are used";
  EXPECT_TRUE(is_mapped(scale));
  EXPECT_FALSE(is_mapped(layer));
  EXPECT_FALSE(is_mapped(noteless));

  // In no note: only now are plugins without one loaded.
  const auto plain = load_requested(catalog, {"plain"}, {}, small_host());
  ASSERT_EQ(plain.size(), 1u);
  EXPECT_TRUE(is_mapped(noteless));
}

TEST(Catalog, MissingConverterSaysWhatWasFoundWhereAndWhy) {
  TempFolder folder;
  copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  const auto open = copy_to(folder, TITAN_TEST_SO "/test_cpp_layer.so");
  ASSERT_EQ(chmod(open.c_str(), 0777), 0);
  write_text(folder / "readme.so", "text");
  const Catalog catalog = scan(folder_only(folder));
  const Error error =
      thrown_by([&] { load_requested(catalog, {"scael"}, {"lora"}, small_host()); });
  const std::string what = error.what();
  EXPECT_EQ(error.status(), ExitStatus::kUsage);
  EXPECT_NE(what.find("there is no converter 'scael'; found: scale, scale.twice, lora"),
            std::string::npos)
      << what;
  EXPECT_NE(what.find("test_cpp_layer.so was refused: it is world-writable"), std::string::npos)
      << what;
  EXPECT_NE(what.find("readme.so was skipped: it is not an ELF file"), std::string::npos) << what;
  EXPECT_NE(error.hint().find("did you mean 'scale'"), std::string::npos) << error.hint();
  EXPECT_NE(error.where().find(folder.path().string() + " (plugins.paths)"), std::string::npos);
}

TEST(Catalog, NothingSearched) {
  const Error error = thrown_by([&] { load_requested(scan({}), {"scale"}, {}, small_host()); });
  EXPECT_NE(error.hint().find("TITAN_PLUGIN_PATH"), std::string::npos);
}

TEST(Catalog, DuplicateNamesAreReportedAndRefusedWhenUsed) {
  TempFolder folder;
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "a.so");
  const auto other = copy_to(folder, TITAN_TEST_SO "/test_scale.so", "b.so");
  std::ofstream(other, std::ios::app)
      << "another build";  // behind the last segment: loads as before
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "c.so");
  copy_to(folder, TITAN_TEST_SO "/test_cpp_layer.so");
  const Catalog catalog = scan(folder_only(folder));
  ASSERT_EQ(catalog.duplicates().size(), 2u);
  EXPECT_EQ(catalog.duplicates()[0].name, "scale");
  EXPECT_EQ(catalog.duplicates()[0].paths.size(), 2u);
  // A copy does not conflict with what it is a copy of.
  const CatalogEntry& copy = catalog.entries()[2];
  EXPECT_EQ(copy.judged.path, folder / "c.so");
  EXPECT_EQ(copy.judged.verdict.outcome, Outcome::kSkipped);
  EXPECT_EQ(copy.judged.verdict.reason, "is a copy of " + (folder / "a.so").string());
  EXPECT_EQ(load_requested(catalog, {"nothing"}, {}, small_host()).size(), 1u);
  const Error error = thrown_by([&] { load_requested(catalog, {"scale"}, {}, small_host()); });
  const std::string what = error.what();
  EXPECT_NE(what.find("/a.so"), std::string::npos);
  EXPECT_NE(what.find("/b.so"), std::string::npos);
  EXPECT_NE(what.find("[T-32]"), std::string::npos);
}

TEST(Catalog, AThousandFilesInLessThanASecond) {
  TempFolder folder;
  for (int i = 0; i < 1000; ++i)
    std::ofstream(copy_to(folder, TITAN_TEST_SO "/test_scale.so", "p" + std::to_string(i) + ".so"),
                  std::ios::app)
        << i;
  const auto start = std::chrono::steady_clock::now();
  const Catalog catalog = scan(folder_only(folder));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_EQ(catalog.entries().size(), 1000u);
  EXPECT_TRUE(catalog.entries().back().loadable());
#if defined(__SANITIZE_ADDRESS__) || !defined(__OPTIMIZE__)
  EXPECT_LT(seconds.count(), 10.0);
#else
  EXPECT_LT(seconds.count(), 1.0);
#endif
}

}  // namespace
}  // namespace titan::plugins
