/// Unicode normalization form C.
#pragma once

#include <string>
#include <string_view>

namespace titan::data {

/// `text`, which is valid UTF-8, in form C (Unicode Standard Annex 15), by the tables of utf8proc.
/// Linear in the length, however many combining marks follow each other.
std::string to_nfc(std::string_view text);

}  // namespace titan::data
