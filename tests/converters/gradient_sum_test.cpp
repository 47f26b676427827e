/// Sums of gradients over micro-batches that a plugin's own backward adds to itself.
#include <limits>

#include "base/error.h"
#include "converters/parameter_gradient.h"
#include "model/recompute.h"
#include "support/expect_error.h"

namespace titan::converters {
namespace {

using test::expect_refused;
using GradientSum = ParameterGradient;

/// Adds to the sum where there is one, and sets a gradient where there is none.
ScriptedLinear::Code adding(const std::vector<at::Tensor>& gradients, int64_t* calls,
                            int64_t* in_place) {
  return [&gradients, calls, in_place](const Call& call) {
    leave_x(call);
    const at::Tensor& mine = gradients.at(static_cast<size_t>((*calls)++));
    if (const TensorRef sum = call.grad_accumulator("weight")) {
      EXPECT_EQ(sum.shape(), mine.sizes().vec());
      add_in_place(sum, mine);
      call.grad_accumulated("weight");
      ++*in_place;
    } else {
      call.set_grad("weight", handed(call.grad_output(), mine));
    }
  };
}

TEST_F(GradientSum, AddedInPlaceOverThreeMicroBatchesIsTheSumBitForBit) {
  const std::vector<at::Tensor> gradients = {values({2, 4}, 1), values({2, 4}, 2),
                                             values({2, 4}, 3)};
  const at::Tensor expected = gradients[0] + gradients[1] + gradients[2];
  for (const bool mixed : {true, false})
    for (const bool recompute : {false, true}) {
      SCOPED_TRACE(std::string(mixed ? "mixed" : "float32") + (recompute ? ", recompute" : ""));
      TinyModel fresh;
      model::MixedPrecision precision(at::kBFloat16);
      int64_t calls = 0, in_place = 0;
      container_ = test::scripted({{},
                                   [&](const sdk::Model& found) {
                                     found.find("b")->replace(std::make_unique<ScriptedLinear>(
                                         adding(gradients, &calls, &in_place)));
                                   },
                                   {}});
      container_->convert(fresh);
      if (recompute) fresh.find("b")->set_recompute(model::Recompute::kAll);
      model::materialize(fresh, at::kCPU, 3);
      at::Tensor& leaf = fresh.find("b")->parameter("weight").tensor;
      const void* memory = nullptr;
      for (int64_t i = 0; i < 3; ++i) {
        model::CallContext context;
        context.step = 1;
        context.micro_batch = i;
        context.training = true;
        context.mixed_precision = mixed ? &precision : nullptr;
        fresh(context, {values({3, 4}, 9)}).sum().backward();
        if (i == 0) memory = leaf.grad().const_data_ptr();
        EXPECT_EQ(leaf.grad().const_data_ptr(), memory);
      }
      EXPECT_EQ(calls, 3);
      EXPECT_EQ(in_place, 2);
      EXPECT_TRUE(at::equal(leaf.grad(), expected));
    }
}

TEST_F(GradientSum, InPlaceAndSetMayTakeTurns) {
  const std::vector<at::Tensor> gradients = {values({2, 4}, 1), values({2, 4}, 2),
                                             values({2, 4}, 3)};
  int64_t calls = 0, in_place = 0;
  replace({"b"}, [&](const Call& call) {
    if (calls == 1) {
      leave_x(call);
      EXPECT_TRUE(call.grad_accumulator("weight"));  // looked at and left alone
      call.set_grad("weight", handed(call.grad_output(), gradients[1]));
      ++calls;
    } else {
      adding(gradients, &calls, &in_place)(call);
    }
  });
  for (int64_t i = 0; i < 3; ++i) pass(i);
  EXPECT_EQ(in_place, 1);
  EXPECT_TRUE(at::equal(weight("b").grad(), gradients[0] + gradients[1] + gradients[2]));
}

TEST_F(GradientSum, OfTiedParametersAddUpWhicheverWayTheyCome) {
  // Gradients of "a" and "box.c", which share one weight; powers of two, so that no order rounds.
  const at::Tensor of_a = at::full({4, 4}, 1.0f / 1024 + 1), of_c = at::full({4, 4}, 2.0f);
  int64_t in_place = 0;
  const auto backward = [&](const Call& call) {
    leave_x(call);
    const at::Tensor& mine = titan_equal(call.info().fqn, "a") ? of_a : of_c;
    if (const TensorRef sum = call.grad_accumulator("weight")) {
      add_in_place(sum, mine);
      call.grad_accumulated("weight");
      ++in_place;
    } else {
      call.set_grad("weight", handed(call.grad_output(), mine));
    }
  };
  replace({"a", "box.c"}, backward, [](const sdk::Model& found) {
    found.find("box.c")->tie("weight", *found.find("a"), "weight");
  });
  ASSERT_TRUE(weight("a").is_same(weight("box.c")));
  for (int64_t i = 0; i < 2; ++i) pass(i);
  EXPECT_EQ(in_place, 2);
  EXPECT_TRUE(at::equal(weight("a").grad(), (of_a + of_c) * 2));
}

/// y + 0 gain, with a gradient for the gain: what a wrap adds is a parameter like others.
class GainWrap final : public sdk::Impl {
 public:
  explicit GainWrap(const at::Tensor& gradient) : Impl(sdk::Gradients::kOwn), gradient_(gradient) {}
  void forward(const Call& call) override {
    const TensorRef y = call.get("y");
    Tensor out = Tensor::empty_like(y);
    std::memcpy(out.ref().dl().data, y.dl().data,
                static_cast<size_t>(y.numel()) * y.dl().dtype.bits / 8);
    call.set("y", std::move(out));
  }
  void backward(const Call& call) override {
    const TensorRef dy = call.grad_output();
    Tensor same = Tensor::empty_like(dy);
    std::memcpy(same.ref().dl().data, dy.dl().data,
                static_cast<size_t>(dy.numel()) * dy.dl().dtype.bits / 8);
    call.set_grad("y", std::move(same));
    if (const TensorRef sum = call.grad_accumulator("gain")) {
      add_in_place(sum, gradient_);
      call.grad_accumulated("gain");
    } else {
      call.set_grad("gain", handed(dy, gradient_));
    }
  }

