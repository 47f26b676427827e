/// The module tree: order of calls, slots, names, ties.
#include "model/module.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "model/layers/linear.h"
#include "support/expect_error.h"

namespace titan::model {
namespace {

using test::expect_error;

std::unique_ptr<Linear> linear(int64_t in, int64_t out, double value = 1.0) {
  return std::make_unique<Linear>(in, out, at::kFloat, InitRule::constant(value));
}

/// Two linears, the second under a name with a dot, as layers have it.
class Pair : public Module {
 public:
  Pair()
      : Module("pair"),
        first(add_child("first", linear(2, 2))),
        second(add_child("inner.0", linear(2, 2, 3.0))) {
    assign_names("");
  }
  Slot& first;
  Slot& second;

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override {
    return (*second)(context, {(*first)(context, inputs)});
  }
};

/// Writes down when it runs; adds `add` to the input and multiplies the output by `times`.
class LoggedWrap : public Wrap {
 public:
  LoggedWrap(std::string name, std::vector<std::string>& log, double add, double times)
      : name_(std::move(name)), log_(log), add_(add), times_(times) {}
  void before(Module&, const CallContext&, Inputs& inputs) override {
    log_.push_back("before " + name_);
    inputs[0] = inputs[0] + add_;
  }
  at::Tensor after(Module&, const CallContext&, const Inputs& inputs, at::Tensor output) override {
    log_.push_back("after " + name_ + " x=" + std::to_string(inputs[0].sum().item<int>()));
    return output * times_;
  }
  void drop() override { log_.push_back("drop " + name_); }

 private:
  std::string name_;
  std::vector<std::string>& log_;
  double add_, times_;
};

class LoggedObserver : public Observer {
 public:
  explicit LoggedObserver(std::vector<std::string>& log) : log_(log) {}
  void observe(Module&, const CallContext&, const Inputs& inputs,
               const at::Tensor& output) override {
    EXPECT_FALSE((output * 2).requires_grad()) << "observers run without gradients";
    log_.push_back("observe " + std::to_string(inputs[0].sum().item<int>()) + " -> " +
                   std::to_string(output.sum().item<int>()));
  }

 private:
  std::vector<std::string>& log_;
};

class Doubled : public Replacement {
 public:
  explicit Doubled(bool& dropped) : dropped_(dropped) {}
  at::Tensor forward(Module& module, const CallContext&, const Inputs& inputs) override {
    return at::linear(inputs[0], module.parameter("weight").tensor) * 2;
  }
  void drop() override { dropped_ = true; }

