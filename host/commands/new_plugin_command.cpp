#include "commands/new_plugin_command.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <map>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "commands/environment.h"
#include "config/converter_items.h"
#include "plugins/plugin_name.h"
#include "titan/version.h"

namespace titan::commands {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNewPlugin = "titan plugins new";

struct TemplateLanguage {
  const char* name;
  const char* suffix;     ///< of the source
  const char* languages;  ///< of project()
  const char* flags;      ///< of titan_add_plugin
};
constexpr std::array<TemplateLanguage, 3> kTemplateLanguages = {
    {{"c", "c", "C", ""}, {"cpp", "cpp", "CXX", ""}, {"torch", "cpp", "CXX", " TORCH_STABLE"}}};

const TemplateLanguage& template_language(const std::string& name) {
  std::vector<std::string> names;
  for (const TemplateLanguage& language : kTemplateLanguages) {
    if (language.name == name) return language;
    names.emplace_back(language.name);
  }
  throw usage_error("there is no template for the language '" + printable(name, 80) + "'",
                    kNewPlugin,
                    did_you_mean(name, names) +
                        "--language c (libc alone), cpp (C++, no LibTorch) or torch (C++ on "
                        "LibTorch's stable ABI)");
}

/// The name becomes a converter, a section of the config and a target of CMake.
void check_new_name(const std::string& name) {
  if (name.empty()) throw usage_error("no name was given", kNewPlugin, "titan plugins new NAME");
  const std::string shown = "'" + printable(name, 80) + "'";
  if (!plugins::valid_name(name))
    throw usage_error(shown + " is not a valid name for a plugin", kNewPlugin,
                      "use a lower-case letter followed by at most 63 of a-z 0-9 _ . -");
  if (const std::string problem = config::problem_of_name(name); !problem.empty())
    throw usage_error(shown + " " + problem, kNewPlugin, "choose a name of its own");
  static const std::vector<std::string> targets = {
      "all",        "clean",         "depend",  "edit_cache",
      "help",       "install",       "package", "package_source",
      "preinstall", "rebuild_cache", "test",    "list_install_components"};
  if (std::find(targets.begin(), targets.end(), name) != targets.end())
    throw usage_error(shown + " is the name of one of CMake's own targets", kNewPlugin,
                      "choose another name");
}

Error cannot_write_project(const fs::path& path, const std::string& reason) {
  return environment_error("'" + printable_path(path.native()) + "' cannot be written: " + reason,
                           kNewPlugin, "free space, or write elsewhere with --folder DIR");
}

std::string with_placeholders_filled(std::string text,
                                     const std::map<std::string, std::string>& values) {
  for (const auto& [key, value] : values) {
    const std::string mark = "@" + key + "@";
    for (size_t at = text.find(mark); at != std::string::npos;
         at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

/// Names in the template: plugin.json becomes NAME.json, gitignore becomes .gitignore.
fs::path project_path(const fs::path& in_template, const std::string& name) {
  const std::string file = in_template.filename().string();
  if (file == "gitignore") return in_template.parent_path() / ".gitignore";
  if (in_template.stem() == "plugin")
    return in_template.parent_path() / (name + in_template.extension().string());
  return in_template;
}

/// Copies every file below `from`; returns their paths in the project.
std::vector<fs::path> copy_template(const fs::path& from, const fs::path& to,
                                    const std::string& name,
                                    const std::map<std::string, std::string>& values) {
  std::vector<fs::path> written;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (!entry.is_regular_file()) continue;
    const fs::path relative = project_path(entry.path().lexically_relative(from), name);
    std::ifstream in(entry.path(), std::ios::binary);
    const std::string text((std::istreambuf_iterator<char>(in)), {});
    if (!in || text.empty())
      throw environment_error("'" + printable_path(entry.path().native()) + "' cannot be read",
                              kNewPlugin,
                              "install the SDK again: cmake --install BUILD --component sdk");
    fs::create_directories((to / relative).parent_path());
    std::ofstream out(to / relative, std::ios::binary);
    out << with_placeholders_filled(text, values);
    out.close();
    if (!out) throw cannot_write_project(to / relative, "the disk may be full");
    written.push_back(relative);
  }
  return written;
}

/// A folder beside the final one, removed unless it was renamed.
class TemporaryProject {
 public:
  explicit TemporaryProject(const fs::path& final_path)
      : path_(final_path.parent_path() /
              ("." + final_path.filename().string() + ".new-" + std::to_string(getpid()))) {}
  ~TemporaryProject() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryProject(const TemporaryProject&) = delete;
  TemporaryProject& operator=(const TemporaryProject&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void print_next_steps(const std::string& place) {
  const auto line = [](const std::vector<std::string>& words) {
    std::cout << "  " << shell_text(words) << "\n";
  };
  std::cout << "next:\n";
  std::string prefix = installation_prefix().string();
  std::error_code ignored;
  if (!fs::exists(installation_prefix() / "lib/cmake/TitanSDK/TitanSDKConfig.cmake", ignored)) {
    // This program runs from the folder that it was built in: the SDK is not installed beside it.
    line({"cmake", "--install", prefix, "--prefix", "PREFIX"});
    prefix = "PREFIX";
  }
  line({"cmake", "-S", place, "-B", place + "/build", "-DCMAKE_PREFIX_PATH=" + prefix});
  line({"cmake", "--build", place + "/build"});
  line({"ctest", "--test-dir", place + "/build", "--output-on-failure"});
}

}  // namespace

void new_plugin(const std::string& name, const std::string& language_name, const fs::path& folder) {
  check_new_name(name);
  const TemplateLanguage& language = template_language(language_name);
  const fs::path target =
      fs::absolute(folder.empty() ? fs::path(name) : folder / "").lexically_normal();
  const fs::path project = target.has_filename() ? target : target.parent_path();
  const std::string shown = printable_path(project.native());
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(project, ignored)))
    throw usage_error("'" + shown + "' is there already", kNewPlugin,
                      "remove it, or write elsewhere with --folder DIR");
  if (!fs::is_directory(project.parent_path(), ignored))
    throw usage_error("there is no folder '" + printable_path(project.parent_path().native()) +
                          "' to write '" + shown + "' in",
                      kNewPlugin, "create it, or write elsewhere with --folder DIR");
  const fs::path templates = template_folder();
  if (!fs::is_directory(templates / language.name, ignored))
    throw environment_error("the template is not there: no folder '" +
                                printable((templates / language.name).native()) + "'",
                            kNewPlugin,
                            "install the SDK beside titan: cmake --install BUILD --component sdk");

  const std::map<std::string, std::string> values = {{"NAME", name},
                                                     {"SUFFIX", language.suffix},
                                                     {"LANGUAGES", language.languages},
                                                     {"FLAGS", language.flags},
                                                     {"SDK_VERSION", TITAN_SDK_VERSION}};
  const TemporaryProject temporary(project);
  std::vector<fs::path> written;
  try {
    fs::create_directory(temporary.path());
    for (const fs::path& part : {templates / "common", templates / language.name})
      for (fs::path& path : copy_template(part, temporary.path(), name, values))
        written.push_back(std::move(path));
    // An empty folder that came in between is replaced; anything else refuses.
    fs::rename(temporary.path(), project);
  } catch (const fs::filesystem_error& error) {
    throw cannot_write_project(project, error.code().message());
  }

  std::sort(written.begin(), written.end());
  std::cout << "wrote " << shown << "\n";
  for (const fs::path& path : written) std::cout << "  " << path.string() << "\n";
  print_next_steps(folder.empty() ? name : folder.string());
}

}  // namespace titan::commands
