/// The stock model in C++, and what a converter records about it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "call.hpp"

namespace titan::sdk {

/// How the host fills an added tensor.
inline titan_init_rule init_constant(double value) {
  auto rule = sized<titan_init_rule>();
  rule.rule = TITAN_INIT_CONSTANT;
  rule.a = value;
  return rule;
}
inline titan_init_rule init_normal(double mean, double std) {
  auto rule = sized<titan_init_rule>();
  rule.rule = TITAN_INIT_NORMAL;
  rule.a = mean;
  rule.b = std;
  return rule;
}
inline titan_init_rule init_uniform(double low, double high) {
  auto rule = sized<titan_init_rule>();
  rule.rule = TITAN_INIT_UNIFORM;
  rule.a = low;
  rule.b = high;
  return rule;
}
/// From a stock parameter of the module: pass a literal, it is not copied.
inline titan_init_rule init_copy(std::string_view source) {
  auto rule = sized<titan_init_rule>();
  rule.rule = TITAN_INIT_COPY;
  rule.source = to_string(source);
  return rule;
}
inline titan_init_rule init_kaiming_uniform() {
  auto rule = sized<titan_init_rule>();
  rule.rule = TITAN_INIT_KAIMING_UNIFORM;
  return rule;
}

#if TITAN_API_VERSION >= 2
/// What one call of a changed module holds, in bytes; see titan_prediction.
struct Memory {
  int64_t saved_bytes = 0;                          ///< made in forward and kept for backward
  int64_t working_bytes = 0;                        ///< at most at once inside a call
  int64_t cache_bytes = 0;                          ///< from call to call
  bool keeps_inputs = false, keeps_output = false;  ///< for backward, as they are
};
#endif

/// One module of the stock model; valid during convert().
class Module {
 public:
  Module(titan_model* model, uint64_t index) : model_(model), index_(index) {
    info_ = sized<titan_module_info>();
    check(host().model_module(model, index, &info_));
  }
  std::string fqn() const { return std::string(to_view(info_.fqn)); }
  std::string_view kind() const { return to_view(info_.kind); }
  bool selected() const { return info_.flags & TITAN_MODULE_SELECTED; }
  uint64_t index() const { return index_; }
  double attribute(std::string_view name) const {
    double value = 0;
    check(host().model_attribute(model_, index_, to_string(name), &value));
    return value;
  }
  std::vector<titan_parameter_info> parameters() const {
    std::vector<titan_parameter_info> list(info_.parameter_count, sized<titan_parameter_info>());
    for (uint64_t i = 0; i < list.size(); ++i)
      check(host().model_parameter(model_, index_, i, &list[i]));
    return list;
  }

