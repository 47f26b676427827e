/// The registrar functions of the host table.
#include "plugins/registrar.h"

#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "plugins/descriptor.h"
#include "plugins/error_slot.h"
#include "plugins/note_bytes.h"

namespace titan::plugins {
namespace {

constexpr uint64_t kAlive = 0x7469'7461'6e72'6567;  // "titanreg"
constexpr uint64_t kDead = 0x6465'6164'6465'6164;
constexpr size_t kMaxRegistered = 256;

/// Registrars and converter names, reachable and valid to process end.
struct RegistrarStore {
  std::mutex mutex;
  std::deque<titan_registrar> registrars;
  std::deque<std::string> names;
};

RegistrarStore& registrar_store() {
  static RegistrarStore* const store = std::make_unique<RegistrarStore>().release();
  return *store;
}

titan_string registrar_text(const std::string& text) { return {text.data(), text.size()}; }

titan_status refuse_registration(titan_registrar* registrar, RegistrationProblem problem) {
  const titan_status status =
      set_error(problem.status, registrar_text(problem.text), registrar_text(problem.hint));
  if (registrar != nullptr && !registrar->first_problem)
    registrar->first_problem = std::move(problem);
  return status;
}

RegistrationProblem other_thread_problem() {
  return {TITAN_WRONG_STATE, "the registrar is used on another thread",
          "register on the thread that called register_converters", Rule::kMainThread};
}

/// Whether the registrar may be used now; if not, the error is in the slot.
titan_status check_registrar(titan_registrar* registrar) {
  if (registrar == nullptr)
    return refuse_registration(
        nullptr, {TITAN_INVALID_ARGUMENT, "the registrar is NULL",
                  "pass on the registrar that register_converters was given", Rule::kTransaction});
  if (registrar->magic.load() != kAlive)
    return refuse_registration(
        nullptr, {TITAN_WRONG_STATE, "the registrar is used after register_converters returned",
                  "register everything before returning", Rule::kTransaction});
  if (registrar->thread != std::this_thread::get_id()) {
    registrar->used_elsewhere.store(true);
    return refuse_registration(nullptr, other_thread_problem());
  }
  return TITAN_OK;
}

titan_status take_note(titan_registrar* registrar, const void* json, uint64_t size) {
  if (const titan_status status = check_registrar(registrar); status != TITAN_OK) return status;
  const auto refuse = [&](titan_status status, const char* text) {
    return refuse_registration(registrar, {status, text,
                                           "call registrar_note(registrar, TITAN_NOTE_JSON, "
                                           "TITAN_NOTE_SIZE) once, first of all",
                                           Rule::kNote});
  };
  if (registrar->note) return refuse(TITAN_WRONG_STATE, "registrar_note was called twice");
  if (!registrar->converters.empty())
    return refuse(TITAN_WRONG_STATE, "registrar_note was called after registrar_converter");
  if (json == nullptr || size == 0)
    return refuse(TITAN_INVALID_ARGUMENT, "registrar_note was given an empty note");
  if (size > kMaxNoteBytes)
    return refuse(TITAN_INVALID_ARGUMENT, "registrar_note was given more than 65536 bytes");
  registrar->note.emplace(static_cast<const char*>(json), size);
  return TITAN_OK;
}

titan_status take_converter(titan_registrar* registrar, const titan_converter* converter) {
  if (const titan_status status = check_registrar(registrar); status != TITAN_OK) return status;
  CheckedConverter checked = check_converter(converter);
  if (!checked.problem.empty())
    return refuse_registration(
        registrar, {TITAN_INVALID_ARGUMENT, checked.problem, checked.hint, checked.rule});
  if (registrar->converters.size() == kMaxRegistered)
    return refuse_registration(registrar,
                               {TITAN_INVALID_ARGUMENT, "more than 256 converters are registered",
                                "split the plugin", Rule::kTransaction});
  for (const titan_converter& other : registrar->converters)
    if (titan_equal(other.name, checked.name.c_str()))
      return refuse_registration(
          registrar,
          {TITAN_INVALID_ARGUMENT, "the converter '" + checked.name + "' is registered twice",
           "register each name once", Rule::kTransaction});
  RegistrarStore& store = registrar_store();
  const std::lock_guard lock(store.mutex);
  store.names.push_back(std::move(checked.name));
  checked.table.name = registrar_text(store.names.back());
  registrar->converters.push_back(checked.table);
  return TITAN_OK;
}

}  // namespace

titan_status registrar_note(titan_registrar* registrar, const void* json, uint64_t size) noexcept {
  try {
    return take_note(registrar, json, size);
  } catch (const std::exception&) {
    return set_error(TITAN_INTERNAL, TITAN_STR("titan ran out of memory"),
                     TITAN_STR("free some memory"));
  }
}

titan_status registrar_converter(titan_registrar* registrar,
                                 const titan_converter* converter) noexcept {
  try {
    return take_converter(registrar, converter);
  } catch (const std::exception&) {
    return set_error(TITAN_INTERNAL, TITAN_STR("titan ran out of memory"),
                     TITAN_STR("free some memory"));
  }
}

Registration::Registration() {
  RegistrarStore& store = registrar_store();
  const std::lock_guard lock(store.mutex);
  registrar_ = &store.registrars.emplace_back();
  registrar_->thread = std::this_thread::get_id();
  registrar_->magic.store(kAlive);
}

void Registration::close() {
  registrar_->magic.store(kDead);
  if (registrar_->used_elsewhere.load() && !registrar_->first_problem)
    registrar_->first_problem = other_thread_problem();
}

}  // namespace titan::plugins
