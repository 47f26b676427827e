/// titan generate: prompts in, texts out.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "commands/command.h"
#include "data/tokenizer.h"
#include "generate/text_generator.h"

namespace CLI {
class App;
}

namespace titan::commands {

/// Declares the subcommand and its options; must live as long as `app` is used.
class GenerateCommand {
 public:
  explicit GenerateCommand(CLI::App& app);
  /// Whether the command line asks for it.
  bool chosen() const;
  /// The exit status: 0, or 128 + the signal that ended it.
  /// `arguments`: splits what CLI11 leaves over.
  int run(const std::function<ConfigArguments(const std::vector<std::string>&, const std::string&)>&
              arguments) const;

 private:
  /// What the line says, checked.
  generate::GenerationOptions checked_options() const;
  std::vector<std::string> prompt_texts() const;
  /// `with_bos`: whether the model was trained so.
  std::vector<int64_t> prompt_ids(const std::string& text, bool with_bos,
                                  data::Tokenizer& tokenizer) const;
  /// `prompts`, `completions`: --samples of each of `texts`.
  void print(const std::vector<std::string>& texts,
             const std::vector<std::vector<int64_t>>& prompts,
             const std::vector<generate::Completion>& completions) const;

  CLI::App* app_;
  std::vector<std::string> prompts_, prompt_files_;
  std::string system_, chat_, tokenizer_;
  generate::GenerationOptions options_;
  int64_t samples_ = 1;
  bool no_cache_ = false, no_bos_ = false, ignore_eos_ = false, json_ = false, special_ = false;
};

}  // namespace titan::commands