 private:
  at::Tensor gradient_;
};

TEST_F(GradientSum, OfAWrapIsAddedInPlaceAndTheStockWeightKeepsItsOwn) {
  const at::Tensor gradient = values({4}, 5);
  replace({}, {}, [&](const sdk::Model& found) {
    const sdk::Module a = *found.find("a");
    a.add_parameter("gain", {4}, sdk::init_constant(1));
    a.wrap_after(std::make_unique<GainWrap>(gradient));
  });
  mixed_ = false;
  pass(0);
  const at::Tensor stock = weight("a").grad().clone();
  pass(1);
  EXPECT_TRUE(
      at::equal(model_.find("a")->parameter("one/gain").tensor.grad(), gradient + gradient));
  EXPECT_TRUE(at::equal(weight("a").grad(), stock + stock));
}

TEST_F(GradientSum, AFrozenParameterHasNoSum) {
  replace(
      {"b"},
      [&](const Call& call) {
        leave_x(call);
        EXPECT_FALSE(call.needs_grad("weight"));
        EXPECT_FALSE(call.grad_accumulator("weight"));
      },
      [](const sdk::Model& found) { found.find("b")->freeze("weight"); });
  for (int64_t i = 0; i < 2; ++i) pass(i);
  EXPECT_FALSE(weight("b").grad().defined());
}

TEST_F(GradientSum, ASumThatOthersCouldSeeIsNotOffered) {
  int64_t offered = 0;
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    if (call.grad_accumulator("weight")) ++offered;
    call.set_grad("weight", handed(call.grad_output(), at::zeros({2, 4})));
  });
  const at::Tensor whole = at::zeros({8, 4});
  weight("b").mutable_grad() = whole.narrow(0, 2, 2);  // memory that `whole` shows, too
  pass(1);
  weight("b").mutable_grad() = at::zeros({4, 2}).t();
  pass(1);
  weight("b").mutable_grad() = at::zeros({2, 4}).requires_grad_();  // as create_graph leaves it
  pass(1);
  EXPECT_EQ(offered, 0);
  weight("b").mutable_grad() = at::zeros({2, 4});
  pass(1);
  EXPECT_EQ(offered, 1);
}

