#include "observe/system_facts.h"

#include <gnu/libc-version.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace titan::observe {
namespace {

namespace fs = std::filesystem;

/// What stands behind `key` and `separator` in the first such line of a file; empty if there is
/// none.
std::string value_in(const fs::path& file, const std::string& key, char separator) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(separator);
    if (at == std::string::npos) continue;
    std::string name = line.substr(0, at), value = line.substr(at + 1);
    while (!name.empty() && (name.back() == ' ' || name.back() == '\t')) name.pop_back();
    if (name != key) continue;
    const size_t begin = value.find_first_not_of(" \t\"");
    const size_t end = value.find_last_not_of(" \t\"\r");
    return begin == std::string::npos ? "" : value.substr(begin, end - begin + 1);
  }
  return "";
}

/// The first number of a text; 0 if it is negative ("-1": no limit) or there is none ("max").
uint64_t number_of(const std::string& text) {
  std::istringstream in(text);
  int64_t number = 0;
  return in >> number && number > 0 ? static_cast<uint64_t>(number) : 0;
}

uint64_t kib_in(const fs::path& file, const std::string& key) {
  return 1024 * number_of(value_in(file, key, ':'));
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Folders of the control group of this process and of those above it, for one controller of
/// version 1
/// ("memory"), or of version 2 if `controller` is empty.
std::vector<fs::path> group_folders(const fs::path& root, const std::string& controller) {
  std::ifstream groups(root / "proc/self/cgroup");
  std::vector<fs::path> folders;
  for (std::string line; std::getline(groups, line);) {
    std::istringstream parts(line);
    std::string number, names, path;
    std::getline(parts, number, ':');
    std::getline(parts, names, ':');
    std::getline(parts, path);
    if (("," + names + ",").find("," + controller + ",") == std::string::npos) continue;
    const fs::path top = root / "sys/fs/cgroup" / controller;
    for (fs::path group = path;; group = group.parent_path()) {
      folders.push_back(top / group.relative_path());
      if (!group.has_relative_path()) break;
    }
  }
  return folders;
}

/// The least limit of the groups, which is the one that holds; 0: none.
uint64_t memory_limit(const fs::path& root, uint64_t memory_bytes) {
  uint64_t least = 0;
  const auto take = [&](const fs::path& file) {
    const uint64_t limit = number_of(first_line(file));
    // Version 1 writes a number larger than any memory for "no limit".
    if (limit > 0 && limit < memory_bytes) least = least == 0 ? limit : std::min(least, limit);
  };
  for (const fs::path& folder : group_folders(root, "")) take(folder / "memory.max");
  for (const fs::path& folder : group_folders(root, "memory"))
    take(folder / "memory.limit_in_bytes");
  return least;
}

double processor_quota(const fs::path& root) {
  double least = 0;
  const auto take = [&](double quota, double period) {
    if (quota <= 0 || period <= 0) return;
    least = least == 0 ? quota / period : std::min(least, quota / period);
  };
  for (const fs::path& folder : group_folders(root, "")) {
    std::istringstream in(first_line(folder / "cpu.max"));
    double quota = 0, period = 0;
    if (in >> quota >> period) take(quota, period);  // "max 100000": no limit
  }
  for (const fs::path& folder : group_folders(root, "cpu"))
    take(static_cast<double>(number_of(first_line(folder / "cpu.cfs_quota_us"))),
         static_cast<double>(number_of(first_line(folder / "cpu.cfs_period_us"))));
  return least;
}

}  // namespace

SystemFacts system_facts(const fs::path& root) {
  SystemFacts facts;
  facts.operating_system = value_in(root / "etc/os-release", "PRETTY_NAME", '=');
  utsname name{};
  if (uname(&name) == 0)
    facts.kernel = std::string(name.sysname) + " " + name.release + " " + name.machine;
  facts.c_library = std::string("glibc ") + gnu_get_libc_version();
  facts.processor = value_in(root / "proc/cpuinfo", "model name", ':');
  facts.processors = sysconf(_SC_NPROCESSORS_ONLN);
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  facts.processors_allowed =
      sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : facts.processors;
  facts.processor_quota = processor_quota(root);
  const fs::path memory = root / "proc/meminfo";
  facts.memory_bytes = kib_in(memory, "MemTotal");
  facts.memory_available_bytes = kib_in(memory, "MemAvailable");
  facts.swap_bytes = kib_in(memory, "SwapTotal");
  facts.swap_free_bytes = kib_in(memory, "SwapFree");
  facts.memory_limit_bytes = memory_limit(root, facts.memory_bytes);
  return facts;
}

DiskSpace disk_space(const fs::path& folder) {
  DiskSpace space;
  std::error_code error;
  fs::path at = fs::absolute(folder, error).lexically_normal();
  while (at.has_relative_path() && !fs::exists(at, error)) at = at.parent_path();
  struct statvfs info {};
  if (statvfs(at.c_str(), &info) != 0) return space;
  space.measured = at;
  space.total_bytes = uint64_t{info.f_blocks} * info.f_frsize;
  space.free_bytes = uint64_t{info.f_bavail} * info.f_frsize;
  // Some file systems count no inodes at all.
  space.no_inodes = info.f_files > 0 && info.f_favail == 0;
  space.writable = fs::is_directory(at, error) && access(at.c_str(), W_OK | X_OK) == 0;
  return space;
}

}  // namespace titan::observe
