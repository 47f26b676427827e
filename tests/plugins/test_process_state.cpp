#include "plugins/process_state.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <thread>

namespace titan::plugins {
namespace {

TEST(ProcessState, AUmaskThatChangesIsNamedAndPutBack) {
  const mode_t before = umask(027);
  {
    const ProcessState state;
    umask(0);
    EXPECT_EQ(state.restore(), "the umask");
    EXPECT_EQ(file_mode_mask(), mode_t{027});
    EXPECT_EQ(state.restore(), "");
  }
  umask(before);
}

TEST(ProcessState, LookingFromTwoThreadsChangesNothing) {
  const mode_t before = umask(027);
  std::atomic<int> wrong = 0;
  const auto look = [&] {
    for (int i = 0; i < 2000; ++i) {
      const ProcessState state;
      if (!state.restore().empty()) ++wrong;
    }
  };
  std::thread other(look);
  look();
  other.join();
  umask(before);
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace titan::plugins
