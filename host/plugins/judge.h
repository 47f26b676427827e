/// The verdict on one file before any of its code runs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/file_bytes.h"
#include "plugins/gate.h"
#include "plugins/library_finder.h"
#include "plugins/machine.h"
#include "plugins/note.h"
#include "plugins/policy.h"
#include "plugins/rules.h"
#include "plugins/trust.h"

namespace titan::plugins {

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
  std::string torch_build;  ///< see TitanTorchBuild.cmake; empty: no plugin of tier exact is loaded
  bool strict = false;      ///< plugins.policy: strict
  bool with_sha256 = false;  ///< hash files also where no policy asks for it
  Policy policy;             ///< plugins.allow, plugins.deny, plugins.sha256
};

struct JudgedPlugin {
  std::filesystem::path path;
  Verdict verdict;
  std::vector<GateResult> gates;  ///< those that were reached, in order; the last one decided
  /// What is known of it; also for many refused files. Of a plugin without a note only name (from
  /// the file's name) and tier (from its symbols), until it is probed.
  std::optional<PluginDescription> description;
  FileIdentity identity;            ///< zero if it could not be opened
  std::vector<std::string> needed;  ///< libraries it asks for
  std::string sha256;  ///< 64 hexadecimal digits; if the policy or with_sha256 asked for it

  std::shared_ptr<const Policy>
      policy;                 ///< what it was judged by; asked again when a name is learnt
  bool note_in_file = false;  ///< else what it offers is told only by loading it

  bool has_note() const { return note_in_file; }
  /// Enters a gate's result; one that is no pass becomes the verdict.
  void add(GateResult result);
};

/// Judges files one by one; remembers folders and library versions between them.
class Judge {
 public:
  explicit Judge(const JudgeOptions& options = {});
  /// Never throws for what the file holds. `path` is absolute.
  JudgedPlugin judge(const std::filesystem::path& path);

 private:
  JudgeOptions options_;
  std::shared_ptr<const Policy> policy_;
  TrustCheck trust_;
  MachineVersions machine_;
  LibraryFinder libraries_;
};

}  // namespace titan::plugins
