/// A converter that speaks to the host as a plugin does, through the table and the SDK's C++ layer,
/// but whose code is in the test.
#pragma once

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <titan/titan_sdk.hpp>
#include <utility>
#include <vector>

#include "converters/container.h"
#include "converters/plugin_converter.h"
#include "plugins/error_slot.h"

namespace titan::test {

/// What the converters of this name do; empty functions do nothing.
struct Script {
  std::function<void(const sdk::Create&)> create;
  std::function<void(const sdk::Model&)> convert;
  std::function<void(const sdk::Hook&)> hook;
};

inline Script& script() {
  static Script current;
  return current;
}

/// What convert() was given last, for calls that the C++ layer does not make.
inline titan_model*& model_handle() {
  static titan_model* current = nullptr;
  return current;
}

class ScriptedConverter {
 public:
  explicit ScriptedConverter(const sdk::Create& create) {
    if (script().create) script().create(create);
  }
  void convert(const sdk::Model& model) const {
    if (script().convert) script().convert(model);
  }
  void post_optimizer_hook(const sdk::Hook& hook) const {
    if (script().hook) script().hook(hook);
  }
};

/// y = 0, in the shape and type of a linear module's output, and the backward of the test.
class ScriptedLinear final : public sdk::Impl {
 public:
  using Code = std::function<void(const sdk::Call&)>;
  explicit ScriptedLinear(Code backward, Code forward = {})
      : Impl(sdk::Gradients::kOwn), backward_(std::move(backward)), forward_(std::move(forward)) {}
  void forward(const sdk::Call& call) override {
    if (forward_) forward_(call);
    const sdk::TensorRef x = call.get("x"), weight = call.get("weight");
    std::vector<int64_t> shape = x.shape();
    shape.back() = weight.shape().front();
    sdk::Tensor y = sdk::Tensor::empty(x, x.info().dtype, shape);
    const titan_dl_tensor& view = y.ref().dl();
    std::memset(view.data, 0, static_cast<size_t>(y.ref().numel()) * view.dtype.bits / 8);
    call.set("y", std::move(y));
  }
  void backward(const sdk::Call& call) override { backward_(call); }

 private:
  Code backward_, forward_;
};

/// Converters "one", "two", ... of one plugin, all of them scripted; created, not yet applied.
inline std::unique_ptr<converters::ModelConvertersContainer> scripted(
    Script given, const std::vector<std::string>& names = {"one"},
    const converters::RunFacts& run = {}) {
  sdk::host_pointer() = &converters::host_table();
  script() = std::move(given);
  converters::Registry registry;
  std::vector<config::ConverterRequest> requests;
  for (const std::string& name : names) {
    titan_converter table = sdk::converter<ScriptedConverter>(name);
    table.convert = [](void* instance, titan_model* model) noexcept {
      model_handle() = model;
      return sdk::guard(
          [&] { static_cast<ScriptedConverter*>(instance)->convert(sdk::Model(model)); });
    };
    registry.register_model_converter(
        {name, "test", "scripted.so", {}},
        converters::plugin_converter_factory("scripted", "scripted.so", table));
    requests.push_back({name, name, {}, {}, {}, {}});
  }
  return std::make_unique<converters::ModelConvertersContainer>(registry, requests,
                                                                converters::DeviceFacts{}, run);
}

/// Expects `status` and a message of the host's with every part in it, a hint included.
inline void expect_refused(titan_status status, titan_status expected,
                           std::initializer_list<std::string> parts) {
  EXPECT_EQ(status, expected);
  const plugins::TakenError said = plugins::take_error(status);
  EXPECT_TRUE(said.by_host);
  for (const std::string& part : parts)
    EXPECT_NE((said.message + " " + said.hint).find(part), std::string::npos)
        << "'" << part << "' is missing in: " << said.message << "; " << said.hint;
}

}  // namespace titan::test
