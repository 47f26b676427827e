/// Rules 6 and 7 on titan_converter: sizes first, then fields.
#include "plugins/descriptor.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/printable.h"
#include "config/converter_items.h"
#include "plugins/plugin_name.h"

namespace titan::plugins {

static_assert(sizeof(titan_converter) >= kConverterV1Size, "structs only grow");

CheckedConverter check_converter(const titan_converter* given) {
  CheckedConverter result;
  const auto problem = [&](std::string text, std::string hint, Rule rule) {
    result.problem = std::move(text);
    result.hint = std::move(hint);
    result.rule = rule;
    return result;
  };
  if (given == nullptr)
    return problem("registrar_converter was given NULL", "pass the address of a titan_converter",
                   Rule::kStructSize);
  if (reinterpret_cast<uintptr_t>(given) % alignof(titan_converter) != 0)
    return problem("registrar_converter was given a misaligned pointer",
                   "align the struct to 8 bytes", Rule::kStructSize);
  const uint32_t size = given->struct_size;
  const char* start_from = "start from TITAN_SIZED(titan_converter)";
  if (size < kConverterV1Size || size > kMaxStructSize || size % 8 != 0)
    return problem("titan_converter.struct_size is " + std::to_string(size) +
                       "; it is a multiple of 8 from " + std::to_string(kConverterV1Size) + " to " +
                       std::to_string(kMaxStructSize),
                   start_from, Rule::kStructSize);
  const uint32_t known = std::min<uint32_t>(size, sizeof(titan_converter));
  const char* bytes = reinterpret_cast<const char*>(given);
  if (std::any_of(bytes + known, bytes + size, [](char byte) { return byte != 0; }))
    return problem("titan_converter uses newer fields than this titan knows (" +
                       std::to_string(size) + " bytes, known are " +
                       std::to_string(sizeof(titan_converter)) + ")",
                   "install a newer titan, or leave those fields zero", Rule::kStructSize);
  std::memcpy(&result.table, given, known);
  result.table.struct_size = sizeof(titan_converter);

  const titan_string name = result.table.name;
  if (name.data == nullptr || name.size == 0)
    return problem("titan_converter.name is empty", "set it, for example with TITAN_STR(\"scale\")",
                   Rule::kNames);
  // A length beyond what a name may have is not believed: its bytes are never looked at.
  if (name.size > 64)
    return problem(
        "titan_converter.name has " + std::to_string(name.size) + " bytes and is not a valid name",
        "use a lower-case letter followed by at most 63 of a-z 0-9 _ . -", Rule::kNames);
  const std::string_view text(name.data, name.size);
  if (!valid_name(text))
    return problem("titan_converter.name '" + printable(text, 80) + "' is not a valid name",
                   "use a lower-case letter followed by at most 63 of a-z 0-9 _ . -", Rule::kNames);
  if (const std::string reserved = config::problem_of_name(text); !reserved.empty())
    return problem("titan_converter.name '" + printable(text, 80) + "' " + reserved,
                   "choose a name of its own", Rule::kNames);
  result.name = text;
  result.table.name = {};
  if (result.table.flags != 0)
    return problem("titan_converter.flags of '" + result.name + "' is " +
                       std::to_string(result.table.flags) + "; no flag is known",
                   start_from, Rule::kStructSize);
  if (result.table.convert == nullptr)
    return problem("titan_converter.convert of '" + result.name + "' is NULL",
                   "convert is mandatory", Rule::kStructSize);
  return result;
}

}  // namespace titan::plugins
