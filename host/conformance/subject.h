/// What is validated: one file, and one of its converters with the options that it is tried with.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/option_schema.h"
#include "plugins/judge.h"

namespace titan::conformance {

struct Subject {
  plugins::JudgedPlugin judged;
  config::ConverterSchema converter;  ///< name empty: the test is about the file
  plugins::ConverterClaims claims;
  /// Values for options from the command line, by name; they go before "validate_with" and
  /// defaults.
  std::map<std::string, config::OptionValue> given;
  uint64_t seed = 0;                   ///< of everything that is drawn
  std::chrono::milliseconds limit{0};  ///< of one test
  std::filesystem::path scratch;       ///< an empty folder for the tests' files

  /// Every option of the converter that has a value: given, else "validate_with", else the default.
  std::map<std::string, config::OptionValue> options() const;
  /// Options that have none: nothing can be created.
  std::vector<std::string> missing_options() const;
  /// The converter applied to all modules under its own name.
  config::ConverterRequest request() const;
};

/// "name=value, name=value" of options, for messages.
std::string options_text(const std::map<std::string, config::OptionValue>& options);

/// Reads "NAME=VALUE" for a converter of the file. Throws a usage error if no converter has such an
/// option, or the value is not one of its.
void add_given_option(
    const plugins::PluginDescription& plugin, const std::string& text,
    std::map<std::string, std::map<std::string, config::OptionValue>>& by_converter);

}  // namespace titan::conformance
