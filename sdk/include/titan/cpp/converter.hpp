/// Converters in C++: options, hooks and registration.
///
/// A converter is any class with
///   explicit T(const Create&)            throws Error(TITAN_UNSUPPORTED, ...) if the device is no
///   good void convert(const Model&)           records changes void after_init(const Hook&)
///   optional void post_optimizer_hook(const Hook&)  optional
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "../plugin.h"
#include "model.hpp"

namespace titan::sdk {

/// What the config says; valid during the constructor of a converter.
class Create {
 public:
  explicit Create(titan_create* context) : context_(context) {
    info_ = sized<titan_create_info>();
    check(host().create_info(context, &info_));
  }
  std::string instance() const { return std::string(to_view(info_.instance)); }
  const titan_device_info& device() const { return *info_.device; }
#if TITAN_API_VERSION >= 2
  /// Tokens of one forward call of the model; 0 where the host does not know.
  int64_t tokens_per_call() const { return info_.tokens_per_call; }
  /// What linears compute in, and what parameters are kept in; all zero on a host of level 1.
  titan_dl_dtype compute_dtype() const { return info_.compute_dtype; }
  titan_dl_dtype parameter_dtype() const { return info_.parameter_dtype; }
#endif
  /// T: bool, int64_t, double, std::string.
  template <class T>
  T option(std::string_view name, uint64_t index = 0) const {
    if constexpr (std::is_same_v<T, bool>) {
      int32_t value = 0;
      check(host().option_bool(context_, to_string(name), index, &value));
      return value != 0;
    } else if constexpr (std::is_same_v<T, int64_t>) {
      int64_t value = 0;
      check(host().option_int(context_, to_string(name), index, &value));
      return value;
    } else if constexpr (std::is_same_v<T, double>) {
      double value = 0;
      check(host().option_float(context_, to_string(name), index, &value));
      return value;
    } else {
      static_assert(std::is_same_v<T, std::string>, "options are bool, int64_t, double or string");
      titan_string value{};
      check(host().option_string(context_, to_string(name), index, &value));
      return std::string(to_view(value));
    }
  }
  /// Every item of a list option.
  template <class T>
  std::vector<T> option_list(std::string_view name) const {
    uint64_t count = 0;
    check(host().option_count(context_, to_string(name), &count));
    std::vector<T> items;
    for (uint64_t i = 0; i < count; ++i) items.push_back(option<T>(name, i));
    return items;
  }

 private:
  titan_create* context_;
  titan_create_info info_;
};

/// Parameters and buffers with values; valid during after_init and post_optimizer_hook.
class Hook {
 public:
  explicit Hook(titan_hook* hook) noexcept : hook_(hook) {}
  titan_hook_info info() const {
    auto info = sized<titan_hook_info>();
    check(host().hook_info(hook_, &info));
    return info;
  }
  std::vector<titan_hook_tensor> tensors() const {
    uint64_t count = 0;
    check(host().hook_count(hook_, &count));
    std::vector<titan_hook_tensor> list(count, sized<titan_hook_tensor>());
    for (uint64_t i = 0; i < count; ++i) check(host().hook_tensor(hook_, i, &list[i]));
    return list;
  }
  /// A stock parameter, or `<module>.<name>` of a tensor that this instance added.
  titan_hook_tensor find(std::string_view fqn) const {
    auto found = sized<titan_hook_tensor>();
    check(host().hook_find(hook_, to_string(fqn), &found));
    return found;
  }
  void metric(std::string_view name, double value) const {
    check(host().hook_metric(hook_, to_string(name), value));
  }

 private:
  titan_hook* hook_;
};

namespace detail {
template <class T, class = void>
struct has_after_init : std::false_type {};
template <class T>
struct has_after_init<T, std::void_t<decltype(&T::after_init)>> : std::true_type {};
template <class T, class = void>
struct has_step_hook : std::false_type {};
template <class T>
struct has_step_hook<T, std::void_t<decltype(&T::post_optimizer_hook)>> : std::true_type {};
}  // namespace detail

/// Describes class T as a converter. `name` must outlive the process: pass a literal.
template <class T>
titan_converter converter(std::string_view name) noexcept {
  auto table = sized<titan_converter>();
  table.name = to_string(name);
  table.create = [](titan_create* context, void** instance) noexcept {
    return guard([&] { *instance = new T(Create(context)); });
  };
  table.convert = [](void* instance, titan_model* model) noexcept {
    return guard([&] { static_cast<T*>(instance)->convert(Model(model)); });
  };
  if constexpr (detail::has_after_init<T>::value)
    table.after_init = [](void* instance, titan_hook* hook) noexcept {
      return guard([&] { static_cast<T*>(instance)->after_init(Hook(hook)); });
    };
  if constexpr (detail::has_step_hook<T>::value)
    table.post_optimizer_hook = [](void* instance, titan_hook* hook) noexcept {
      return guard([&] { static_cast<T*>(instance)->post_optimizer_hook(Hook(hook)); });
    };
  table.destroy = [](void* instance) noexcept { delete static_cast<T*>(instance); };
  return table;
}

/// `converters()` gives a container of titan_converter; what it throws becomes a status, too.
template <class Converters>
titan_status register_all(const titan_host* table, titan_registrar* registrar, const void* note,
                          uint64_t note_size, const Converters& converters) noexcept {
  host_pointer() = table;
  return guard([&] {
    check(host().registrar_note(registrar, note, note_size));
    for (const titan_converter& entry : converters())
      check(host().registrar_converter(registrar, &entry));
  });
}
inline titan_status register_all(const titan_host* table, titan_registrar* to, const void* note,
                                 uint64_t size,
                                 std::initializer_list<titan_converter> list) noexcept {
  return register_all(table, to, note, size, [&] { return list; });
}

}  // namespace titan::sdk

/// Defines the plugin's entry. Goes after TITAN_NOTE(...) or #include <titan_note.h>.
#define TITAN_CONVERTERS(...)                                                                    \
  extern "C" TITAN_EXPORT titan_status register_converters(const titan_host* host,               \
                                                           titan_registrar* to) {                \
    return ::titan::sdk::register_all(host, to, TITAN_NOTE_JSON, TITAN_NOTE_SIZE,                \
                                      [] { return std::vector<titan_converter>{__VA_ARGS__}; }); \
  }
