#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/suggest.h"
#include "converters/c_contexts.h"
#include "converters/c_support.h"

namespace titan::converters {
namespace {

constexpr uint64_t kMostParts = 4096;
constexpr size_t kLongestBasis = 200;  ///< bytes

titan_status usable_model(const titan_model* model, const char* function) {
  if (ContextScope<titan_model>::alive(model)) return TITAN_OK;
  return fail(TITAN_WRONG_STATE,
              std::string(function) + ": convert() is over, or this is another thread",
              "record changes during convert()");
}

titan_status check_memory(const titan_prediction& given) {
  constexpr uint32_t kMemory = TITAN_PREDICTION_MEMORY;
  constexpr uint32_t kKeeps = TITAN_PREDICTION_KEEPS_INPUTS | TITAN_PREDICTION_KEEPS_OUTPUT;
  if (given.flags & ~(kMemory | kKeeps))
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: flags are " + std::to_string(given.flags),
                "use TITAN_PREDICTION_... alone");
  const auto sizes = {given.saved_bytes, given.working_bytes, given.cache_bytes};
  const bool none = std::all_of(sizes.begin(), sizes.end(), [](int64_t size) { return size == 0; });
  if (!(given.flags & kMemory) && (!none || (given.flags & kKeeps)))
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: memory is described without TITAN_PREDICTION_MEMORY",
                "set the flag, or leave the sizes 0");
  if (std::any_of(sizes.begin(), sizes.end(), [](int64_t size) { return size < 0; }))
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: saved_bytes, working_bytes or cache_bytes is negative",
                "they are sizes in bytes, 0 where nothing is held");
  return TITAN_OK;
}

titan_status module_at(titan_model* model, const char* function, uint64_t index,
                       const StockModule** out) {
  if (const titan_status status = usable_model(model, function)) return status;
  const StockModel& stock = model->recorder->model();
  if (index >= stock.size())
    return fail(TITAN_NOT_FOUND, std::string(function) + ": module number " +
                                     std::to_string(index) + " does not exist; there are " +
                                     std::to_string(stock.size()));
  *out = &stock[index];
  return TITAN_OK;
}

/// For an author who took a wrong name.
std::string attribute_hint(const StockModule& stock, const std::string& name) {
  std::vector<std::string> names;
  std::string all;
  for (const auto& [known, value] : stock.attributes) {
    names.push_back(known);
    all += (all.empty() ? "" : ", ") + known;
  }
  return did_you_mean(name, names) + (all.empty() ? "this kind has none" : "this kind has: " + all);
}

titan_status check_impl(const titan_module_impl* impl, const char* function) {
  if (const titan_status status = check_in(impl, "titan_module_impl")) return status;
  if (!impl->forward)
    return fail(TITAN_INVALID_ARGUMENT, std::string(function) + ": forward is NULL");
  const bool torch = impl->flags & TITAN_IMPL_TORCH_AUTOGRAD;
  if (torch == (impl->backward != nullptr))
    return fail(
        TITAN_INVALID_ARGUMENT,
        torch
            ? std::string(function) + ": backward is given and TITAN_IMPL_TORCH_AUTOGRAD is set"
            : std::string(function) + ": backward is NULL and TITAN_IMPL_TORCH_AUTOGRAD is not set",
        "give backward, or set the flag and use operators that record autograd");
  if (impl->flags & ~(TITAN_IMPL_TORCH_AUTOGRAD | TITAN_IMPL_POSITIONS | TITAN_IMPL_DOCUMENT_IDS))
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": flags has bits this titan does not know");
  return TITAN_OK;
}

/// Until the record is accepted `self` stays the plugin's: a refused record must not destroy it.
template <class Make>
titan_status record(titan_model* model, const char* function, uint64_t module, Make&& make) {
  return slot([&]() -> titan_status {
    const StockModule* stock = nullptr;
    if (const titan_status status = module_at(model, function, module, &stock)) return status;
    if (!model->recorder->selected(module))
      return fail(TITAN_INVALID_ARGUMENT,
                  std::string(function) + ": module '" + stock->fqn +
                      "' is kept from this converter by include / exclude",
                  "record only modules with TITAN_MODULE_SELECTED");
    make();
    return TITAN_OK;
  });
}

