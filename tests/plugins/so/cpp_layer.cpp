/// A plugin written with the C++ layer, whose metadata comes from plugin.json.
#include <titan/titan_sdk.hpp>
#include <titan_note.h>

namespace {
struct Nothing {
  explicit Nothing(const titan::sdk::Create&) {}
  void convert(const titan::sdk::Model&) {}
};
}  // namespace

TITAN_CONVERTERS(titan::sdk::converter<Nothing>("nothing"))
