/// A file of the user read from front to back, plain or compressed with Zstandard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/regular_file.h"

struct ZSTD_DCtx_s;

namespace titan::data {

/// Names that end in .zst or .zstd are decompressed while they are read, with memory for one window
/// of Zstandard (8 MiB for the usual levels, 128 MiB at most). Content that begins as another
/// format does (gzip, Parquet, UTF-16, ...) is refused. Failures are data errors that name the
/// path.
class InputFile {
 public:
  /// `role` begins messages ("text file"), `hint` is the fix when the file is not there.
  InputFile(const std::filesystem::path& path, std::string_view role, std::string_view hint);
  InputFile(InputFile&&) noexcept = default;
  InputFile& operator=(InputFile&&) noexcept = default;

  const std::filesystem::path& path() const { return file_.path(); }
  int64_t stored_bytes() const { return file_.size(); }  ///< on disk
  int64_t bytes_read() const { return file_at_; }        ///< on disk, up to where it was read
  bool compressed() const { return decompressor_ != nullptr; }
  /// Length of the byte-order mark of UTF-8 that the content begins with; read() does not skip it.
  int64_t mark_bytes() const { return mark_bytes_; }

  /// Copies up to `size` bytes of the content that begin at `offset`; fewer only at its end. Going
  /// back in a compressed file means to begin anew, going ahead to decompress what lies between.
  int64_t read(int64_t offset, char* to, int64_t size);

  /// Whether this file name says that the content is compressed.
  static bool is_compressed_name(const std::filesystem::path& path);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const;
  };
  void restart();
  /// Decompresses up to `size` bytes into `to`; fewer only at the end.
  int64_t decompress(char* to, int64_t size);
  [[noreturn]] void damaged(const std::string& what) const;

  RegularFile file_;
  std::unique_ptr<ZSTD_DCtx_s, Free> decompressor_;
  std::vector<char> input_;  ///< compressed bytes
  size_t input_at_ = 0;      ///< next of them
  size_t input_end_ = 0;
  int64_t file_at_ = 0;      ///< compressed: next byte of the file to go into input_
  int64_t mark_bytes_ = 0;   ///< 3 or 0
  int64_t content_at_ = 0;   ///< next byte of the content
  bool frame_open_ = false;  ///< the last frame is not at its end
};

}  // namespace titan::data
