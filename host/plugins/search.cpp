/// Walks the search order; opens no candidate.
#include "plugins/search.h"

#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace titan::plugins {
namespace {

namespace fs = std::filesystem;

constexpr char kPathVariable[] = "TITAN_PLUGIN_PATH";

class SearchWalk {
 public:
  void add(const fs::path& path, Origin origin, bool may_be_missing);
  void note(std::string where, std::string text, std::string hint) {
    result_.notices.push_back({std::move(where), std::move(text), std::move(hint), Rule::kTrust});
  }
  SearchResult take() { return std::move(result_); }

 private:
  void add_folder(const fs::path& folder, Origin origin);
  void add_file(const fs::path& file, Origin origin);

  SearchResult result_;
  std::set<fs::path> seen_paths_;
  std::map<std::pair<dev_t, ino_t>, size_t> seen_files_;
  std::map<std::pair<dev_t, ino_t>, bool> seen_folders_;
};

void SearchWalk::add(const fs::path& path, Origin origin, bool may_be_missing) {
  const std::string shown = printable_path(path.native());
  // Naming a place twice changes nothing: the first one counts.
  if (!seen_paths_.insert(path).second) return;
  result_.searched.push_back(shown + " (" + origin_name(origin) + ")");
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) {
    const int code = errno;
    struct stat link {};
    if (lstat(path.c_str(), &link) == 0)
      return add_file(path, origin);  // a broken link: judged as a file
    if (may_be_missing && code == ENOENT) return;
    note(shown, std::string("cannot be searched: ") + std::generic_category().message(code),
         "correct or remove it from " + origin_name(origin));
    return;
  }
  if (!S_ISDIR(found.st_mode)) return add_file(path, origin);
  if (seen_folders_[{found.st_dev, found.st_ino}]) return;
  seen_folders_[{found.st_dev, found.st_ino}] = true;
  add_folder(path, origin);
}

void SearchWalk::add_folder(const fs::path& folder, Origin origin) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".so") files.push_back(entry->path());
  if (error)
    note(printable_path(folder.native()), "cannot be listed: " + error.message(),
         "make the folder readable or remove it from " + origin_name(origin));
  // Sorted, so that every rank and every machine sees one order.
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) add_file(file, origin);
}

void SearchWalk::add_file(const fs::path& file, Origin origin) {
  struct stat found {};
  if (stat(file.c_str(), &found) == 0) {
    const auto [known, is_new] =
        seen_files_.try_emplace({found.st_dev, found.st_ino}, result_.candidates.size());
    if (!is_new) {
      Candidate& first = result_.candidates[known->second];
      if (first.path != file) first.same_file.push_back(file);
      return;
    }
  }
  result_.candidates.push_back({file, origin, {}});
}

void add_environment(const std::string& variable, SearchWalk& walk) {
  if (variable.empty()) return;  // set to nothing: the same as not set
  size_t begin = 0;
  while (begin <= variable.size()) {
    const size_t end = std::min(variable.find(':', begin), variable.size());
    const std::string part = variable.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty())
      walk.note(kPathVariable, "has an empty component, which is skipped",
                "write absolute paths with one colon between them");
    else if (part.front() != '/')
      walk.note(
          kPathVariable, "has the relative component '" + printable(part) + "', which is skipped",
          "write it as an absolute path: what is loaded must not depend on the working directory");
    else
      walk.add(fs::path(part).lexically_normal(), Origin::kEnvironment, false);
  }
}

}  // namespace

std::string origin_name(Origin origin) {
  switch (origin) {
    case Origin::kConfig: return "plugins.paths";
    case Origin::kEnvironment: return kPathVariable;
    case Origin::kInstallation: return "installation";
  }
  return {};
}

SearchOptions& SearchOptions::from_environment() {
  environment.reset();
  const char* value = std::getenv(kPathVariable);
  environment_ignored = value != nullptr && getauxval(AT_SECURE) != 0;
  if (value != nullptr && !environment_ignored) environment = value;
  return *this;
}

SearchResult search(const SearchOptions& options) {
  SearchWalk walk;
  for (const fs::path& path : options.paths) {
    if (path.empty())
      throw usage_error("plugins.paths has an empty entry", "plugins.paths",
                        "name a folder or a .so file, or remove the entry");
    walk.add(fs::absolute(path).lexically_normal(), Origin::kConfig, false);
  }
  if (options.environment_ignored)
    walk.note(kPathVariable, "is ignored, because this program runs with raised privileges",
              "name the folder in plugins.paths of a config that you trust");
  else if (options.environment)
    add_environment(*options.environment, walk);
  if (!options.installation.empty())
    walk.add(fs::absolute(options.installation).lexically_normal(), Origin::kInstallation, true);
  return walk.take();
}

}  // namespace titan::plugins
