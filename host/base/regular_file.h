/// A regular file opened for reading; pipes, devices and folders are refused without waiting.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace titan {

/// Read access to one file of the user. Every failure is a data error that names the path.
class RegularFile {
 public:
  /// `role` begins the messages ("token file"), `hint` is the fix when the file is not there.
  static RegularFile open(const std::filesystem::path& path, std::string_view role,
                          std::string_view hint);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&& other) noexcept;
  ~RegularFile();

  const std::filesystem::path& path() const { return path_; }
  int64_t size() const { return size_; }  ///< in bytes, when it was opened

  /// Copies `size` bytes that begin at `offset`. Why not a map: a file that shrinks while it is
  /// read ends in a message here and in SIGBUS there.
  void read(int64_t offset, void* to, int64_t size) const;

  /// All of it, read now; the caller has looked at size().
  std::string text() const;

  /// The whole file in memory, read lazily; writes stay private to this process. The map outlives
  /// this object. Null for an empty file.
  std::shared_ptr<char> map() const;

 private:
  RegularFile(std::filesystem::path path, std::string role, int descriptor, int64_t size);

  std::filesystem::path path_;
  std::string role_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace titan
