/// The texts of `titan plugins list` and `titan plugins inspect`, whole.
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <regex>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "plugins/plugin_testing.h"
#include "plugins/report.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::TempFolder;
using testing::write_text;

/// `text` with the test's own folder called "DIR".
std::string without_folder(std::string text, const TempFolder& folder) {
  const std::string path = folder.path().string();
  for (size_t at; (at = text.find(path)) != std::string::npos;)
    text.replace(at, path.size(), "DIR");
  // In a sanitized build the fixtures need the sanitizers' runtimes as well.
  return std::regex_replace(text, std::regex("needs +libasan[^\n]*\n"), "");
}

Catalog mixed_catalog(const TempFolder& folder) {
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "scale.so");
  copy_to(folder, TITAN_TEST_SO "/test_noteless.so", "plain.so");
  copy_to(folder, TITAN_TEST_SO "/test_helper.so", "helper.so");
  std::filesystem::create_symlink(folder / "scale.so", folder / "zlink.so");
  write_text(folder / "cut.so", std::string_view("\x7f"
                                                 "ELF",
                                                 4));
  SearchOptions options;
  options.paths = {folder.path()};
  return scan(options);
}

TEST(Report, ListAsText) {
  TempFolder folder;
  EXPECT_EQ(without_folder(list_text(mixed_catalog(folder)), folder),
            "CONVERTER          PLUGIN  VERSION  TIER  FILE\n"
            "(told by loading)  plain   -        none  DIR/plain.so\n"
            "scale              scale   1.2.0    none  DIR/scale.so\n"
            "scale.twice        scale   1.2.0    none  DIR/scale.so\n"
            "\n"
            "refused: DIR/cut.so is cut short: the ELF header is cut [T-33]\n"
            "  fix: copy or build the file again\n"
            "skipped: DIR/helper.so is not a titan plugin: neither a titan note nor "
            "register_converters in it "
            "[T-1]\n"
            "  fix: nothing to do if it is a helper library of a plugin\n"
            "note: DIR/zlink.so is the same file as DIR/scale.so\n"
            "searched: DIR (plugins.paths)\n");
}

TEST(Report, ListOfNothing) { EXPECT_EQ(list_text(scan({})), "no plugins found\n"); }

TEST(Report, ListAsJson) {
  TempFolder folder;
  const auto json = nlohmann::json::parse(list_json(mixed_catalog(folder)));
  ASSERT_EQ(json["plugins"].size(), 4u);
  EXPECT_EQ(json["plugins"][0]["outcome"], "refused");
  EXPECT_EQ(json["plugins"][0]["rule"], "T-33");
  EXPECT_EQ(json["plugins"][1]["outcome"], "skipped");
  EXPECT_EQ(json["plugins"][3]["converters"][0]["options"][0]["default"], 1.5);
  EXPECT_EQ(json["plugins"][3]["converters"][0]["options"][1]["required"], true);
  EXPECT_EQ(json["plugins"][3]["converters"][0]["numerics"]["sqnr_db"], 20.0);
  EXPECT_EQ(json["plugins"][3]["converters"][0]["validate_with"]["mode"], "fast");
  EXPECT_EQ(json["plugins"][3]["converters"][1].count("numerics"), 0u);
  EXPECT_EQ(json["plugins"][3]["same_file"].size(), 1u);
}

TEST(Report, InspectAsText) {
  TempFolder folder;
  const Catalog catalog = mixed_catalog(folder);
  EXPECT_EQ(without_folder(inspect_text(find_for_inspection(catalog, "scale.twice")), folder),
            "file       DIR/scale.so\n"
            "verdict    loadable, as far as the file tells; titan plugins why also tries it\n"
            "plugin     scale 1.2.0\n"
            "license    MIT\n"
            "homepage   https://scale.example\n"
            "vendor     Example\n"
            "API level  needs 1, built with 1\n"
            "tier       none\n"
            "converters\n"
            "  scale: multiplies outputs\n"
            "      factor  float      = 1.5     0.0 .. 8.0    what to multiply by\n"
            "      mode    enum       required  fast | exact\n"
            "      layers  list[int]  = [1,2]\n"
            "    numerics: sqnr_db 20.0\n"
            "    validated with mode = \"fast\"\n"
            "  scale.twice\n");
}

TEST(Report, InspectByPathAndUnknownName) {
  TempFolder folder;
  const Catalog catalog = mixed_catalog(folder);
  const JudgedPlugin cut = find_for_inspection(catalog, (folder / "cut.so").string());
  EXPECT_NE(inspect_text(cut).find("verdict  refused\n"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(inspect_json(cut))["outcome"], "refused");
  const JudgedPlugin missing = find_for_inspection(catalog, (folder / "no.so").string());
  EXPECT_NE(missing.verdict.reason.find("No such file"), std::string::npos);
  try {
    find_for_inspection(catalog, "scal");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(error.hint().find("did you mean 'scale'"), std::string::npos);
  }
}

TEST(Report, HostileFileNamesArePrintable) {
  TempFolder folder;
  write_text(folder / "a\x1b[2J\xff.so", "x");
  SearchOptions options;
  options.paths = {folder.path()};
  const Catalog catalog = scan(options);
  EXPECT_NE(list_text(catalog).find("a\\x1b[2J\\xff.so"), std::string::npos);
  EXPECT_NO_THROW(nlohmann::json::parse(list_json(catalog)));
}

}  // namespace
}  // namespace titan::plugins
