/// Verdicts on good files, and on good files in bad places.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugins/judge.h"
#include "plugins/plugin_testing.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::TempFolder;

JudgedPlugin judge_file(const std::filesystem::path& path, const JudgeOptions& options = {}) {
  return Judge(options).judge(path);
}

JudgeOptions strict() {
  JudgeOptions options;
  options.strict = true;
  return options;
}

void expect_refused(const JudgedPlugin& judged, Rule rule, const std::string& says) {
  EXPECT_EQ(judged.verdict.outcome, Outcome::kRefused);
  EXPECT_EQ(judged.verdict.rule, rule);
  EXPECT_NE(judged.verdict.reason.find(says), std::string::npos) << judged.verdict.reason;
  EXPECT_FALSE(judged.verdict.hint.empty());
}

TEST(Judge, GoodPlugins) {
  TempFolder folder;
  const JudgedPlugin scale = judge_file(copy_to(folder, TITAN_TEST_SO "/test_scale.so"));
  EXPECT_EQ(scale.verdict.outcome, Outcome::kLoadable) << scale.verdict.reason;
  EXPECT_TRUE(scale.verdict.warnings.empty());
  EXPECT_TRUE(scale.has_note());
  EXPECT_EQ(scale.description->name, "scale");
  EXPECT_EQ(scale.description->converters[0].origin, (folder / "test_scale.so").string());

  const JudgedPlugin layer = judge_file(copy_to(folder, TITAN_TEST_SO "/test_cpp_layer.so"));
  EXPECT_EQ(layer.verdict.outcome, Outcome::kLoadable) << layer.verdict.reason;
  EXPECT_EQ(layer.description->version, "0.1.0-rc.1");

  const JudgedPlugin noteless = judge_file(copy_to(folder, TITAN_TEST_SO "/test_noteless.so"));
  EXPECT_EQ(noteless.verdict.outcome, Outcome::kLoadable) << noteless.verdict.reason;
  EXPECT_FALSE(noteless.has_note());
  EXPECT_EQ(noteless.description->tier, Tier::kNone);

  const JudgedPlugin helper = judge_file(copy_to(folder, TITAN_TEST_SO "/test_helper.so"));
  EXPECT_EQ(helper.verdict.outcome, Outcome::kSkipped);
  EXPECT_FALSE(helper.description);
}

TEST(Judge, OlderPluginsLoadIntoNewerHosts) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  JudgeOptions newer;
  newer.host_level = 5;
  EXPECT_EQ(judge_file(path, newer).verdict.outcome, Outcome::kLoadable);
}

TEST(Judge, WritableByOthers) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  ASSERT_EQ(chmod(path.c_str(), 0757), 0);
  expect_refused(judge_file(path), Rule::kTrust, "world-writable (-rwxr-xrwx)");

  ASSERT_EQ(chmod(path.c_str(), 0775), 0);
  const JudgedPlugin group = judge_file(path);
  EXPECT_EQ(group.verdict.outcome, Outcome::kLoadable);
  ASSERT_EQ(group.verdict.warnings.size(), 1u);
  EXPECT_NE(group.verdict.warnings[0].find("group-writable"), std::string::npos);
  expect_refused(judge_file(path, strict()), Rule::kTrust, "group-writable");
}

TEST(Judge, FolderWritableByOthers) {
  TempFolder folder;
  std::filesystem::create_directory(folder / "open");
  std::filesystem::create_directory(folder.path() / "open" / "inner");
  copy_to(folder, TITAN_TEST_SO "/test_scale.so", "open/inner/s.so");
  const auto path = folder.path() / "open" / "inner" / "s.so";
  ASSERT_EQ(chmod((folder / "open").c_str(), 0777), 0);
  expect_refused(judge_file(path), Rule::kTrust, "open, which is world-writable (drwxrwxrwx)");
  // Reached through a link in a safe folder: where it leads counts.
  std::filesystem::create_symlink(path, folder / "link.so");
  expect_refused(judge_file(folder / "link.so"), Rule::kTrust, "world-writable");
  // Sticky, and all in it is ours: as /tmp.
  ASSERT_EQ(chmod((folder / "open").c_str(), 01777), 0);
  EXPECT_EQ(judge_file(path).verdict.outcome, Outcome::kLoadable);
}

TEST(Judge, ForeignOwner) {
  if (geteuid() != 0) {
    // Without root no file can be given away; a file of root is not foreign.
    EXPECT_TRUE(TrustCheck(true, geteuid()).check("/bin/sh", {{}, S_IFREG | 0755, 0}).empty());
    const auto findings =
        TrustCheck(false, geteuid()).check("/bin/sh", {{}, S_IFREG | 0755, geteuid() + 1});
    ASSERT_EQ(findings.size(), 1u);
    EXPECT_FALSE(findings[0].refuse);
    return;
  }
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  ASSERT_EQ(chown(path.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  const JudgedPlugin judged = judge_file(path);
  EXPECT_EQ(judged.verdict.outcome, Outcome::kLoadable);
  ASSERT_EQ(judged.verdict.warnings.size(), 1u);
  EXPECT_NE(judged.verdict.warnings[0].find("another user (uid 12345)"), std::string::npos);
  expect_refused(judge_file(path, strict()), Rule::kTrust, "another user");
  // In a sticky folder open to all, a foreign file may have been put there by anyone.
  ASSERT_EQ(chmod(folder.path().c_str(), 01777), 0);
  expect_refused(judge_file(path), Rule::kTrust, "world-writable");
}

TEST(Judge, NewerRuntimeThanThisMachines) {
  TempFolder folder;
  auto bytes = testing::read_file(TITAN_TEST_SO "/test_cpp_layer.so");
  // The C++ layer needs libc or libstdc++ symbols of some version; make that version one of the
  // future.
  const int patched = testing::patch_bytes(bytes, "GLIBCXX_3.4", "GLIBCXX_9.4") +
                      testing::patch_bytes(bytes, "GLIBC_2.", "GLIBC_9.");
  ASSERT_GT(patched, 0);
  testing::write_file(folder / "x.so", bytes);
  ASSERT_EQ(chmod((folder / "x.so").c_str(), 0755), 0);
  const JudgedPlugin judged = judge_file(folder / "x.so");
  expect_refused(judged, Rule::kLoadable, "this machine has up to GLIBC");
}

TEST(Judge, LinkerIndependentNote) {
  // Found by section when no PT_NOTE leads to it: the segments' type is wiped.
  TempFolder folder;
  auto bytes = testing::read_file(TITAN_TEST_SO "/test_scale.so");
  uint64_t table = 0;
  uint16_t count = 0;
  std::memcpy(&table, bytes.data() + 32, 8);
  std::memcpy(&count, bytes.data() + 56, 2);
  int wiped = 0;
  for (uint16_t i = 0; i < count; ++i) {
    uint32_t type = 0;
    std::memcpy(&type, bytes.data() + table + 56 * i, 4);
    if (type != 4) continue;  // PT_NOTE
    const uint32_t unused = 0;
    std::memcpy(bytes.data() + table + 56 * i, &unused, 4);
    ++wiped;
  }
  ASSERT_GT(wiped, 0);
  testing::write_file(folder / "x.so", bytes);
  EXPECT_TRUE(judge_file(folder / "x.so").has_note());
}

}  // namespace
}  // namespace titan::plugins
