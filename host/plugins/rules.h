/// Numbers of the rules for plugins, quoted in verdicts as "T-n". Never renumbered.
#pragma once

#include <string>

namespace titan::plugins {

enum class Rule : int {
  kNone = 0,
  kEntry = 1,          ///< exports extern "C" register_converters
  kStructSize = 7,     ///< sizes of the structs that cross
  kApiLevel = 11,      ///< api_min is at most the host's level
  kNote = 17,          ///< the note describes the plugin, and tells the truth
  kOptions = 18,       ///< option schemas are valid data
  kNames = 19,         ///< form of names
  kErrorText = 26,     ///< a failure carries a message
  kNoExceptions = 28,  ///< nothing is thrown across the boundary
  kMainThread = 29,    ///< registration happens on the thread that called the entry
  kTransaction = 32,   ///< all converters of a plugin or none; a name has one owner
  kLoadable = 33,      ///< an ELF shared object of this machine that RTLD_NOW can load
  kTrust = 34,         ///< nobody else may replace the file
  kNoLibTorch = 35,    ///< links no LibTorch
};

/// "T-17"; empty for kNone.
inline std::string rule_name(Rule rule) {
  return rule == Rule::kNone ? "" : "T-" + std::to_string(static_cast<int>(rule));
}

}  // namespace titan::plugins
