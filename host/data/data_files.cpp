#include "data/data_files.h"

#include <glob.h>

#include <algorithm>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/text_list.h"
#include "data/input_file.h"

namespace titan::data {
namespace fs = std::filesystem;

bool has_ending(const fs::path& path, std::string_view ending) {
  if (path.extension() == ending) return true;
  return InputFile::is_compressed_name(path) && path.stem().extension() == ending;
}

namespace {

/// Anything but a folder is kept: a pipe called x.txt is reported when it is opened, not passed
/// over.
std::vector<fs::path> files_in_folder(const fs::path& folder,
                                      const std::vector<std::string>& endings,
                                      std::string_view hint) {
  const auto wanted = [&](const fs::path& path) {
    return std::any_of(endings.begin(), endings.end(),
                       [&](const std::string& ending) { return has_ending(path, ending); });
  };
  const std::string kinds = joined(endings, " or *");
  std::vector<fs::path> files;
  int64_t passed_over = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (wanted(it->path()) && !it->is_directory(ignored))
      files.push_back(it->path());
    else
      ++passed_over;
  }
  if (error)
    throw data_error("the folder '" + folder.string() + "' cannot be listed: " + error.message(),
                     folder.string(), "give this user read permission for the folder");
  if (files.empty())
    throw data_error("the folder '" + folder.string() + "' holds no *" + kinds + " file",
                     folder.string(), std::string(hint));
  std::sort(files.begin(), files.end());
  if (passed_over > 0)
    log_warning("folder " + folder.string() + ": " + std::to_string(files.size()) + " files (*" +
                kinds + ") are read, " + std::to_string(passed_over) +
                " other entries (folders too) are passed over");
  return files;
}

/// Sorted by the bytes of their names, whatever the locale.
std::vector<fs::path> files_of_pattern(const fs::path& pattern, std::string_view hint) {
  glob_t found = {};
  const int status = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<fs::path> files;
  for (size_t i = 0; status == 0 && i < found.gl_pathc; ++i) {
    std::error_code ignored;
    if (!fs::is_directory(found.gl_pathv[i], ignored)) files.emplace_back(found.gl_pathv[i]);
  }
  ::globfree(&found);
  if (files.empty())
    throw data_error("no file matches '" + pattern.string() + "'", pattern.string(),
                     std::string(hint));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<fs::path> data_files(const fs::path& path, const std::vector<std::string>& endings,
                                 std::string_view hint) {
  std::error_code error;
  if (fs::is_directory(path, error)) return files_in_folder(path, endings, hint);
  // A file whose name holds a bracket is that file.
  if (path.string().find_first_of("*?[") != std::string::npos && !fs::exists(path, error))
    return files_of_pattern(path, hint);
  return {path};
}

}  // namespace titan::data
