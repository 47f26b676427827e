#include "conformance/probe.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <new>

#include "conformance/progress_note.h"
#include "converters/plugin_converter.h"
#include "plugins/error_slot.h"
#include "titan/ext/torch_tensor.h"
#include "titan/version.h"

namespace titan::conformance {
namespace {

struct ProbeState {
  std::atomic<int64_t> calls{0}, fail_at{0}, tensors_made{0}, refused_uses{0};
  std::atomic<bool> plugin_said{false};
  std::atomic<titan_status> said_status{TITAN_OK};
  std::mutex mutex;  ///< of the texts
  std::string first_refusal, injected;
};

ProbeState& probe_state() {
  static auto* const state = new ProbeState;  // NOLINT: plugins may call until the very end
  return *state;
}

titan_string probe_text(const std::string& text) { return {text.data(), text.size()}; }

/// Whether this call is the one to fail; then the error slot is filled.
bool inject(const char* name) {
  ProbeState& state = probe_state();
  const int64_t number = ++state.calls;
  if (number != state.fail_at) return false;
  set_progress_note("host call " + std::to_string(number) + " of the plugin, " + name +
                    ", was made to fail");
  const std::string text = std::string(kInjectedText) + ": " + name + " failed";
  plugins::set_host_error(TITAN_FAILED, probe_text(text),
                          TITAN_STR("the validator made it fail, to see what follows"));
  const std::lock_guard lock(state.mutex);
  state.injected = name;
  return true;
}

void note_answer(const char* name, titan_status status) {
  if (status != TITAN_WRONG_STATE) return;
  ProbeState& state = probe_state();
  ++state.refused_uses;
  const plugins::TakenError said = plugins::take_error(status);
  plugins::set_host_error(status, probe_text(said.message), probe_text(said.hint));
  const std::lock_guard lock(state.mutex);
  if (state.first_refusal.empty())
    state.first_refusal =
        said.message.rfind(name, 0) == 0 ? said.message : std::string(name) + ": " + said.message;
}

titan_status probed_tensor_empty(titan_dl_device device, titan_dl_dtype dtype, int32_t ndim,
                                 const int64_t* shape, titan_tensor** owned) noexcept {
  if (inject("tensor_empty")) return TITAN_FAILED;
  const titan_status status =
      converters::host_table().tensor_empty(device, dtype, ndim, shape, owned);
  if (status == TITAN_OK) ++probe_state().tensors_made;
  return status;
}

titan_status probed_from_dl(titan_dl_managed_tensor* owned, titan_tensor** out) noexcept {
  if (inject("tensor_from_dl")) {
    if (owned && owned->deleter) owned->deleter(owned);  // the host takes it, also on failure
    return TITAN_FAILED;
  }
  const titan_status status = converters::host_table().tensor_from_dl(owned, out);
  if (status == TITAN_OK) ++probe_state().tensors_made;
  return status;
}

/// One function of the table, found by its place in titan_host.
template <auto member>
struct Probed;
template <class... A, titan_status (*titan_host::*member)(A...)>
struct Probed<member> {
  static inline const char* name = "";
  static titan_status call(A... arguments) noexcept {
    if (inject(name)) return TITAN_FAILED;
    const titan_status status = (converters::host_table().*member)(arguments...);
    note_answer(name, status);
    return status;
  }
};

const titan_torch_tensor* real_torch_tensor() {
  return static_cast<const titan_torch_tensor*>(
      converters::host_table().get_extension(TITAN_STR(TITAN_EXT_TORCH_TENSOR)));
}

titan_status probed_to_handle(const titan_tensor* tensor, AtenTensorOpaque** out) noexcept {
  if (inject("to_handle")) return TITAN_FAILED;
  const titan_status status = real_torch_tensor()->to_handle(tensor, out);
  note_answer("to_handle", status);
  return status;
}

titan_status probed_from_handle(AtenTensorOpaque* owned, titan_tensor** out) noexcept {
  if (inject("from_handle")) {
    // The host takes the handle whatever it answers.
    titan_tensor* taken = nullptr;
    if (real_torch_tensor()->from_handle(owned, &taken) == TITAN_OK)
      converters::host_table().tensor_release(taken);
    return TITAN_FAILED;
  }
  const titan_status status = real_torch_tensor()->from_handle(owned, out);
  note_answer("from_handle", status);
  return status;
}

const void* probed_extension(titan_string id) noexcept {
  const void* found = converters::host_table().get_extension(id);
  if (!found || found != real_torch_tensor()) return found;
  static const titan_torch_tensor table = [] {
    titan_torch_tensor made = *real_torch_tensor();
    made.to_handle = probed_to_handle;
    made.from_handle = probed_from_handle;
    return made;
  }();
  return &table;
}

titan_status probed_set_error(titan_status status, titan_string message,
                              titan_string hint) noexcept {
  probe_state().plugin_said = true;
  probe_state().said_status = status;
  return converters::host_table().set_error(status, message, hint);
}

const void* no_extension(titan_string) noexcept { return nullptr; }

titan_status unknown_function() noexcept { return TITAN_INTERNAL; }

/// Puts the probed form of one function into the table.
template <auto member>
void put(titan_host& table, const char* name) {
  Probed<member>::name = name;
  table.*member = Probed<member>::call;
}
#define TITAN_PROBE(function) put<&titan_host::function>(table, #function)

titan_host make_probed_host() {
  titan_host table = converters::host_table();
  table.set_error = probed_set_error;
  table.get_extension = probed_extension;
  table.tensor_empty = probed_tensor_empty;
  table.tensor_from_dl = probed_from_dl;
  TITAN_PROBE(registrar_note);
  TITAN_PROBE(registrar_converter);
  TITAN_PROBE(create_info);
  TITAN_PROBE(option_count);
  TITAN_PROBE(option_bool);
  TITAN_PROBE(option_int);
  TITAN_PROBE(option_float);
  TITAN_PROBE(option_string);
  TITAN_PROBE(model_module_count);
  TITAN_PROBE(model_module);
  TITAN_PROBE(model_find);
  TITAN_PROBE(model_attribute);
  TITAN_PROBE(model_parameter);
  TITAN_PROBE(record_replace);
  TITAN_PROBE(record_wrap);
  TITAN_PROBE(record_observe);
  TITAN_PROBE(record_parameter);
  TITAN_PROBE(record_buffer);
  TITAN_PROBE(record_freeze);
  TITAN_PROBE(record_tie);
  TITAN_PROBE(record_keep);
  TITAN_PROBE(record_layout);
  TITAN_PROBE(record_prediction);
  TITAN_PROBE(call_info);
  TITAN_PROBE(call_get);
  TITAN_PROBE(call_set);
  TITAN_PROBE(call_save);
  TITAN_PROBE(call_saved);
  TITAN_PROBE(call_grad_output);
  TITAN_PROBE(call_needs_grad);
  TITAN_PROBE(call_set_grad);
  TITAN_PROBE(call_grad_accumulator);
  TITAN_PROBE(call_grad_accumulated);
  TITAN_PROBE(call_metric);
  TITAN_PROBE(tensor_info);
  TITAN_PROBE(tensor_dl);
  TITAN_PROBE(hook_info);
  TITAN_PROBE(hook_count);
  TITAN_PROBE(hook_tensor);
  TITAN_PROBE(hook_find);
  TITAN_PROBE(hook_metric);
  return table;
}
#undef TITAN_PROBE

/// `bytes` (a multiple of 8) that end at a page which nobody may touch.
void* memory_at_an_edge(size_t bytes) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t pages = (bytes + page - 1) / page * page;
  void* mapped =
      mmap(nullptr, pages + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  char* const edge = static_cast<char*>(mapped) + pages;
  mprotect(edge, page, PROT_NONE);
  return edge - bytes;
}

}  // namespace

const titan_host& probed_host() {
  static const titan_host table = make_probed_host();
  return table;
}

void reset_probe() {
  ProbeState& state = probe_state();
  state.calls = 0;
  state.fail_at = 0;
  state.tensors_made = 0;
  state.refused_uses = 0;
  state.plugin_said = false;
  state.said_status = TITAN_OK;
  const std::lock_guard lock(state.mutex);
  state.first_refusal.clear();
  state.injected.clear();
}

ProbeRecord probe_record() {
  ProbeState& state = probe_state();
  const std::lock_guard lock(state.mutex);
  return {state.calls,    state.tensors_made, state.refused_uses, state.first_refusal,
          state.injected, state.plugin_said,  state.said_status};
}

void fail_call(int64_t number) {
  reset_probe();
  probe_state().fail_at = number;
}

const titan_host& oldest_host() {
  // Level 1 ends with record_layout; later functions come behind it.
  constexpr size_t kLevel1 =
      offsetof(titan_host, record_layout) + sizeof(titan_host::record_layout);
  static const titan_host* const table = [] {
    titan_host made = probed_host();
    made.struct_size = static_cast<uint32_t>(kLevel1);
    made.api_level = 1;
    made.get_extension = no_extension;
    void* memory = memory_at_an_edge(kLevel1);
    std::memcpy(memory, &made, kLevel1);
    return static_cast<const titan_host*>(memory);
  }();
  return *table;
}

const titan_host& later_host() {
  struct Longer {
    titan_host known;
    titan_status (*unknown[16])();
  };
  static const Longer table = [] {
    Longer made{probed_host(), {}};
    for (auto& function : made.unknown) function = unknown_function;
    made.known.struct_size = sizeof(Longer);
    made.known.api_level = TITAN_API_LEVEL + 7;
    return made;
  }();
  return table.known;
}

}  // namespace titan::conformance
