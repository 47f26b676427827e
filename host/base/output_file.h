/// What a command may replace when the user names a file to write.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace titan {

/// The same for every path, link or hard link to one file.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  auto operator<=>(const FileIdentity&) const = default;
};

/// Of the file behind links; nothing if there is none, or none that this user can see.
std::optional<FileIdentity> file_identity(const std::filesystem::path& path);

/// Throws a usage error unless `path` is free or a regular file: a folder, a pipe, a socket, a
/// device, also behind a link, and a link to nothing. Opens nothing, so a pipe is not waited for.
/// `where` is the command or option that named it. Returns whether a file is there.
bool check_output_path(const std::filesystem::path& path, const std::string& where);

}  // namespace titan
