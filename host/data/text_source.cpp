#include "data/text_source.h"

#include <algorithm>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace titan::data {
namespace fs = std::filesystem;

namespace {

/// The *.txt entries of a folder by name. Anything but a folder is kept (a pipe called x.txt is
/// reported when it is opened, not passed over).
std::vector<fs::path> text_files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  int64_t passed_over = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".txt" && !it->is_directory(ignored))
      files.push_back(it->path());
    else
      ++passed_over;
  }
  if (error)
    throw data_error(
        "the text folder '" + folder.string() + "' cannot be listed: " + error.message(),
        folder.string(), "give this user read permission for the folder");
  std::sort(files.begin(), files.end());
  if (passed_over > 0 && !files.empty())
    log_warning("text folder " + folder.string() + ": " + std::to_string(files.size()) +
                " files end in .txt and are read, " + std::to_string(passed_over) +
                " other entries (folders too) are passed over");
  return files;
}

}  // namespace

TextSource::TextSource(const fs::path& path, std::string_view hint) : path_(path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    add(path, hint, /*empty_allowed=*/false);
    return;
  }
  const std::vector<fs::path> files = text_files_of(path);
  if (files.empty())
    throw data_error("the text folder '" + path.string() + "' holds no *.txt file", path.string(),
                     "put text files that end in .txt into the folder, or name a single file");
  for (const fs::path& file : files) add(file, hint, /*empty_allowed=*/true);
  if (files_.empty())
    throw data_error("every *.txt file of '" + path.string() + "' is empty", path.string(),
                     "put text into the files, or name another folder");
}

void TextSource::add(const fs::path& path, std::string_view hint, bool empty_allowed) {
  const RegularFile file = RegularFile::open(path, "text file", hint);
  if (file.size() == 0) {
    if (empty_allowed) return;
    throw data_error("the text file '" + path.string() + "' is empty", path.string(),
                     "name a file that holds text");
  }
  files_.push_back(path);
  total_bytes_ += file.size();
}

RegularFile TextSource::open_document(int64_t index) const {
  return RegularFile::open(files_.at(static_cast<size_t>(index)), "text file",
                           "it was there when the run began: keep the data in place");
}

}  // namespace titan::data
