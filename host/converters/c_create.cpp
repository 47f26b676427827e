#include "base/suggest.h"
#include "converters/c_contexts.h"
#include "converters/c_support.h"

namespace titan::converters {
namespace {

titan_status usable_create(const titan_create* create, const char* function) {
  if (ContextScope<titan_create>::alive(create)) return TITAN_OK;
  return fail(TITAN_WRONG_STATE,
              std::string(function) + ": create() is over, or this is another thread",
              "read options in create() and keep their values");
}

/// Finds option `name` and its item `index`.
titan_status find_option(titan_create* create, const char* function, titan_string name,
                         uint64_t index, const config::Scalar** out) {
  if (const titan_status status = usable_create(create, function)) return status;
  const auto& options = create->context->request.options;
  const std::string key(view_of(name));
  const auto found = options.find(key);
  if (found == options.end()) {
    std::vector<std::string> names;
    for (const auto& [known, value] : options) names.push_back(known);
    return fail(TITAN_NOT_FOUND,
                std::string(function) + ": the note declares no option '" + key + "'",
                did_you_mean(key, names) + "declare it in the plugin's metadata");
  }
  if (index >= found->second.items.size())
    return fail(TITAN_NOT_FOUND, std::string(function) + ": option '" + key + "' has " +
                                     std::to_string(found->second.items.size()) +
                                     " items, asked for number " + std::to_string(index));
  *out = &found->second.items[index];
  return TITAN_OK;
}

/// What the note calls it, for an author who took the wrong function.
const char* type_of(const config::Scalar& item) {
  constexpr const char* kTypes[] = {"a bool", "an int", "a float", "a string, enum or path"};
  return kTypes[item.index()];
}
const char* reader_of(const config::Scalar& item) {
  constexpr const char* kReaders[] = {
      "option_bool, in C++ option<bool>", "option_int, in C++ option<int64_t>",
      "option_float, in C++ option<double>", "option_string, in C++ option<std::string>"};
  return kReaders[item.index()];
}

template <class T, class Out>
titan_status get_option(titan_create* create, const char* function, titan_string name,
                        uint64_t index, Out* out) {
  return slot([&]() -> titan_status {
    const config::Scalar* item = nullptr;
    if (const titan_status status = find_option(create, function, name, index, &item))
      return status;
    if (!out)
      return fail(TITAN_INVALID_ARGUMENT, std::string(function) + ": the result pointer is NULL");
    if (const T* value = std::get_if<T>(item)) {
      *out = static_cast<Out>(*value);
      return TITAN_OK;
    }
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": option '" + std::string(view_of(name)) + "' is " +
                    type_of(*item),
                std::string("read it with ") + reader_of(*item));
  });
}

}  // namespace

titan_status c_create_info(titan_create* create, titan_create_info* out) {
  if (const titan_status status = usable_create(create, "create_info")) return status;
  const DeviceFacts& facts = create->context->device;
  create->device = sized<titan_device_info>();
  create->device.type = facts.cuda ? TITAN_CUDA : TITAN_CPU;
  create->device.name = c_string(facts.name);
  create->device.capability_major = facts.capability_major;
  create->device.capability_minor = facts.capability_minor;
  create->device.memory_bytes = facts.memory_bytes;
  create->device.driver_version = facts.driver_version;
  create->device.cublaslt_version = facts.cublaslt_version;
  auto info = sized<titan_create_info>();
  info.instance = c_string(create->context->request.instance);
  info.device = &create->device;
  const RunFacts& run = create->context->run;
  info.tokens_per_call = run.tokens_per_call;
  info.compute_dtype = to_dl_dtype(run.compute_type);
  info.parameter_dtype = to_dl_dtype(run.parameter_type);
  return copy_out(info, out, "create_info");
}

titan_status c_option_count(titan_create* create, titan_string name, uint64_t* out) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable_create(create, "option_count")) return status;
    if (!out) return fail(TITAN_INVALID_ARGUMENT, "option_count: the result pointer is NULL");
    const auto& options = create->context->request.options;
    const auto found = options.find(std::string(view_of(name)));
    if (found == options.end())
      return fail(TITAN_NOT_FOUND,
                  "option_count: the note declares no option '" + std::string(view_of(name)) + "'");
    *out = found->second.items.size();
    return TITAN_OK;
  });
}

titan_status c_option_bool(titan_create* create, titan_string name, uint64_t index, int32_t* out) {
  return get_option<bool>(create, "option_bool", name, index, out);
}
titan_status c_option_int(titan_create* create, titan_string name, uint64_t index, int64_t* out) {
  return get_option<int64_t>(create, "option_int", name, index, out);
}
titan_status c_option_float(titan_create* create, titan_string name, uint64_t index, double* out) {
  return get_option<double>(create, "option_float", name, index, out);
}
titan_status c_option_string(titan_create* create, titan_string name, uint64_t index,
                             titan_string* out) {
  return slot([&]() -> titan_status {
    const config::Scalar* item = nullptr;
    if (const titan_status status = find_option(create, "option_string", name, index, &item))
      return status;
    const auto* value = std::get_if<std::string>(item);
    if (!out || !value)
      return fail(TITAN_INVALID_ARGUMENT,
                  "option_string: option '" + std::string(view_of(name)) + "' is no text");
    *out = c_string(*value);
    return TITAN_OK;
  });
}

}  // namespace titan::converters