TEST_F(GradientSum, MisuseIsAnswered) {
  titan_call* dead = nullptr;
  titan_tensor *sum = nullptr, *dead_sum = nullptr;
  const titan_string weight_name = TITAN_STR("weight");
  replace(
      {"b"},
      [&](const Call& call) {
        const titan_host& host = sdk::host();
        leave_x(call);
        const auto ask = [&](titan_string name) {
          return host.call_grad_accumulator(call.get(), name, &sum);
        };
        expect_refused(ask(TITAN_STR("wieght")), TITAN_NOT_FOUND,
                       {"'wieght'", "it has: x, weight"});
        expect_refused(ask(TITAN_STR("x")), TITAN_INVALID_ARGUMENT,
                       {"'x' is not a parameter", "call_set_grad"});
        expect_refused(host.call_grad_accumulator(call.get(), weight_name, nullptr),
                       TITAN_INVALID_ARGUMENT, {"NULL"});
        expect_refused(host.call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE,
                       {"no sum of gradients of 'weight'", "call_grad_accumulator"});
        ASSERT_EQ(ask(weight_name), TITAN_OK);
        if (call.info().micro_batch == 0) {
          EXPECT_EQ(sum, nullptr);
          expect_refused(host.call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE,
                         {"call_set_grad"});
          call.set_grad("weight", handed(call.grad_output(), at::zeros({2, 4})));
          expect_refused(ask(weight_name), TITAN_WRONG_STATE, {"'weight' was set already"});
          return;
        }
        ASSERT_NE(sum, nullptr);
        dead = call.get();
        dead_sum = sum;
        ASSERT_EQ(host.call_grad_accumulated(call.get(), weight_name), TITAN_OK);
        expect_refused(host.call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE,
                       {"'weight' was added to its sum already"});
        Tensor late = handed(call.grad_output(), at::zeros({2, 4}));
        expect_refused(host.call_set_grad(call.get(), weight_name, late.release()),
                       TITAN_WRONG_STATE, {"'weight' was added to its sum already"});
      },
      {},
      [&](const Call& call) {
        expect_refused(sdk::host().call_grad_accumulator(call.get(), weight_name, &sum),
                       TITAN_WRONG_STATE, {"only in backward"});
        expect_refused(sdk::host().call_grad_accumulated(call.get(), weight_name),
                       TITAN_WRONG_STATE, {"only in backward"});
      });
  for (int64_t i = 0; i < 2; ++i) pass(i);
  expect_refused(sdk::host().call_grad_accumulator(dead, weight_name, &sum), TITAN_WRONG_STATE,
                 {"the call is over"});
  expect_refused(sdk::host().call_grad_accumulated(dead, weight_name), TITAN_WRONG_STATE,
                 {"the call is over"});
  auto info = sized<titan_tensor_info>();
  expect_refused(sdk::host().tensor_info(dead_sum, &info), TITAN_WRONG_STATE, {"not alive"});
}

TEST_F(GradientSum, LeftOutIsStillAnError) {
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    call.grad_accumulator("weight");  // asked for, not used
    if (call.info().micro_batch == 0)
      call.set_grad("weight", handed(call.grad_output(), at::zeros({2, 4})));
  });
  pass(0);
  test::expect_error(ExitStatus::kPlugin, {"set no gradient for 'weight'", "module 'b'"},
                     [&] { pass(1); });
}

TEST_F(GradientSum, WhoMadeASumNotFiniteIsFound) {
  double more = 0;
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    const TensorRef sum = call.grad_accumulator("weight");
    ASSERT_TRUE(sum);
    add_in_place(sum, at::full({2, 4}, more, at::kFloat));
    call.grad_accumulated("weight");
  });
  weight("b").mutable_grad() = at::zeros({2, 4});
  pass(1, true);
  more = std::numeric_limits<double>::infinity();
  test::expect_error(ExitStatus::kPlugin, {"'weight' that is not finite", "module 'b'"},
                     [&] { pass(1, true); });
  // It was so before: somebody else's doing.
  pass(1, true);
  EXPECT_FALSE(at::isfinite(weight("b").grad()).any().item<bool>());
}

}  // namespace
}  // namespace titan::converters
