/// Facts about the machine, from files that a test can write.
#include "observe/system_facts.h"

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::ScratchFolder;

TEST(SystemFactsTest, ReadsTheFilesOfTheKernel) {
  ScratchFolder root;
  root.write("etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2GHz: fast\n");
  root.write(
      "proc/meminfo",
      "MemTotal:       1000 kB\nMemAvailable:    400 kB\nSwapTotal:   20 kB\nSwapFree:    10 kB\n");
  const SystemFacts facts = system_facts(root.path());
  EXPECT_EQ(facts.operating_system, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(facts.processor, "Some CPU @ 2GHz: fast");
  EXPECT_EQ(facts.memory_bytes, 1024000u);
  EXPECT_EQ(facts.memory_available_bytes, 409600u);
  EXPECT_EQ(facts.swap_bytes, 20480u);
  EXPECT_EQ(facts.swap_free_bytes, 10240u);
  EXPECT_EQ(facts.memory_limit_bytes, 0u);
  EXPECT_EQ(facts.processor_quota, 0);
  EXPECT_GE(facts.processors_allowed, 1);
  EXPECT_EQ(facts.c_library.rfind("glibc 2.", 0), 0u);
  EXPECT_EQ(facts.kernel.rfind("Linux ", 0), 0u);
}

TEST(SystemFactsTest, TheTightestControlGroupCounts) {
  ScratchFolder root;
  root.write("proc/meminfo", "MemTotal: 1000000 kB\n");
  root.write("proc/self/cgroup", "0::/user/job\n");
  root.write("sys/fs/cgroup/user/job/memory.max", "max\n");
  root.write("sys/fs/cgroup/user/memory.max", "500000000\n");
  root.write("sys/fs/cgroup/memory.max", "700000000\n");
  root.write("sys/fs/cgroup/user/job/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/user/cpu.max", "150000 100000\n");
  const SystemFacts facts = system_facts(root.path());
  EXPECT_EQ(facts.memory_limit_bytes, 500000000u);
  EXPECT_EQ(facts.processor_quota, 1.5);
}

TEST(SystemFactsTest, ControlGroupsOfVersion1) {
  ScratchFolder root;
  root.write("proc/meminfo", "MemTotal: 1000000 kB\n");
  root.write("proc/self/cgroup", "9:memory:/job\n3:cpu,cpuacct:/\n1:name=systemd:/\n");
  root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "300000000\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n");
  root.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  SystemFacts facts = system_facts(root.path());
  EXPECT_EQ(facts.memory_limit_bytes, 300000000u);
  EXPECT_EQ(facts.processor_quota, 0.5);
  root.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(system_facts(root.path()).processor_quota, 0) << "no limit";
}

TEST(SystemFactsTest, NothingThereIsNothingKnown) {
  ScratchFolder root;
  const SystemFacts facts = system_facts(root.path());
  EXPECT_EQ(facts.operating_system, "");
  EXPECT_EQ(facts.memory_bytes, 0u);
  EXPECT_GE(facts.processors, 1);
}

TEST(DiskSpaceTest, OfAFolderThatIsNotThereYet) {
  ScratchFolder folder;
  const DiskSpace space = disk_space(folder / "not/yet/there");
  EXPECT_EQ(space.measured, std::filesystem::path(folder.path()));
  EXPECT_GT(space.total_bytes, space.free_bytes);
  EXPECT_TRUE(space.writable);
  EXPECT_FALSE(disk_space(folder.write("file", "x") / "below").writable) << "a file is no folder";
}

}  // namespace
}  // namespace titan::observe
