#include "checkpoint/temporary_folder.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.h"
#include "checkpoint/atomic_file.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

Error taken(const fs::path& target) {
  return usage_error("'" + target.string() + "' is there already; nothing is overwritten",
                     target.string(), "choose another folder, or move this one away");
}

/// Without a slash at its end, which would make the name empty.
fs::path checked_target(const fs::path& given) {
  const fs::path target = given.has_filename() ? given : given.parent_path();
  std::error_code error;
  if (target.empty())
    throw usage_error("the folder to write has no name", "--output", "--output FOLDER");
  if (fs::exists(fs::symlink_status(target, error))) throw taken(target);
  return fs::absolute(target);
}

fs::path hidden_beside(const fs::path& target) {
  const std::string prefix = "." + target.filename().string() + ".writing-";
  // What a process that was killed has left there.
  std::error_code error;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(target.parent_path(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    pid_t writer = 0;
    if (!name.starts_with(prefix) ||
        std::from_chars(name.data() + prefix.size(), name.data() + name.size(), writer).ptr !=
            name.data() + name.size())
      continue;
    if (writer > 0 && ::kill(writer, 0) != 0 && errno == ESRCH) left.push_back(entry->path());
  }
  for (const fs::path& path : left) fs::remove_all(path, error);
  return target.parent_path() / (prefix + std::to_string(getpid()));
}

}  // namespace

TemporaryFolder::TemporaryFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  fs::remove_all(path_, error);
  fs::create_directories(path_, error);
  if (error) throw cannot_write_file(path_, error.value());
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

NewFolder::NewFolder(const fs::path& target)
    : target_(checked_target(target)), temporary_(hidden_beside(target_)) {}

void NewFolder::publish() {
  sync_folder(temporary_.path());
  if (::renameat2(AT_FDCWD, temporary_.path().c_str(), AT_FDCWD, target_.c_str(),
                  RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST) throw taken(target_);
    // A file system without that flag: look, then rename.
    std::error_code error;
    if (errno != EINVAL && errno != ENOSYS) throw cannot_write_file(target_, errno);
    if (fs::exists(fs::symlink_status(target_, error))) throw taken(target_);
    fs::rename(temporary_.path(), target_, error);
    if (error) throw cannot_write_file(target_, error.value());
  }
  sync_folder(target_.parent_path());
}

void write_text(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  file.commit();
}

}  // namespace titan::checkpoint
