/// Looks at the file and at every folder above it, through links.
#include "plugins/trust.h"

#include <sys/stat.h>

#include <system_error>

#include "base/printable.h"

namespace titan::plugins {
std::string mode_text(uint32_t mode) {
  std::string text = S_ISDIR(mode) ? "d" : "-";
  for (int shift = 6; shift >= 0; shift -= 3) {
    text += mode >> shift & 4 ? 'r' : '-';
    text += mode >> shift & 2 ? 'w' : '-';
    text += mode >> shift & 1 ? 'x' : '-';
  }
  if (mode & S_ISVTX) text.back() = mode & 1 ? 't' : 'T';
  return text;
}

std::optional<TrustCheck::Folder> TrustCheck::folder(const std::filesystem::path& path) {
  const auto known = folders_.find(path);
  if (known != folders_.end()) return known->second;
  std::optional<Folder> found;
  struct stat status {};
  if (stat(path.c_str(), &status) == 0) found = Folder{status.st_mode, status.st_uid};
  return folders_[path] = found;
}

void TrustCheck::check_folders(const std::filesystem::path& path, uint32_t owner_of_entry,
                               std::vector<TrustFinding>& findings) {
  std::filesystem::path inner = path;
  bool nearest = true;
  for (std::filesystem::path at = path.parent_path();; at = at.parent_path()) {
    const auto found = folder(at);
    const std::string shown = printable_path(at.native());
    if (!found) {
      findings.push_back(
          {true, "is in " + shown + ", which cannot be examined", "make that folder readable"});
      return;
    }
    if (found->mode & S_IWOTH) {
      const bool sticky = (found->mode & S_ISVTX) != 0;
      if (!sticky || !own(owner_of_entry)) {
        findings.push_back({true,
                            "is in " + shown + ", which is world-writable (" +
                                mode_text(found->mode) + "): anyone may replace it",
                            "chmod o-w " + shell_path(at.native()) +
                                ", or move the plugin to a folder of your own"});
        return;
      }
    } else if (nearest && (found->mode & S_IWGRP)) {
      findings.push_back(
          {strict_, "is in " + shown + ", which is group-writable (" + mode_text(found->mode) + ")",
           "chmod g-w " + shell_path(at.native())});
    }
    if (!own(found->owner) && nearest)
      findings.push_back({strict_,
                          "is in " + shown + ", which belongs to another user (uid " +
                              std::to_string(found->owner) + ")",
                          "move the plugin to a folder of your own"});
    owner_of_entry = found->owner;
    nearest = false;
    if (at == at.parent_path()) return;
  }
}

std::vector<TrustFinding> TrustCheck::check(const std::filesystem::path& path,
                                            const FileStat& file) {
  std::vector<TrustFinding> findings;
  const std::string shown = printable_path(path.native());
  if (file.mode & S_IWOTH)
    findings.push_back({true,
                        "is world-writable (" + mode_text(file.mode) + "): anyone may change it",
                        "chmod o-w " + shell_path(path.native())});
  else if (file.mode & S_IWGRP)
    findings.push_back({strict_, "is group-writable (" + mode_text(file.mode) + ")",
                        "chmod g-w " + shell_path(path.native())});
  if (!own(file.owner))
    findings.push_back({strict_, "belongs to another user (uid " + std::to_string(file.owner) + ")",
                        "install a copy of your own"});
  // The name that was given and, if it is a link, where it leads: both can be tampered with.
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  if (error) {
    findings.push_back({true, "has no real path: " + error.message(), "check the path"});
    return findings;
  }
  check_folders(real, file.owner, findings);
  if (real != path) {
    struct stat entry {};
    if (lstat(path.c_str(), &entry) == 0) check_folders(path, entry.st_uid, findings);
  }
  return findings;
}

}  // namespace titan::plugins
