/// The description of a plugin: what its note says, checked field by field.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/option_schema.h"
#include "plugins/claims.h"
#include "plugins/rules.h"

namespace titan::plugins {

/// How a plugin sees tensors, and thereby which LibTorch it can live with.
enum class Tier { kNone, kStable, kExact };
std::string_view tier_name(Tier tier);

struct PluginDescription {
  std::string name;
  std::string version;  ///< semantic version; empty for a plugin without a note
  std::string license, homepage, vendor;
  int64_t api_min = 0;    ///< the oldest host level it can live with; 0 without a note
  int64_t api_built = 0;  ///< the level of the headers it was compiled with
  Tier tier = Tier::kNone;
  std::string torch_min;                            ///< "2.10"; empty: any
  std::string torch_build;                          ///< tier exact: the one LibTorch it fits
  std::vector<config::ConverterSchema> converters;  ///< origin is left to whoever knows the file
  std::map<std::string, ConverterClaims> claims;    ///< by the converter's name
  std::string note;  ///< the note's bytes; empty: the plugin has none
};

/// "float8", "scale, scale.twice".
std::string converter_list(const PluginDescription& plugin);

struct ParsedNote {
  /// What could be read, also when there is a problem (name, homepage, converter names).
  PluginDescription description;
  std::string
      problem;  ///< empty: all is valid. Begins with the JSON path: "converters[0].name: ..."
  std::string hint;
  Rule rule = Rule::kNone;
};

/// Checks a note against what a host of `host_level` understands. Of a note that needs a newer host
/// only the head and the converters' names are read; that is a problem with rule kApiLevel.
ParsedNote parse_note(std::string_view json, int64_t host_level);

}  // namespace titan::plugins