  void replace(std::unique_ptr<Impl> impl) const {
    check(host().record_replace(model_, index_, &impl->table(), impl.get()));
    impl.release();
  }
  void wrap_before(std::unique_ptr<Impl> impl) const { wrap(TITAN_WRAP_BEFORE, std::move(impl)); }
  void wrap_after(std::unique_ptr<Impl> impl) const { wrap(TITAN_WRAP_AFTER, std::move(impl)); }
  void observe(std::unique_ptr<Observer> observer) const {
    check(host().record_observe(model_, index_, &observer->table(), observer.get()));
    observer.release();
  }
  /// Adds a parameter of the model's parameter type.
  void add_parameter(std::string_view name, const std::vector<int64_t>& shape,
                     const titan_init_rule& init) const {
    const titan_tensor_spec spec = make_spec(name, shape, init, {TITAN_DTYPE_OF_MODEL, 0, 0});
    check(host().record_parameter(model_, index_, &spec));
  }
  /// Adds a buffer (state without gradient); flags: TITAN_SPEC_...
  void add_buffer(std::string_view name, const std::vector<int64_t>& shape, titan_dl_dtype dtype,
                  const titan_init_rule& init, uint32_t flags = 0) const {
    titan_tensor_spec spec = make_spec(name, shape, init, dtype);
    spec.flags = flags;
    check(host().record_buffer(model_, index_, &spec));
  }
  /// Moves stock parameters into one, `name`: their concatenation along `dim`. Replace the module
  /// too.
  void concatenate(std::string_view name, int32_t dim,
                   const std::vector<std::string>& sources) const {
    std::vector<titan_layout_part> parts(sources.size(), sized<titan_layout_part>());
    for (size_t i = 0; i < sources.size(); ++i) {
      parts[i].slice_dim = -1;
      parts[i].source = to_string(sources[i]);
    }
    auto layout = sized<titan_layout>();
    layout.concat_dim = dim;
    layout.name = to_string(name);
    layout.parts = parts.data();
    layout.part_count = parts.size();
    check(host().record_layout(model_, index_, &layout));
  }
  void freeze(std::string_view parameter) const {
    check(host().record_freeze(model_, index_, to_string(parameter)));
  }
  void tie(std::string_view parameter, const Module& other, std::string_view theirs) const {
    check(host().record_tie(model_, index_, to_string(parameter), other.index_, to_string(theirs)));
  }
#if TITAN_API_VERSION >= 2
  /// Says how much faster this module, already replaced or wrapped, will be (see titan_prediction).
  /// Does nothing on a host of level 1.
  void predict(double speedup, int64_t tokens, std::string_view basis) const {
    if (!host_has(&titan_host::record_prediction)) return;
    auto prediction = sized<titan_prediction>();
    prediction.speedup = speedup;
    prediction.tokens = tokens;
    prediction.basis = to_string(basis);
    check(host().record_prediction(model_, index_, &prediction));
  }
  /// Says what one call of this module, already replaced or wrapped, will hold, and perhaps how
  /// fast it will be (`speedup`, 0: not said). Does nothing on a host of level 1.
  void predict_memory(const Memory& memory, int64_t tokens, std::string_view basis,
                      double speedup = 0) const {
    if (!host_has(&titan_host::record_prediction)) return;
    auto prediction = sized<titan_prediction>();
    prediction.flags = TITAN_PREDICTION_MEMORY |
                       (memory.keeps_inputs ? TITAN_PREDICTION_KEEPS_INPUTS : 0u) |
                       (memory.keeps_output ? TITAN_PREDICTION_KEEPS_OUTPUT : 0u);
    prediction.speedup = speedup;
    prediction.tokens = tokens;
    prediction.basis = to_string(basis);
    prediction.saved_bytes = memory.saved_bytes;
    prediction.working_bytes = memory.working_bytes;
    prediction.cache_bytes = memory.cache_bytes;
    check(host().record_prediction(model_, index_, &prediction));
  }
#endif
  /// Says why this module stays as it is.
  void keep(std::string_view reason) const {
    check(host().record_keep(model_, index_, to_string(reason)));
  }

 private:
  void wrap(int32_t where, std::unique_ptr<Impl> impl) const {
    check(host().record_wrap(model_, index_, where, &impl->table(), impl.get()));
    impl.release();
  }
  static titan_tensor_spec make_spec(std::string_view name, const std::vector<int64_t>& shape,
                                     const titan_init_rule& init, titan_dl_dtype dtype) {
    auto spec = sized<titan_tensor_spec>();
    spec.name = to_string(name);
    spec.shape = shape.data();
    spec.ndim = static_cast<int32_t>(shape.size());
    spec.dtype = dtype;
    spec.init = &init;
    return spec;
  }
  titan_model* model_;
  uint64_t index_;
  titan_module_info info_;
};

/// The stock model; valid during convert().
class Model {
 public:
  explicit Model(titan_model* model) noexcept : model_(model) {}
  /// Selected modules of a kind ("" for all kinds), in registration order.
  std::vector<Module> modules(std::string_view kind = {}) const {
    uint64_t count = 0;
    check(host().model_module_count(model_, &count));
    std::vector<Module> found;
    bool known = kind.empty();
    for (const char* name : {TITAN_KIND_LINEAR, TITAN_KIND_RMS_NORM, TITAN_KIND_EMBEDDING,
                             TITAN_KIND_ATTENTION, TITAN_KIND_QK_NORM_ATTENTION,
                             TITAN_KIND_FEED_FORWARD, TITAN_KIND_BLOCK, TITAN_KIND_DECODER})
      known = known || kind == name;
    for (uint64_t i = 0; i < count; ++i) {
      Module module(model_, i);
      known = known || module.kind() == kind;
      if (module.selected() && (kind.empty() || module.kind() == kind)) found.push_back(module);
    }
    if (!known)  // Else a misspelt kind would change nothing, and say nothing.
      throw Error(TITAN_INVALID_ARGUMENT, "there is no kind of module '" + std::string(kind) + "'",
                  "kinds are linear, rms_norm, embedding, attention, qk_norm_attention, "
                  "feed_forward, block and decoder");
    return found;
  }
  /// Any module by name, selected or not.
  std::optional<Module> find(std::string_view fqn) const {
    uint64_t index = 0;
    if (host().model_find(model_, to_string(fqn), &index) != TITAN_OK) return std::nullopt;
    return Module(model_, index);
  }

 private:
  titan_model* model_;
};

}  // namespace titan::sdk
