/// The gates that a file passes, in order, until it is a loaded plugin.
#pragma once

#include <string>
#include <vector>

#include "plugins/rules.h"

namespace titan::plugins {

enum class Gate {
  kFile,   ///< a regular file of a sensible size
  kTrust,  ///< nobody else may replace it
  kElf,    ///< a whole shared object of this machine, with a stack and code that stay what they are
  kNote,   ///< the note is valid data and fits this host; without one, the entry is there
  kPolicy,        ///< plugins.allow, plugins.deny, plugins.sha256
  kDependencies,  ///< libraries, symbol versions, LibTorch
  kLoad,          ///< the dynamic loader takes it, in a process of its own first
  kIdentity,      ///< what is mapped is what was checked
  kRegister,      ///< register_converters hands over what the note says
};
inline constexpr int kGateCount = 9;

/// "file", "trust", "ELF", "note", "policy", "dependencies", "load", "identity", "register".
const char* gate_name(Gate gate);
/// One line: what it looks at.
const char* gate_purpose(Gate gate);

enum class Outcome {
  kLoadable,
  kSkipped,  ///< not meant for this program: a helper library, a folder, another processor, a copy
  kRefused,  ///< meant for it, but broken, unsafe or too new
};
/// "loadable", "skipped", "refused".
std::string outcome_name(Outcome outcome);

/// What one gate said. Gates behind the one that stopped a file are not reached and have no entry.
struct GateResult {
  Gate gate = Gate::kFile;
  Outcome outcome = Outcome::kLoadable;  ///< kLoadable: passed
  std::string text;                      ///< what was found; of a stop the reason
  std::string hint;                      ///< of a stop: the cure
  Rule rule = Rule::kNone;               ///< of a stop
};

/// Thrown by a gate to stop a file, caught by whoever runs the gates.
struct GateStop {
  Outcome outcome;
  std::string reason;
  std::string hint;
  Rule rule;
};

[[noreturn]] void refuse(std::string reason, std::string hint, Rule rule);
[[noreturn]] void skip(std::string reason, std::string hint, Rule rule);

/// "REASON [T-n]"; only the reason without a rule.
std::string with_rule(const std::string& reason, Rule rule);

}  // namespace titan::plugins
