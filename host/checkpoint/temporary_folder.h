/// A folder that appears under its name only when everything in it is complete.
#pragma once

#include <filesystem>
#include <string_view>

namespace titan::checkpoint {

/// Makes the folder, after removing what was there, and removes it again at its end unless it got
/// another name. Failures are environment errors that name the path.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::filesystem::path path);
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A new folder `target`: a hidden one beside it takes the files, publish() gives it the name.
/// Those of processes that are no more are removed.
class NewFolder {
 public:
  /// A usage error if there is anything under that name already.
  explicit NewFolder(const std::filesystem::path& target);
  const std::filesystem::path& path() const { return temporary_.path(); }
  /// Makes it durable. A usage error, and nothing replaced, if the name was taken meanwhile.
  void publish();

 private:
  std::filesystem::path target_;
  TemporaryFolder temporary_;
};

/// Writes a small file as a whole (see AtomicFile).
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace titan::checkpoint
