/// Whether someone else could replace a plugin: owners and modes of the file and of its folders.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plugins/file_bytes.h"

namespace titan::plugins {

/// "-rw-r--r--", "drwxrwxrwt".
std::string mode_text(uint32_t mode);

/// A predicate ("is group-writable"), whether it is a reason to refuse, and the cure.
struct TrustFinding {
  bool refuse = false;
  std::string text;
  std::string hint;
};

/// Remembers folders, so that a thousand files in one folder cost one look at it.
class TrustCheck {
 public:
  /// `strict` (plugins.policy: strict) turns warnings into refusals. `user` is the effective user
  /// id.
  TrustCheck(bool strict, uint32_t user) : strict_(strict), user_(user) {}

  /// World-writable refuses; group-writable or a foreign owner warns. A folder that is
  /// world-writable and sticky (/tmp) is as good as the owner of what lies in it.
  std::vector<TrustFinding> check(const std::filesystem::path& path, const FileStat& file);

 private:
  struct Folder {
    uint32_t mode = 0;
    uint32_t owner = 0;
  };
  std::optional<Folder> folder(const std::filesystem::path& path);
  bool own(uint32_t owner) const { return owner == 0 || owner == user_; }
  void check_folders(const std::filesystem::path& path, uint32_t owner_of_entry,
                     std::vector<TrustFinding>& findings);

  bool strict_;
  uint32_t user_;
  std::map<std::filesystem::path, std::optional<Folder>> folders_;
};

}  // namespace titan::plugins