titan_status to_spec(titan_model* model, const char* function, uint64_t module,
                     const titan_tensor_spec* given, TensorSpec* out) {
  const StockModule* stock = nullptr;
  if (const titan_status status = module_at(model, function, module, &stock)) return status;
  if (const titan_status status = check_in(given, "titan_tensor_spec")) return status;
  if (const titan_status status = check_in(given->init, "titan_init_rule")) return status;
  if (given->ndim < 0 || given->ndim > 64 || (given->ndim > 0 && !given->shape))
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": ndim is not in 0..64, or shape is NULL");
  out->name = view_of(given->name);
  out->shape.assign(given->shape, given->shape + given->ndim);
  if (given->dtype.code == TITAN_DTYPE_OF_MODEL) {
    out->dtype = stock->parameters.empty() ? at::kFloat : stock->parameters.front().dtype;
  } else if (!to_scalar_type(given->dtype, &out->dtype)) {
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": no element type " + dtype_name(given->dtype));
  }
  out->persistent = !(given->flags & TITAN_SPEC_NON_PERSISTENT);
  out->reduce_max = given->flags & TITAN_SPEC_REDUCE_MAX;
  const titan_init_rule& rule = *given->init;
  if (!std::isfinite(rule.a) || !std::isfinite(rule.b))
    return fail(TITAN_INVALID_ARGUMENT,
                std::string(function) + ": the init rule has a number that is not finite");
  using Kind = model::InitRule::Kind;
  switch (rule.rule) {
    case TITAN_INIT_CONSTANT: out->init = {Kind::kConstant, rule.a}; break;
    case TITAN_INIT_NORMAL: out->init = {Kind::kNormal, rule.a, rule.b}; break;
    case TITAN_INIT_UNIFORM: out->init = {Kind::kUniform, rule.a, rule.b}; break;
    case TITAN_INIT_KAIMING_UNIFORM: out->init = {Kind::kKaimingUniform}; break;
    case TITAN_INIT_COPY:
      out->init = {Kind::kCopy};
      out->init.source = view_of(rule.source);
      break;
    default:
      return fail(TITAN_INVALID_ARGUMENT,
                  std::string(function) + ": no init rule " + std::to_string(rule.rule));
  }
  return TITAN_OK;
}

}  // namespace

titan_status c_model_module_count(titan_model* model, uint64_t* out) {
  if (const titan_status status = usable_model(model, "model_module_count")) return status;
  if (!out) return fail(TITAN_INVALID_ARGUMENT, "model_module_count: the result pointer is NULL");
  *out = model->recorder->model().size();
  return TITAN_OK;
}

titan_status c_model_module(titan_model* model, uint64_t module, titan_module_info* out) {
  const StockModule* stock = nullptr;
  if (const titan_status status = module_at(model, "model_module", module, &stock)) return status;
  auto info = sized<titan_module_info>();
  info.flags = model->recorder->selected(module) ? TITAN_MODULE_SELECTED : 0u;
  info.fqn = c_string(stock->fqn);
  info.kind = c_string(stock->kind);
  info.parameter_count = stock->parameters.size();
  return copy_out(info, out, "model_module");
}

titan_status c_model_find(titan_model* model, titan_string fqn, uint64_t* out) {
  if (const titan_status status = usable_model(model, "model_find")) return status;
  const int64_t found = model->recorder->model().find(view_of(fqn));
  if (found < 0 || !out)
    return fail(TITAN_NOT_FOUND, "model_find: no module '" + std::string(view_of(fqn)) + "'");
  *out = static_cast<uint64_t>(found);
  return TITAN_OK;
}

titan_status c_model_attribute(titan_model* model, uint64_t module, titan_string name,
                               double* out) {
  const StockModule* stock = nullptr;
  if (const titan_status status = module_at(model, "model_attribute", module, &stock))
    return status;
  const auto found = stock->attributes.find(std::string(view_of(name)));
  if (found == stock->attributes.end() || !out)
    return fail(TITAN_NOT_FOUND,
                "model_attribute: module '" + stock->fqn + "' of kind " + stock->kind +
                    " has no attribute '" + std::string(view_of(name)) + "'",
                attribute_hint(*stock, std::string(view_of(name))));
  *out = found->second;
  return TITAN_OK;
}

