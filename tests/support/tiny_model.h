/// A model of a few linear layers for tests: root (decoder) with `a`, `b` and `box.c`.
#pragma once

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <memory>
#include <string>
#include <vector>

#include "model/mixed_precision.h"
#include "model/module.h"

namespace titan::test {

class TinyLinear final : public model::Module {
 public:
  TinyLinear(int64_t in, int64_t out) : Module("linear") {
    set_attribute("in_features", static_cast<double>(in));
    set_attribute("out_features", static_cast<double>(out));
    add_parameter("weight", {out, in}, at::kFloat, model::InitRule::normal(0.0, 0.5));
  }

 protected:
  at::Tensor forward(const model::CallContext& context, const model::Inputs& inputs) override {
    return at::matmul(inputs[0], model::compute_value(context, kind(), parameter("weight")).t());
  }
};

class TinyBox final : public model::Module {
 public:
  TinyBox() : Module("feed_forward"), c_(add_child("c", std::make_unique<TinyLinear>(4, 4))) {
    set_attribute("dim", 4);
    set_attribute("hidden_dim", 4);
  }

 protected:
  at::Tensor forward(const model::CallContext& context, const model::Inputs& inputs) override {
    return (*c_)(context, {at::tanh(inputs[0])});
  }

 private:
  model::Slot& c_;
};

/// y = b(box(a(x))); x is [n, 4].
class TinyModel final : public model::Module {
 public:
  TinyModel()
      : Module("tiny"),
        a_(add_child("a", std::make_unique<TinyLinear>(4, 4))),
        box_(add_child("box", std::make_unique<TinyBox>())),
        b_(add_child("b", std::make_unique<TinyLinear>(4, 2))) {
    assign_names("");
  }
  at::Tensor run(const at::Tensor& x, bool training = true) {
    model::CallContext context;
    context.step = 1;
    context.training = training;
    return (*this)(context, {x});
  }

 protected:
  at::Tensor forward(const model::CallContext& context, const model::Inputs& inputs) override {
    return (*b_)(context, {(*box_)(context, {(*a_)(context, {inputs[0]})})});
  }

 private:
  model::Slot& a_;
  model::Slot& box_;
  model::Slot& b_;
};

}  // namespace titan::test
