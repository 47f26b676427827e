/// The order of versions, and why a plugin or converter cannot be used.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "plugins/availability.h"
#include "plugins/plugin_testing.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::TempFolder;
using testing::write_text;

PluginVersion parsed_version(std::string_view text) {
  const auto version = PluginVersion::parse(text);
  EXPECT_TRUE(version) << text;
  return version.value_or(*PluginVersion::parse("0"));
}

TEST(PluginVersions, AreOrderedAsSemanticVersioningSays) {
  const std::vector<std::string> ascending = {"0.0.1",
                                              "0.2.0-rc.1",
                                              "0.2",
                                              "0.10.0",
                                              "1.0.0-0",
                                              "1.0.0-alpha",
                                              "1.0.0-alpha.1",
                                              "1.0.0-alpha.beta",
                                              "1.0.0-beta",
                                              "1.0.0-beta.2",
                                              "1.0.0-beta.11",
                                              "1.0.0-rc.1",
                                              "1.0.0",
                                              "1.0.1-x",
                                              "1.0.1",
                                              "2",
                                              "9.0.0",
                                              "10.0.0",
                                              "123456789012345678901234567890.0.0"};
  for (size_t i = 0; i < ascending.size(); ++i)
    for (size_t j = 0; j < ascending.size(); ++j)
      EXPECT_EQ(parsed_version(ascending[i]) <=> parsed_version(ascending[j]), i <=> j)
          << ascending[i] << " and " << ascending[j];
}

TEST(PluginVersions, BuildsAndMissingPartsCountAsNothing) {
  EXPECT_EQ(parsed_version("1.2.0+linux"), parsed_version("1.2"));
  EXPECT_EQ(parsed_version("1.2.0-rc.1+a-b"), parsed_version("1.2.0-rc.1"));
  EXPECT_EQ(parsed_version("1"), parsed_version("1.0.0"));
}

TEST(PluginVersions, OtherTextIsNone) {
  for (const char* text : {"", "x", "v1.0", "1.", ".1", "1..2", "1.2.3.4", "1.2.3-", "1.2.3+",
                           "1.2.3-a..b", "1.2.3-a+", "1.2.3 ", "-1", "1.2.3-\xc3\xa4", "1.2.3-a_b"})
    EXPECT_FALSE(PluginVersion::parse(text)) << text;
}

Catalog catalog_of(const TempFolder& folder) {
  SearchOptions options;
  options.paths = {folder.path()};
  return scan(options);
}

TEST(Availability, ByNameOfPluginOrConverter) {
  TempFolder folder;
  copy_to(folder, TITAN_TEST_SO "/test_scale.so",
          "scale.so");  // scale 1.2.0 with scale and scale.twice
  const Catalog catalog = catalog_of(folder);
  EXPECT_EQ(why_unavailable(catalog, "scale"), "");
  EXPECT_EQ(why_unavailable(catalog, "scale.twice"), "");
  EXPECT_EQ(why_unavailable(catalog, "scale", PluginVersion::parse("1.2")), "");
  EXPECT_EQ(why_unavailable(catalog, "scale.twice", PluginVersion::parse("1.2.1-rc.1")),
            "too old: found only scale 1.2.0 (" + (folder / "scale.so").string() + ")");
  EXPECT_EQ(why_unavailable(catalog, "scall"),
            "no plugin or converter is called 'scall'; did you mean 'scale'? searched " +
                folder.path().string() + " (plugins.paths)");
}

TEST(Availability, WhatCannotBeUsedIsNotThere) {
  TempFolder folder;
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "scale.so");
  ASSERT_EQ(chmod((folder / "scale.so").c_str(), 0666), 0);
  EXPECT_NE(why_unavailable(catalog_of(folder), "scale").find("scale.so is refused: it "),
            std::string::npos);
  EXPECT_NE(why_unavailable(catalog_of(folder), "other").find("1 refused, see titan plugins list"),
            std::string::npos);
  ASSERT_EQ(chmod((folder / "scale.so").c_str(), 0644), 0);
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "twin.so");
  std::ofstream(folder / "twin.so", std::ios::app) << "another file";
  const std::string twice = why_unavailable(catalog_of(folder), "scale");
  EXPECT_NE(twice.find("several files"), std::string::npos) << twice;
  EXPECT_EQ(twice.find('\n'), std::string::npos);
}

TEST(Availability, WithoutANoteTheVersionIsUnknown) {
  TempFolder folder;
  copy_to(folder, TITAN_TEST_SO "/test_noteless.so", "plain.so");
  const Catalog catalog = catalog_of(folder);
  EXPECT_EQ(why_unavailable(catalog, "plain"), "");
  EXPECT_EQ(why_unavailable(catalog, "plain", PluginVersion::parse("0.0.1")),
            "too old: found only plain without a version (" + (folder / "plain.so").string() + ")");
}

}  // namespace
}  // namespace titan::plugins
