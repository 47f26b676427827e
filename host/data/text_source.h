/// Documents of text: one file, or every *.txt of a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/regular_file.h"

namespace titan::data {

/// Each file is one document. Bytes are taken as they are; they need not be valid UTF-8.
///
/// All files are opened once at the start, so that a missing, unreadable or odd one is reported
/// before training begins. Later one file at a time is open.
class TextSource {
 public:
  /// A file, or a folder whose *.txt files are taken in the order of their names. Empty files of a
  /// folder are left out. Throws a data error that names the path; `hint` is the fix when nothing
  /// is there.
  explicit TextSource(const std::filesystem::path& path,
                      std::string_view hint =
                          "set training.dataset_path to a text file or a "
                          "folder with *.txt files");

  int64_t document_count() const { return static_cast<int64_t>(files_.size()); }
  int64_t total_bytes() const { return total_bytes_; }
  /// The path that was given.
  const std::filesystem::path& path() const { return path_; }

  RegularFile open_document(int64_t index) const;

 private:
  void add(const std::filesystem::path& file, std::string_view hint, bool empty_allowed);

  std::filesystem::path path_;
  std::vector<std::filesystem::path> files_;
  int64_t total_bytes_ = 0;
};

}  // namespace titan::data
