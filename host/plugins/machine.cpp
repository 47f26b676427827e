/// Finds mapped libraries by name and reads their version definitions.
#include "plugins/machine.h"

#include <link.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "plugins/elf_file.h"
#include "plugins/file_bytes.h"

namespace titan::plugins {
namespace {

/// The path of the mapped library whose file name is `name`; empty if there is none.
std::string mapped_library(std::string_view name) {
  struct Query {
    std::string_view name;
    std::string path;
  } query{name, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto& wanted = *static_cast<Query*>(data);
        const std::string_view path = info->dlpi_name ? info->dlpi_name : "";
        if (path.substr(path.rfind('/') + 1) != wanted.name) return 0;
        wanted.path = path;
        return 1;
      },
      &query);
  return query.path;
}

/// "GLIBCXX_3.4.30" -> {3, 4, 30}; empty if the part behind the last '_' is not a version.
std::vector<int64_t> version_parts(std::string_view version) {
  std::vector<int64_t> parts;
  const std::string_view digits = version.substr(version.rfind('_') + 1);
  int64_t part = -1;
  for (const char c : digits) {
    if (c >= '0' && c <= '9' && part < 1'000'000) {
      part = std::max<int64_t>(part, 0) * 10 + (c - '0');
    } else if (c == '.' && part >= 0) {
      parts.push_back(part);
      part = -1;
    } else {
      return {};
    }
  }
  if (part < 0) return {};
  parts.push_back(part);
  return parts;
}

}  // namespace

const std::set<std::string>& MachineVersions::versions_of(std::string_view library) {
  const auto known = known_.find(library);
  if (known != known_.end()) return known->second;
  std::set<std::string>& versions = known_[std::string(library)];
  const std::string path = mapped_library(library);
  if (path.empty()) return versions;
  const OpenedFile file = open_regular_file(path);
  if (!file.problem.empty()) return versions;
  try {
    const std::vector<std::byte> bytes = read_bytes(file, path);
    for (const std::string_view version : parse_elf(bytes).version_definitions)
      versions.emplace(version);
  } catch (const Error&) {
    versions.clear();  // unreadable: then only loading can tell
  }
  return versions;
}

std::optional<MachineVersions::Missing> MachineVersions::missing(std::string_view library,
                                                                 std::string_view version) {
  const std::set<std::string>& here = versions_of(library);
  if (here.empty() || here.count(std::string(version))) return std::nullopt;
  Missing result;
  const std::string_view family = version.substr(0, version.rfind('_') + 1);
  for (const std::string& candidate : here)
    if (candidate.starts_with(family) && version_parts(candidate) > version_parts(result.newest))
      result.newest = candidate;
  return result;
}

}  // namespace titan::plugins
