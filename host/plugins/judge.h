/// The verdict on one file before any of its code runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "plugins/file_bytes.h"
#include "plugins/machine.h"
#include "plugins/note.h"
#include "plugins/rules.h"
#include "plugins/trust.h"

namespace titan::plugins {

enum class Outcome {
  kLoadable,
  kSkipped,  ///< not meant for this program: a helper library, a folder, another processor
  kRefused,  ///< meant for it, but broken, unsafe or too new
};
/// "loadable", "skipped", "refused".
std::string outcome_name(Outcome outcome);

struct Verdict {
  Outcome outcome = Outcome::kLoadable;
  std::string reason;  ///< empty if loadable
  std::string hint;
  Rule rule = Rule::kNone;
  std::vector<std::string> warnings;
  /// "REASON [T-n]"
  std::string reason_with_rule() const;
};

struct JudgeOptions {
  int64_t host_level = 0;  ///< API level of the host; 0: the level of the SDK this was built with
  std::string torch_version;  ///< "2.11.0"; empty: torch_min of plugins is not compared
  std::string torch_build;    ///< see TitanTorchBuild.cmake; empty: no plugin of tier exact is loaded
  bool strict = false;        ///< plugins.policy: strict
};

struct JudgedPlugin {
  std::filesystem::path path;
  Verdict verdict;
  /// What is known of it; also for many refused files. Of a plugin without a note only name (from
  /// the file's name) and tier (from its symbols).
  std::optional<PluginDescription> description;
  FileIdentity identity;            ///< zero if it could not be opened
  std::vector<std::string> needed;  ///< libraries it asks for

  bool has_note() const { return description && !description->note.empty(); }
};

/// Judges files one by one; remembers folders and library versions between them.
class Judge {
 public:
  explicit Judge(const JudgeOptions& options = {});
  /// Never throws for what the file holds. `path` is absolute.
  JudgedPlugin judge(const std::filesystem::path& path);

 private:
  JudgeOptions options_;
  TrustCheck trust_;
  MachineVersions machine_;
};

}  // namespace titan::plugins
