/// What users see of an error, and its exit status.
#include "base/error.h"

#include <gtest/gtest.h>

namespace titan {
namespace {

TEST(Error, RendersWhatWhereAndFix) {
  const Error error = usage_error("unknown key 'lrr'", "debug.yaml:12:3", "did you mean 'lr'?");
  EXPECT_EQ(error.render(),
            "error: unknown key 'lrr'\n"
            "  at: debug.yaml:12:3\n"
            "  fix: did you mean 'lr'?\n");
  EXPECT_STREQ(error.what(), "unknown key 'lrr'");
}

TEST(Error, LeavesOutEmptyParts) {
  EXPECT_EQ(usage_error("no", "", "").render(), "error: no\n");
  EXPECT_EQ(usage_error("no", "here", "").render(), "error: no\n  at: here\n");
}

TEST(Error, ShorthandsCarryTheDocumentedStatus) {
  EXPECT_EQ(usage_error("a", "b", "c").status(), ExitStatus::kUsage);
  EXPECT_EQ(data_error("a", "b", "c").status(), ExitStatus::kData);
  EXPECT_EQ(environment_error("a", "b", "c").status(), ExitStatus::kEnvironment);
  EXPECT_EQ(plugin_error("a", "b", "c").status(), ExitStatus::kPlugin);
  EXPECT_EQ(internal_error("a").status(), ExitStatus::kInternal);
}

TEST(Error, StatusNumbersNeverChange) {
  EXPECT_EQ(static_cast<int>(ExitStatus::kDone), 0);
  EXPECT_EQ(static_cast<int>(ExitStatus::kInternal), 1);
  EXPECT_EQ(static_cast<int>(ExitStatus::kUsage), 2);
  EXPECT_EQ(static_cast<int>(ExitStatus::kEnvironment), 3);
  EXPECT_EQ(static_cast<int>(ExitStatus::kData), 4);
  EXPECT_EQ(static_cast<int>(ExitStatus::kDiverged), 5);
  EXPECT_EQ(static_cast<int>(ExitStatus::kPlugin), 6);
}

TEST(Error, InternalErrorsAskForAReport) {
  EXPECT_NE(internal_error("a", "b").hint().find("report"), std::string::npos);
}

}  // namespace
}  // namespace titan
