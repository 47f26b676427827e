/// The files that a path of the config means.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace titan::data {

/// A file; a folder, of which the files with one of `endings` (or that and .zst) are taken, by
/// name; or a pattern with * ? [..] as shells have them (glob(7)). Throws a data error that names
/// the path if that gives no file; `hint` says how to mend it. Entries of a folder that are passed
/// over are said in a warning; of what is taken nothing is opened yet.
std::vector<std::filesystem::path> data_files(const std::filesystem::path& path,
                                              const std::vector<std::string>& endings,
                                              std::string_view hint);

/// Whether a name ends in `ending`, or in that and .zst or .zstd.
bool has_ending(const std::filesystem::path& path, std::string_view ending);

}  // namespace titan::data
