/// A plugin written with the C++ layer, whose metadata comes from plugin.json.
#include <titan_note.h>
#include <titan/titan_sdk.hpp>

namespace {
struct Nothing {
  explicit Nothing(const titan::sdk::Create&) {}
  void convert(const titan::sdk::Model&) {}
};
}  // namespace

TITAN_CONVERTERS(titan::sdk::converter<Nothing>("nothing"))