titan_status c_model_parameter(titan_model* model, uint64_t module, uint64_t index,
                               titan_parameter_info* out) {
  const StockModule* stock = nullptr;
  if (const titan_status status = module_at(model, "model_parameter", module, &stock))
    return status;
  if (index >= stock->parameters.size())
    return fail(TITAN_NOT_FOUND, "model_parameter: module '" + stock->fqn + "' has " +
                                     std::to_string(stock->parameters.size()) + " parameters");
  const StockParameter& parameter = stock->parameters[index];
  auto info = sized<titan_parameter_info>();
  info.flags = parameter.frozen ? TITAN_PARAMETER_FROZEN : 0u;
  info.name = c_string(parameter.name);
  info.shape = parameter.shape.data();
  info.ndim = static_cast<int32_t>(parameter.shape.size());
  info.dtype = to_dl_dtype(parameter.dtype);
  return copy_out(info, out, "model_parameter");
}

titan_status c_record_replace(titan_model* model, uint64_t module, const titan_module_impl* impl,
                              void* self) {
  if (const titan_status status = check_impl(impl, "record_replace")) return status;
  return record(model, "record_replace", module, [&] {
    model->recorder->replace(module, make_plugin_replacement(model->origin, impl, self));
  });
}

titan_status c_record_wrap(titan_model* model, uint64_t module, int32_t where,
                           const titan_module_impl* impl, void* self) {
  if (const titan_status status = check_impl(impl, "record_wrap")) return status;
  if (where != TITAN_WRAP_BEFORE && where != TITAN_WRAP_AFTER)
    return fail(TITAN_INVALID_ARGUMENT, "record_wrap: where is " + std::to_string(where) +
                                            ", neither TITAN_WRAP_BEFORE nor TITAN_WRAP_AFTER");
  return record(model, "record_wrap", module, [&] {
    model->recorder->wrap(module, make_plugin_wrap(model->origin, where, impl, self));
  });
}

titan_status c_record_observe(titan_model* model, uint64_t module, const titan_observer* observer,
                              void* self) {
  if (const titan_status status = check_in(observer, "titan_observer")) return status;
  if (!observer->observe) return fail(TITAN_INVALID_ARGUMENT, "record_observe: observe is NULL");
  return record(model, "record_observe", module, [&] {
    model->recorder->observe(module, make_plugin_observer(model->origin, observer, self));
  });
}

titan_status c_record_parameter(titan_model* model, uint64_t module,
                                const titan_tensor_spec* spec) {
  TensorSpec made;
  if (const titan_status status = to_spec(model, "record_parameter", module, spec, &made))
    return status;
  const bool trains = made.dtype == at::kFloat || made.dtype == at::kDouble ||
                      made.dtype == at::kBFloat16 || made.dtype == at::kHalf;
  if (!trains)
    return fail(TITAN_INVALID_ARGUMENT,
                "record_parameter: '" + made.name + "' is of type " + c10::toString(made.dtype) +
                    ", which cannot be trained",
                "parameters are float32, float64, float16 or bfloat16; other types make buffers");
  return record(model, "record_parameter", module,
                [&] { model->recorder->add_parameter(module, made); });
}

titan_status c_record_buffer(titan_model* model, uint64_t module, const titan_tensor_spec* spec) {
  TensorSpec made;
  if (const titan_status status = to_spec(model, "record_buffer", module, spec, &made))
    return status;
  return record(model, "record_buffer", module, [&] { model->recorder->add_buffer(module, made); });
}

