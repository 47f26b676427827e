#include "plugins/gate.h"

#include <utility>

namespace titan::plugins {

const char* gate_name(Gate gate) {
  switch (gate) {
    case Gate::kFile: return "file";
    case Gate::kTrust: return "trust";
    case Gate::kElf: return "ELF";
    case Gate::kNote: return "note";
    case Gate::kPolicy: return "policy";
    case Gate::kDependencies: return "dependencies";
    case Gate::kLoad: return "load";
    case Gate::kIdentity: return "identity";
    case Gate::kRegister: return "register";
  }
  return "";
}

const char* gate_purpose(Gate gate) {
  switch (gate) {
    case Gate::kFile: return "a regular file of a sensible size";
    case Gate::kTrust: return "nobody else may replace it";
    case Gate::kElf: return "a whole shared object of this machine";
    case Gate::kNote: return "says what it is, in data that this titan understands";
    case Gate::kPolicy: return "plugins.allow, plugins.deny, plugins.sha256";
    case Gate::kDependencies: return "libraries, symbol versions and LibTorch are here";
    case Gate::kLoad: return "can be loaded, tried in a process of its own";
    case Gate::kIdentity: return "what is loaded is what was checked";
    case Gate::kRegister: return "registers what its note says";
  }
  return "";
}

std::string outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kLoadable: return "loadable";
    case Outcome::kSkipped: return "skipped";
    case Outcome::kRefused: return "refused";
  }
  return {};
}

void refuse(std::string reason, std::string hint, Rule rule) {
  throw GateStop{Outcome::kRefused, std::move(reason), std::move(hint), rule};
}
void skip(std::string reason, std::string hint, Rule rule) {
  throw GateStop{Outcome::kSkipped, std::move(reason), std::move(hint), rule};
}

std::string with_rule(const std::string& reason, Rule rule) {
  return rule == Rule::kNone ? reason : reason + " [" + rule_name(rule) + "]";
}

}  // namespace titan::plugins
