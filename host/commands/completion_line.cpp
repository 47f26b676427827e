#include "commands/completion_line.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/printable.h"

namespace titan::commands {
namespace {

namespace fs = std::filesystem;

bool is_assignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string_view::npos) return false;
  return std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  });
}

std::string home_expanded(const std::string& folder) {
  const char* home = std::getenv("HOME");
  return home && folder.rfind("~/", 0) == 0 ? home + folder.substr(1) : folder;
}

}  // namespace

CompletionLine::CompletionLine(std::string_view line) {
  bool inside = false;  // of a word
  char quote = 0;
  words.emplace_back();
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quote) {
      if (c == quote)
        quote = 0;
      else if (c == '\\' && quote == '"' && i + 1 < line.size() &&
               (line[i + 1] == '"' || line[i + 1] == '\\'))
        words.back() += line[++i];
      else
        words.back() += c;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.emplace_back();
      inside = false;
      continue;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '\\' && i + 1 < line.size()) {
      words.back() += line[++i];
    } else {
      words.back() += c;
    }
    inside = true;
  }
  while (words.size() > 1 && is_assignment(words.front())) words.erase(words.begin());
}

std::vector<std::string> files_ending_in(const std::vector<std::string>& endings,
                                         const std::string& current) {
  const size_t slash = current.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : current.substr(0, slash + 1);
  const std::string begin = current.substr(folder.size());
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder.empty() ? "." : home_expanded(folder), error), end;
       !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.rfind(begin, 0) != 0 || (name.front() == '.' && begin.empty())) continue;
    std::error_code ignored;
    const bool wanted = std::any_of(endings.begin(), endings.end(),
                                    [&](const auto& e) { return name.ends_with(e); });
    if (entry->is_directory(ignored))
      found.push_back(folder + name + "/");
    else if (wanted)
      found.push_back(folder + name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

bool is_config_file_name(std::string_view word) {
  return word.size() > 5 && (word.ends_with(".yaml") || word.ends_with(".yml"));
}

bool is_one_printable_line(std::string_view text) {
  return text.find('\n') == std::string_view::npos && printable(text) == text;
}

}  // namespace titan::commands
