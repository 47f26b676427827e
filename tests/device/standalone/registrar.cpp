/// Takes what the float8 plugin registers, in the place of the plugins room's registrar.
///
/// Why: that one holds names against the sections of the config, so that the config room and
/// yaml-cpp come with it. What a stranger's plugin could do wrong is not looked for here: this is
/// the driver of a check of one plugin of this tree.
#include "plugins/registrar.h"

#include <cstring>
#include <memory>

#include "plugins/error_slot.h"

namespace titan::plugins {
namespace {

constexpr uint64_t kOpen = 1;

titan_status refuse_closed() {
  return set_error(TITAN_WRONG_STATE,
                   TITAN_STR("the registrar is used after register_converters returned"),
                   TITAN_STR("register everything before returning"));
}

}  // namespace

titan_status registrar_note(titan_registrar* registrar, const void* json, uint64_t size) noexcept {
  if (!registrar || registrar->magic.load() != kOpen) return refuse_closed();
  registrar->note.emplace(static_cast<const char*>(json), size);
  return TITAN_OK;
}

titan_status registrar_converter(titan_registrar* registrar,
                                 const titan_converter* converter) noexcept {
  if (!registrar || registrar->magic.load() != kOpen) return refuse_closed();
  titan_converter table{};
  if (!converter || converter->struct_size < sizeof table)
    return set_error(TITAN_INVALID_ARGUMENT,
                     TITAN_STR("the converter's struct_size is smaller than that of this titan"),
                     TITAN_STR("build the plugin from the tree that this program was built from"));
  std::memcpy(&table, converter, sizeof table);
  registrar->converters.push_back(table);
  return TITAN_OK;
}

Registration::Registration() : registrar_(std::make_unique<titan_registrar>().release()) {
  registrar_->thread = std::this_thread::get_id();
  registrar_->magic.store(kOpen);
}

void Registration::close() { registrar_->magic.store(0); }

}  // namespace titan::plugins
