/// Where the dynamic loader would find a library, told without loading anything.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace titan::plugins {

/// Looks where glibc's loader looks (ld.so(8)): what this process has mapped, RPATH or RUNPATH of
/// the file, LD_LIBRARY_PATH, /etc/ld.so.cache, the standard folders. One object per scan.
class LibraryFinder {
 public:
  /// Whether `name` ("libfoo.so.3", or a path with '/') is somewhere. `runpath` is the file's own,
  /// with colons; $ORIGIN stands for `origin`, the folder of the file. True when it cannot be told.
  bool can_find(std::string_view name, std::string_view runpath, std::string_view origin);
  /// Where it was looked for: "RUNPATH ($ORIGIN/lib), LD_LIBRARY_PATH and the loader's cache".
  static std::string places(std::string_view runpath);

 private:
  /// Names in the loader's cache; nothing if it cannot be read.
  const std::optional<std::set<std::string, std::less<>>>& cached_names();
  bool read_cache_ = false;
  std::optional<std::set<std::string, std::less<>>> cache_;
};

}  // namespace titan::plugins
