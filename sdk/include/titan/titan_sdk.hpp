/// The C++ layer of the titan SDK (C++17). Header-only, links nothing.
///
/// A whole plugin that doubles the output of every linear layer:
///
/// [example]
/// #include <titan/titan_sdk.hpp>
///
/// TITAN_NOTE(R"({"name": "double", "version": "1.0.0", "api_min": 1, "api_built": 1,
///   "tier": "none", "converters": [{"name": "double", "summary": "y = 2 y", "options": []}]})");
///
/// using namespace titan::sdk;
///
/// Tensor twice(TensorRef in) {
///   Tensor out = Tensor::empty_like(in);
///   for (int64_t i = 0; i < in.numel(); ++i) out.ref().data<float>()[i] = 2 * in.data<float>()[i];
///   return out;
/// }
/// struct Twice : Impl {
///   Twice() : Impl(Gradients::kOwn) {}
///   void forward(const Call& call) override { call.set("y", twice(call.get("y"))); }
///   void backward(const Call& call) override { call.set_grad("y", twice(call.grad_output())); }
/// };
/// struct Double {
///   explicit Double(const Create&) {}
///   void convert(const Model& model) {
///     for (const Module& module : model.modules("linear"))
///       module.wrap_after(std::make_unique<Twice>());
///   }
/// };
/// TITAN_CONVERTERS(converter<Double>("double"))
/// [/example]
#pragma once

#include "cpp/converter.hpp"
#include "titan_sdk.h"