 private:
  bool& dropped_;
};

TEST(Module, WrapsNestAndObserversSeeTheOutside) {
  auto module = linear(2, 1);
  module->assign_names("m");
  materialize(*module, at::kCPU, 0);
  std::vector<std::string> log;
  module->add_wrap(std::make_unique<LoggedWrap>("inner", log, 1, 10));
  module->add_wrap(std::make_unique<LoggedWrap>("outer", log, 100, 2));
  module->add_observer(std::make_unique<LoggedObserver>(log));
  const at::Tensor y = (*module)({}, {at::zeros({1, 2})});
  // ((0 + 100) + 1) * 2 elements = 202, * 10 * 2.
  EXPECT_EQ(y.item<int>(), 4040);
  EXPECT_TRUE(y.requires_grad());
  const std::vector<std::string> expected = {"before outer", "before inner", "after inner x=202",
                                             "after outer x=200", "observe 0 -> 4040"};
  EXPECT_EQ(log, expected);
}

TEST(Module, ReplacementUsesTheParametersOfTheModule) {
  Pair pair;
  materialize(pair, at::kCPU, 0);
  bool dropped = false;
  const at::Tensor stock = pair({}, {at::ones({1, 2})});
  pair.find("inner.0")->set_replacement(std::make_unique<Doubled>(dropped));
  EXPECT_TRUE(pair.find("inner.0")->replaced());
  const at::Tensor y = pair({}, {at::ones({1, 2})});
  EXPECT_TRUE(at::equal(y, stock * 2));
  y.sum().backward();
  EXPECT_TRUE(pair.find("inner.0")->parameter("weight").tensor.grad().defined());
  EXPECT_TRUE(pair.find("first")->parameter("weight").tensor.grad().defined());
  std::vector<std::string> log;
  pair.second->add_wrap(std::make_unique<LoggedWrap>("w", log, 0, 1));
  pair.second->drop_caches();
  EXPECT_TRUE(dropped);
  EXPECT_EQ(log, std::vector<std::string>{"drop w"});
  expect_error(ExitStatus::kInternal, {"replaced twice", "inner.0"},
               [&] { pair.second->set_replacement(std::make_unique<Doubled>(dropped)); });
}

TEST(Module, SlotExchangeTakesEffectAndKeepsTheName) {
  Pair pair;
  pair.second.exchange(linear(2, 2, 5.0));
  EXPECT_EQ(pair.find("inner.0")->fqn(), "inner.0");
  materialize(pair, at::kCPU, 0);
  const at::Tensor y = pair({}, {at::ones({1, 2})});
  EXPECT_EQ(y.sum().item<int>(), 2 * 2 * 10);
  expect_error(ExitStatus::kUsage, {"'pair'", "'linear'", "inner.0"},
               [&] { pair.second.exchange(std::make_unique<Pair>()); });
  expect_error(ExitStatus::kInternal, {"cannot be emptied"},
               [&] { pair.second.exchange(nullptr); });
}

TEST(Module, NamesFindAndVisit) {
  Pair pair;
  EXPECT_EQ(pair.find(""), &pair);
  EXPECT_EQ(pair.find("inner.0")->kind(), "linear");
  EXPECT_EQ(pair.find("inner"), nullptr);
  EXPECT_EQ(pair.find("inner.00"), nullptr);
  EXPECT_EQ(pair.find("first.x"), nullptr);
  std::vector<std::string> visited;
  visit_modules(pair, [&](Module& module) { visited.push_back(module.fqn()); });
  EXPECT_EQ(visited, (std::vector<std::string>{"", "first", "inner.0"}));
  expect_error(ExitStatus::kInternal, {"'bias'", "inner.0"},
               [&] { pair.second->parameter("bias"); });
}

TEST(Module, TiedParametersAreListedOnceAndStayTied) {
  Pair pair;
  pair.second->parameters()[0].parameter = pair.first->parameters()[0].parameter;
  const auto named = named_parameters(pair);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].fqn, "first.weight");
  materialize(pair, at::kCPU, 0);
  pair({}, {at::ones({1, 2})}).sum().backward();
  // d/dw of both uses: 2 paths through first (2 rows summed) + first's output through the second.
  EXPECT_EQ(pair.first->parameter("weight").tensor.grad().sum().item<int>(), 8 + 8);
}

TEST(Module, AddedParametersAndBuffersHaveTheirOwnNamesOnDisk) {
  Pair pair;
  auto added = std::make_shared<Parameter>();
  added->tensor = at::empty({3}, at::TensorOptions().device(at::kMeta));
  added->stored_as = "lora/first.a";
  pair.first->attach_parameter("lora/a", added);
  auto buffer = std::make_shared<Buffer>();
  buffer->tensor = at::empty({3}, at::TensorOptions().device(at::kMeta));
  pair.first->attach_buffer("lora/b", buffer);
  std::vector<std::string> names;
  for (const auto& named : named_parameters(pair)) names.push_back(named.fqn);
  EXPECT_EQ(names, (std::vector<std::string>{"first.weight", "lora/first.a", "inner.0.weight"}));
  ASSERT_EQ(named_buffers(pair).size(), 1u);
  EXPECT_EQ(named_buffers(pair)[0].fqn, "first.lora/b");
  expect_error(ExitStatus::kInternal, {"'lora/b' is taken", "first"},
               [&] { pair.first->attach_parameter("lora/b", added); });
}

TEST(Module, InputsAreChecked) {
  auto module = linear(2, 2);
  module->assign_names("wq");
  materialize(*module, at::kCPU, 0);
  expect_error(ExitStatus::kInternal, {"input 'x' is missing", "'wq' (linear)"},
               [&] { (*module)({}, {}); });
  expect_error(ExitStatus::kInternal, {"got 2 inputs", "at most 1"}, [&] {
    (*module)({}, {at::ones({2}), at::ones({2})});
  });
}

}  // namespace
}  // namespace titan::model
