/// The search order and what is reported instead of searched.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "plugins/plugin_testing.h"
#include "plugins/search.h"

namespace titan::plugins {
namespace {

using testing::TempFolder;
using testing::write_text;
namespace fs = std::filesystem;

std::vector<std::string> names(const SearchResult& result) {
  std::vector<std::string> out;
  for (const Candidate& candidate : result.candidates) out.push_back(candidate.path.filename());
  return out;
}

TEST(Search, ConfigThenEnvironmentThenInstallationEachSorted) {
  TempFolder config, environment, installed;
  for (const char* name : {"b.so", "a.so", "note.txt", ".hidden.txt", "x.so.1"})
    write_text(config / name, name);
  write_text(environment / "c.so", "c");
  write_text(environment / "single", "named by itself");
  write_text(installed / "0.so", "0");
  fs::create_directory(config / "deeper");
  write_text(config.path() / "deeper" / "z.so", "z");
  SearchOptions options;
  options.paths = {config.path()};
  options.environment = (environment / "single").string() + ":" + environment.path().string();
  options.installation = installed.path();
  const SearchResult result = search(options);
  EXPECT_EQ(names(result), (std::vector<std::string>{"a.so", "b.so", "single", "c.so", "0.so"}));
  EXPECT_EQ(result.candidates[0].origin, Origin::kConfig);
  EXPECT_EQ(result.candidates[2].origin, Origin::kEnvironment);
  EXPECT_EQ(result.candidates[4].origin, Origin::kInstallation);
  EXPECT_TRUE(result.notices.empty());
  EXPECT_EQ(result.searched.size(), 4u);
}

TEST(Search, EnvironmentComponentsThatAreNoAbsolutePathsAreReported) {
  TempFolder folder;
  write_text(folder / "a.so", "a");
  SearchOptions options;
  options.environment = ":relative/dir:" + folder.path().string() + ":/does/not/exist:";
  const SearchResult result = search(options);
  EXPECT_EQ(names(result), std::vector<std::string>{"a.so"});
  ASSERT_EQ(result.notices.size(), 4u);
  EXPECT_NE(result.notices[0].text.find("empty component"), std::string::npos);
  EXPECT_NE(result.notices[1].text.find("relative/dir"), std::string::npos);
  EXPECT_NE(result.notices[2].where.find("/does/not/exist"), std::string::npos);
  for (const SearchNotice& notice : result.notices) EXPECT_FALSE(notice.hint.empty());
}

TEST(Search, EnvironmentIsReadOnlyWithoutRaisedPrivileges) {
  SearchOptions options;
  setenv("TITAN_PLUGIN_PATH", "/some/where", 1);
  EXPECT_EQ(options.from_environment().environment, "/some/where");
  unsetenv("TITAN_PLUGIN_PATH");
  EXPECT_FALSE(options.from_environment().environment);

  options.environment_ignored = true;
  const SearchResult result = search(options);
  ASSERT_EQ(result.notices.size(), 1u);
  EXPECT_NE(result.notices[0].text.find("raised privileges"), std::string::npos);
}

TEST(Search, OneInodeIsListedOnceWithItsOtherNames) {
  TempFolder folder;
  write_text(folder / "a.so", "a");
  fs::create_hard_link(folder / "a.so", folder / "b.so");
  fs::create_symlink(folder / "a.so", folder / "c.so");
  SearchOptions options;
  options.paths = {folder.path(), folder.path(), folder / "a.so"};
  const SearchResult result = search(options);
  ASSERT_EQ(names(result), std::vector<std::string>{"a.so"});
  EXPECT_EQ(result.candidates[0].same_file,
            (std::vector<fs::path>{folder / "b.so", folder / "c.so"}));
}

TEST(Search, OddEntriesStayCandidatesForTheJudge) {
  TempFolder folder;
  fs::create_directory(folder / "dir.so");
  fs::create_symlink("loop.so", folder / "loop.so");
  fs::create_symlink("nowhere", folder / "dangling.so");
  ASSERT_EQ(mkfifo((folder / "fifo.so").c_str(), 0600), 0);
  SearchOptions options;
  options.paths = {folder.path(), folder / "dangling.so"};
  EXPECT_EQ(names(search(options)), (std::vector<std::string>{"dangling.so", "dir.so", "fifo.so",
                                                              "loop.so", "dangling.so"}));
}

TEST(Search, MissingInstallationIsQuietAndEmptyConfigEntryIsAnError) {
  SearchOptions options;
  options.installation = "/does/not/exist";
  EXPECT_TRUE(search(options).notices.empty());
  options.paths = {""};
  try {
    search(options);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::kUsage);
    EXPECT_FALSE(error.hint().empty());
  }
}

}  // namespace
}  // namespace titan::plugins
