/// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace titan {

/// 1234567 → "1,234,567".
std::string with_commas(int64_t value);

/// Nine significant digits: every float32 survives the way through text.
std::string float9(double value);

/// With that many digits after the point, right-aligned in `width`: "    1.50".
std::string fixed_point(double value, int decimals, size_t width = 0);

/// A short text that reads back as the same double; always with a '.', an 'e' or a name
/// (nan, inf), so that it is seen to be no integer: "0.0008", "1.0", "1e-08".
std::string shortest_float(double value);

/// Bytes in GiB (2^30), two decimals: "1.50GiB".
std::string gib(uint64_t bytes);

}  // namespace titan
