/// The subcommands of `titan data`: what is done to data ahead of training.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace titan::commands {

/// Adds the subcommands and keeps what was parsed for them; it must outlive the parsing.
class DataTools {
 public:
  explicit DataTools(CLI::App& data);
  DataTools(const DataTools&) = delete;
  DataTools& operator=(const DataTools&) = delete;

  /// Runs the one that the line asked for and returns the exit status; nothing if it was another
  /// one.
  std::optional<int> run() const;

 private:
  int tokenize() const;

  CLI::App* tokenize_app_;
  std::vector<std::string> inputs_;
  std::string tokenizer_, format_ = "auto", output_, dtype_, key_ = "text";
  bool bos_ = false, eos_ = false, parse_special_tokens_ = false;
  int64_t threads_ = 0;  ///< 0: as many as the machine has
};

}  // namespace titan::commands