titan_status c_record_layout(titan_model* model, uint64_t module, const titan_layout* layout) {
  if (const titan_status status = check_in(layout, "titan_layout")) return status;
  if (layout->part_count > kMostParts || (layout->part_count > 0 && !layout->parts))
    return fail(TITAN_INVALID_ARGUMENT, "record_layout: parts is NULL, or there are more than " +
                                            std::to_string(kMostParts) + " of them");
  return record(model, "record_layout", module, [&] {
    LayoutSpec spec{std::string(view_of(layout->name)), layout->concat_dim, {}};
    for (uint64_t i = 0; i < layout->part_count; ++i) {
      // Stepped by the plugin's size of a part, which a newer contract may have made larger.
      const auto* bytes =
          reinterpret_cast<const char*>(layout->parts) + i * layout->parts->struct_size;
      const auto& part = *reinterpret_cast<const titan_layout_part*>(bytes);
      if (check_in(&part, "titan_layout_part") != TITAN_OK)
        throw usage_error("record_layout: part " + std::to_string(i) + " has a false struct_size",
                          "converter '" + model->recorder->instance() + "'",
                          "initialise each part with TITAN_SIZED(titan_layout_part)");
      LayoutSpec::Part made{std::string(view_of(part.source)),
                            part.slice_dim,
                            part.slice_start,
                            part.slice_length,
                            {}};
      if (part.permutation) {
        // One entry per dimension of the source; an unknown source is refused by the recorder.
        const auto& parameters = model->recorder->model()[module].parameters;
        for (const StockParameter& parameter : parameters)
          if (parameter.name == made.source)
            made.permutation.assign(part.permutation, part.permutation + parameter.shape.size());
      }
      spec.parts.push_back(std::move(made));
    }
    model->recorder->layout(module, std::move(spec));
  });
}

titan_status c_record_freeze(titan_model* model, uint64_t module, titan_string parameter) {
  return record(model, "record_freeze", module,
                [&] { model->recorder->freeze(module, std::string(view_of(parameter))); });
}

titan_status c_record_tie(titan_model* model, uint64_t module, titan_string parameter,
                          uint64_t other, titan_string other_parameter) {
  return record(model, "record_tie", module, [&] {
    model->recorder->tie(module, std::string(view_of(parameter)), other,
                         std::string(view_of(other_parameter)));
  });
}

titan_status c_record_keep(titan_model* model, uint64_t module, titan_string reason) {
  return record(model, "record_keep", module,
                [&] { model->recorder->keep(module, std::string(view_of(reason))); });
}

titan_status c_record_prediction(titan_model* model, uint64_t module,
                                 const titan_prediction* given) {
  // The sizes of memory came later: a plugin built before gives a shorter struct.
  constexpr uint32_t kLeast = offsetof(titan_prediction, saved_bytes);
  if (const titan_status status = check_in(given, "titan_prediction", kLeast)) return status;
  titan_prediction whole = {};
  std::memcpy(&whole, given, std::min<size_t>(given->struct_size, sizeof whole));
  const titan_prediction* prediction = &whole;
  if (const titan_status status = check_memory(whole)) return status;
  const bool memory = whole.flags & TITAN_PREDICTION_MEMORY;
  if (!std::isfinite(prediction->speedup) || prediction->speedup < 0 ||
      (prediction->speedup == 0 && !memory))
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: the speedup is " + shortest_float(prediction->speedup) +
                    ", it must be a finite number above 0" +
                    (memory ? ", or 0 where nothing is said of it" : ""),
                "it is the time of the stock module over that of the changed one: 1.5 is faster, "
                "0.5 slower");
  if (prediction->tokens <= 0)
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: tokens is " + std::to_string(prediction->tokens) +
                    ", it must be above 0",
                "predict for titan_create_info.tokens_per_call, and not at all where that is 0");
  const std::string basis = printable(view_of(prediction->basis), kLongestBasis + 1);
  if (basis.empty() || basis.size() > kLongestBasis || basis.find('\n') != std::string::npos)
    return fail(TITAN_INVALID_ARGUMENT,
                "record_prediction: the basis is empty, has several lines or more than " +
                    std::to_string(kLongestBasis) + " bytes",
                "name in one line what the number rests on: \"modelled: H200, 790 TFLOP/s bf16\"");
  Prediction made{whole.speedup, whole.tokens, basis, {}};
  if (memory)
    made.memory = {whole.saved_bytes, whole.working_bytes, whole.cache_bytes,
                   (whole.flags & TITAN_PREDICTION_KEEPS_INPUTS) != 0,
                   (whole.flags & TITAN_PREDICTION_KEEPS_OUTPUT) != 0};
  return record(model, "record_prediction", module,
                [&] { model->recorder->predict(module, std::move(made)); });
}

}  // namespace titan::converters
