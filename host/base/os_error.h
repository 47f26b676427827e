/// What to do about an errno, where the file itself is not to blame.
#pragma once

#include <string>
#include <string_view>

namespace titan {

/// The cure for `code` (an errno of opening or writing a file); `otherwise` for those that are
/// about the file.
std::string cure_of_os_error(int code, std::string_view otherwise);

}  // namespace titan
