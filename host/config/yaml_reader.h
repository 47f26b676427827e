/// Reads YAML text strictly: what is ambiguous, doubled or hostile is an error with its place.
#pragma once

#include <filesystem>
#include <string>

#include "config/node.h"

namespace titan::config {

/// Limits far above any real config, and low enough that no input is slow.
inline constexpr size_t kMaxConfigBytes = size_t{1} << 20;
inline constexpr size_t kMaxConfigNodes = 20000;  ///< aliases count as what they stand for
inline constexpr size_t kMaxConfigDepth = 32;

/// Reads one YAML document. `name` begins every place: "name:line:column". Refused with a usage
/// error: syntax errors, duplicate keys, a second document, tags, merge keys, control characters,
/// text that is not UTF-8, and what exceeds the limits. An empty document is a null node.
Node read_yaml(const std::string& text, const std::string& name);

/// The same for a value of the command line: every place is `where`, and so are its nodes marked.
Node read_yaml_option(const std::string& text, const std::string& where);

/// Reads a file; a usage error if it is missing, no regular file, or too large.
std::string read_config_file(const std::filesystem::path& path);

/// The byte position of the first byte that is not UTF-8 or is a control character other than tab
/// and line ends; npos if there is none.
size_t find_bad_byte(const std::string& text);

}  // namespace titan::config
