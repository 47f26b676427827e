/// Keys that users of torchtitan know and that have another place or no counterpart here.
#pragma once

#include <string>
#include <string_view>

namespace titan::config {

/// What to write instead of "section.key", or of a whole section ("section."), ending in "; ";
/// empty if the name is none of these.
std::string advice_for_familiar_key(std::string_view name);

}  // namespace titan::config
