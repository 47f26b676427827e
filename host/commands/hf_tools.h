/// `titan import` and `titan export`: models of Hugging Face folders in and out.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace titan::commands {

/// Adds the subcommands and keeps what was parsed for them; it must outlive the parsing.
class HfTools {
 public:
  explicit HfTools(CLI::App& app);
  HfTools(const HfTools&) = delete;
  HfTools& operator=(const HfTools&) = delete;

  /// Runs the one that the line asked for and returns its status; nothing if it was another one.
  std::optional<int> run() const;

 private:
  void run_import() const;
  void run_export() const;

  CLI::App* import_app_;
  CLI::App* export_app_;
  std::filesystem::path folder_, output_, config_, weights_, tokenizer_;
  std::string import_dtype_ = "keep", export_dtype_ = "bfloat16", shard_size_ = "5GB";
  bool merge_lora_ = false;
  std::vector<std::string> leave_out_;
};

}  // namespace titan::commands
