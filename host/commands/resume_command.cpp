#include "commands/resume_command.h"

#include <cstdlib>
#include <filesystem>

#include "base/text_list.h"
#include "checkpoint/manifest.h"
#include "checkpoint/step_folder.h"

namespace titan::commands {
std::string resume_command(const std::vector<std::string>& command_line,
                           const config::Config& config, int64_t step) {
  std::string environment;
  for (const char* name : {"TITAN_PLUGIN_PATH", "TITAN_DATA_DIR"})
    if (const char* value = std::getenv(name); value && *value)
      environment += std::string(name) + "=" + shell_word(value) + " ";
  // Files by their whole paths: the command may be typed elsewhere.
  std::vector<std::string> words = command_line;
  std::error_code error;
  for (size_t i = 1; i < words.size(); ++i)
    if (!words[i].empty() && words[i][0] != '-' &&
        std::filesystem::is_regular_file(words[i], error))
      words[i] = std::filesystem::absolute(words[i]).lexically_normal().string();
  if (config.checkpoint.load_step != -1)
    words.push_back("--checkpoint.load_step=" + std::to_string(step));
  if (!config.checkpoint.exclude_from_loading.empty())
    words.push_back("--checkpoint.exclude_from_loading=[]");
  return environment + shell_text(words);
}

std::string origin_in_checkpoint(const config::Config& config, const std::string& converter) {
  if (!config.checkpoint.enable) return {};
  const auto root = std::filesystem::path(config.job.dump_folder) / config.checkpoint.folder;
  std::string origin;
  for (const checkpoint::StepFolder& step : checkpoint::list_steps(root)) {
    const bool wanted = config.checkpoint.load_step < 0 || config.checkpoint.load_step == step.step;
    if (!step.complete() || !wanted) continue;
    origin.clear();  // the latest one counts
    for (const auto& record : checkpoint::read_manifest(step.path).converters)
      if (record.converter == converter && !record.plugin.empty())
        origin = step.path.filename().string() + " was made with " + record.text();
  }
  return origin;
}

}  // namespace titan::commands
