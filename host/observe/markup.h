/// Pieces of an HTML page that is also well-formed XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan::observe {

/// `text` between tags or inside a quoted attribute; control characters and bytes that are no UTF-8
/// are shown as \xNN.
std::string escaped(std::string_view text);

/// "<tag>text</tag>", with the text escaped.
std::string element(std::string_view tag, std::string_view text);

/// A table with a head; cells are escaped. `numbers`: columns from this one on are aligned as
/// numbers.
std::string html_table(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows,
                       size_t numbers = static_cast<size_t>(-1));

/// A number in at most five characters or so, for axes and tables: "8.04", "12.3k", "0.0008",
/// "3e-07".
std::string short_number(double value);

/// "2 h 03 min", "4 min 05 s", "12.3 s".
std::string duration_text(double seconds);

}  // namespace titan::observe
