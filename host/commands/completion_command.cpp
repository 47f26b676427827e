#include "commands/completion_command.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstring>
#include <iostream>

#include "base/error.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "commands/completion_line.h"
#include "commands/completion_scripts.h"
#include "commands/completion_values.h"
#include "data/chat_template.h"
#include "data/tokenizers/open_tokenizer.h"

namespace titan::commands {
namespace {

/// What a positional argument of a subcommand is, told by its name in cli.cpp.
std::vector<std::string> positional_candidates(const CLI::App& command,
                                               const FoundConverters& found,
                                               const std::string& current) {
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = option->get_single_name();
    if (name == "shell") return {"bash", "zsh"};
    if (name == "key") return found.explained_names();
    if (name == "input") return files_ending_in({".txt", ".jsonl", ".zst"}, current);
    if (name == "run") return files_ending_in({".jsonl"}, current);
    if (name == "what" || name == "name") {
      std::vector<std::string> names = found.plugin_names();
      for (std::string& file : files_ending_in({".so"}, current)) names.push_back(std::move(file));
      return names;
    }
  }
  return {};
}

bool has_positional(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) return true;
  return false;
}

/// Whether the positional argument may be given more than once.
bool takes_many(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && option->get_items_expected_max() > 1) return true;
  return false;
}

/// Values of an option of the command itself, such as --device, that begin as `typed` does.
std::vector<std::string> flag_values(const CLI::App& command, const std::string& option,
                                     const std::string& typed) {
  const bool of_ids = command.get_name() == "tokenize";
  if (option == "--tokenizer") return files_ending_in({".json", ".model", ".tiktoken"}, typed);
  if (option == "--tokenizer-format") return data::tokenizer_formats();
  if (option == "--dtype" && of_ids) return {"uint16", "uint32"};
  if (option == "--output" && of_ids) return files_ending_in({".bin"}, typed);
  if (option == "--chat") return data::ChatTemplate::names();
  if (option == "--device") return {"cpu", "sm_80", "sm_89", "sm_90", "sm_100", "sm_120"};
  if (option == "--language") return {"c", "cpp", "torch"};
  if (option == "--dtype") return {"bfloat16", "float16", "float32"};
  return {};
}

const CLI::Option* option_of(const CLI::App& command, const std::string& word) {
  if (word.rfind("--", 0) != 0) return nullptr;
  return command.get_option_no_throw(word.substr(0, word.find('=')));
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

bool is_config_option(const std::string& word) {
  return word == "--config" || word == "--job.config_file";
}

std::vector<std::string> config_files(const std::string& current) {
  return files_ending_in({".yaml", ".yml"}, current);
}

std::vector<std::string> with_prefix(std::vector<std::string> values, const std::string& prefix) {
  for (std::string& value : values) value.insert(0, prefix);
  return values;
}

/// Candidates for a word that begins with '-'.
std::vector<std::string> dashed_candidates(const CLI::App& command, const FoundConverters& found,
                                           const std::string& current) {
  if (const size_t equals = current.find('='); equals != std::string::npos) {
    const std::string name = current.substr(0, equals), value = current.substr(equals + 1);
    if (is_config_option(name)) return with_prefix(config_files(value), name + "=");
    return with_prefix(
        option_of(command, name) ? flag_values(command, name, value) : found.values_of(name, value),
        name + "=");
  }
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  if (command.get_allow_extras()) {
    words.emplace_back("--config");
    for (const std::string& key : found.keys()) words.push_back("--" + key + "=");
  }
  return words;
}

const CLI::App* subcommand_of(const CLI::App& command, const std::string& name) {
  for (const CLI::App* sub : command.get_subcommands(nullptr))
    if (sub->get_name() == name) return sub;
  return nullptr;
}

std::vector<std::string> candidates(const CLI::App& app, const CompletionLine& line) {
  const CLI::App* command = &app;
  size_t at = 1;
  for (; at + 1 < line.words.size(); ++at) {
    const CLI::App* next = subcommand_of(*command, line.words[at]);
    if (!next) break;
    command = next;
  }
  const std::string& current = line.current();
  const auto subcommands = command->get_subcommands(nullptr);
  if (!subcommands.empty() && current.rfind('-', 0) != 0) {
    std::vector<std::string> names;
    if (at + 1 == line.words.size())
      for (const CLI::App* sub : subcommands) names.push_back(sub->get_name());
    return names;
  }

  // What stands between the command and the cursor: values belong to the word before them.
  bool positional_given = false, file_given = false;
  std::string waiting;  // an option without its value
  for (size_t i = at; i + 1 < line.words.size(); ++i) {
    const std::string& word = line.words[i];
    const bool with_value = word.find('=') != std::string::npos;
    if (word.rfind("--", 0) == 0) {
      const CLI::Option* own = option_of(*command, word);
      file_given |= is_config_option(word.substr(0, word.find('=')));
      waiting = with_value || (own && !takes_value(*own)) ? "" : word;
    } else if (!waiting.empty() && !is_config_file_name(word)) {
      waiting.clear();
    } else {
      (has_positional(*command) && !positional_given ? positional_given : file_given) = true;
      waiting.clear();
    }
  }
  const FoundConverters found(line.words);
  if (current.rfind('-', 0) == 0) return dashed_candidates(*command, found, current);
  if (is_config_option(waiting)) return config_files(current);
  if (!waiting.empty()) {
    std::vector<std::string> values = option_of(*command, waiting)
                                          ? flag_values(*command, waiting, current)
                                          : found.values_of(waiting, current);
    if (option_of(*command, waiting) || !found.is_flag(waiting)) return values;
    // "--section.flag" may stand alone: what follows is its value or the next argument.
    for (std::string& file : config_files(current)) values.push_back(std::move(file));
    return values;
  }
  if (has_positional(*command) && (!positional_given || takes_many(*command)))
    return positional_candidates(*command, found, current);
  if (command->get_allow_extras() && !file_given) return config_files(current);
  return {};
}

std::string without_blanks_and_quotes(std::string breaks) {
  breaks.erase(std::remove_if(breaks.begin(), breaks.end(),
                              [](char c) { return std::strchr(" \t\n\"'", c) != nullptr; }),
               breaks.end());
  return breaks;
}

}  // namespace

void print_completion(const std::string& shell) {
  if (shell == "bash")
    std::cout << kBashCompletion;
  else if (shell == "zsh")
    std::cout << kZshCompletion;
  else
    throw usage_error(shell.empty() ? "no shell was named"
                                    : "there is no completion for '" + printable(shell, 80) + "'",
                      "titan completion",
                      did_you_mean(shell, {"bash", "zsh"}) + "titan completion bash, or zsh");
}

void print_candidates(const CLI::App& app, const std::string& line, const std::string& breaks) {
  std::string text;
  try {
    const CompletionLine parsed(line);
    if (parsed.words.size() < 2) return;
    const std::string& current = parsed.current();
    // Blanks and quotes are among the breaks, but inside of a word they were quoted.
    const std::string inside = without_blanks_and_quotes(breaks);
    const size_t cut = current.find_last_of(inside) + 1;  // npos + 1 is 0
    for (const std::string& candidate : candidates(app, parsed))
      if (candidate.rfind(current, 0) == 0 && is_one_printable_line(candidate))
        text += candidate.substr(cut) + "\n";
  } catch (...) {
    // A shell that completes has no place for errors; the command itself will say them.
    return;
  }
  std::cout << text;
}

}  // namespace titan::commands
