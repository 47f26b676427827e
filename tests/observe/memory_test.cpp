/// Peak memory: rises with what is touched, and is not that of whoever started the process.
#include "observe/memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace titan::observe {
namespace {

/// Touched memory, so that it is resident.
std::unique_ptr<char[]> touched(size_t bytes) {
  std::unique_ptr<char[]> block(new char[bytes]);
  // Through a volatile pointer: memory that nobody reads is otherwise never written.
  volatile char* data = block.get();
  for (size_t i = 0; i < bytes; i += 1024) data[i] = 1;
  return block;
}

TEST(MemoryTest, PeakStaysAfterMemoryIsFreed) {
  const uint64_t before = peak_resident_bytes();
  EXPECT_GT(before, uint64_t{1} << 20);
  constexpr size_t kBytes = size_t{256} << 20;
  touched(kBytes).reset();
  EXPECT_GE(peak_resident_bytes(), kBytes);
  EXPECT_LT(peak_resident_bytes(), before + kBytes + (size_t{64} << 20));
}

TEST(MemoryTest, PeakIsNotInheritedFromTheParent) {
  if (const char* parent_peak = std::getenv("TITAN_TEST_PARENT_PEAK")) {
    EXPECT_LT(peak_resident_bytes(), std::strtoull(parent_peak, nullptr, 10) / 2);
    return;
  }
  const auto block = touched(size_t{256} << 20);
  setenv("TITAN_TEST_PARENT_PEAK", std::to_string(peak_resident_bytes()).c_str(), 1);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      "exec '" + self + "' --gtest_filter=MemoryTest.PeakIsNotInheritedFromTheParent >/dev/null";
  EXPECT_EQ(std::system(command.c_str()), 0);
  unsetenv("TITAN_TEST_PARENT_PEAK");
}

}  // namespace
}  // namespace titan::observe
