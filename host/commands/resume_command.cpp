#include "commands/resume_command.h"

#include <cstdlib>

namespace titan::commands {
namespace {

std::string quoted_for_shell(const std::string& word) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string shell_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted_for_shell(word);
  return text;
}

std::string resume_command(const std::vector<std::string>& command_line,
                           const config::Config& config, int64_t step) {
  std::string environment;
  for (const char* name : {"TITAN_PLUGIN_PATH", "TITAN_DATA_DIR"})
    if (const char* value = std::getenv(name); value && *value)
      environment += std::string(name) + "=" + quoted_for_shell(value) + " ";
  std::vector<std::string> words = command_line;
  if (config.checkpoint.load_step != -1)
    words.push_back("--checkpoint.load_step=" + std::to_string(step));
  if (!config.checkpoint.exclude_from_loading.empty())
    words.push_back("--checkpoint.exclude_from_loading=[]");
  return environment + shell_text(words);
}

}  // namespace titan::commands
