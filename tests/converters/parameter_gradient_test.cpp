/// Gradients of parameters that a plugin's own backward gives: their type under mixed precision, and
/// sums over micro-batches that it adds to itself.
#include <ATen/TensorOperators.h>

#include <limits>

#include "base/error.h"
#include "converters/scripted_plugin.h"
#include "model/mixed_precision.h"
#include "model/recompute.h"
#include "support/expect_error.h"
#include "support/tiny_model.h"

namespace titan::converters {
namespace {

using sdk::BFloat16;
using sdk::Call;
using sdk::Tensor;
using sdk::TensorRef;
using test::expect_refused;
using test::ScriptedLinear;
using test::TinyModel;

constexpr titan_dl_dtype kFloat32{TITAN_DTYPE_FLOAT, 32, 1}, kFloat64{TITAN_DTYPE_FLOAT, 64, 1},
    kBFloat16{TITAN_DTYPE_BFLOAT, 16, 1};

/// Irregular float32 values that bfloat16 cannot hold.
at::Tensor values(at::IntArrayRef shape, int64_t seed) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  return (at::arange(count, at::kFloat) * 0.7310593f + static_cast<double>(seed)).sin().view(shape) + 1e-3;
}

/// `from` as a tensor of the plugin.
Tensor handed(TensorRef like, const at::Tensor& from) {
  const titan_dl_dtype dtype = from.scalar_type() == at::kDouble     ? kFloat64
                               : from.scalar_type() == at::kBFloat16 ? kBFloat16
                                                                     : kFloat32;
  Tensor made = Tensor::empty(like, dtype, from.sizes().vec());
  std::memcpy(made.ref().dl().data, from.const_data_ptr(), from.nbytes());
  return made;
}

void add_in_place(TensorRef sum, const at::Tensor& more) {
  float* to = sum.data<float>();
  const float* from = more.const_data_ptr<float>();
  for (int64_t i = 0; i < more.numel(); ++i) to[i] += from[i];
}

/// Zeros for x where they are asked for.
void leave_x(const Call& call) {
  if (call.needs_grad("x"))
    call.set_grad("x", handed(call.grad_output(), at::zeros({3, 4}).to(call.info().compute_dtype.bits == 16 ? at::kBFloat16
                                                                                                           : at::kFloat)));
}

class ParameterGradient : public ::testing::Test {
 protected:
  /// Replaces linear modules by zeros with this backward, and gives the model values.
  void replace(const std::vector<std::string>& fqns, const ScriptedLinear::Code& backward,
               const std::function<void(const sdk::Model&)>& more = {}, const ScriptedLinear::Code& forward = {}) {
    container_ = test::scripted({{}, [&](const sdk::Model& found) {
                                   for (const std::string& fqn : fqns)
                                     found.find(fqn)->replace(std::make_unique<ScriptedLinear>(backward, forward));
                                   if (more) more(found);
                                 }, {}});
    container_->convert(model_);
    model::materialize(model_, at::kCPU, 3);
  }
  void pass(int64_t micro_batch = 0, bool find_nonfinite = false) {
    model::CallContext context;
    context.step = 1;
    context.micro_batch = micro_batch;
    context.training = true;
    context.mixed_precision = mixed_ ? &precision_ : nullptr;
    context.find_nonfinite = find_nonfinite;
    const at::Tensor x = (at::arange(12, at::kFloat).view({3, 4}) / 10).requires_grad_();
    model_(context, {x}).sum().backward();
  }
  at::Tensor& weight(const std::string& fqn) { return model_.find(fqn)->parameter("weight").tensor; }

  TinyModel model_;
  model::MixedPrecision precision_{at::kBFloat16};
  bool mixed_ = true;
  std::unique_ptr<ModelConvertersContainer> container_;
};

TEST_F(ParameterGradient, InFloat32ArrivesUnroundedUnderMixedPrecision) {
  const at::Tensor given = values({2, 4}, 1);
  ASSERT_FALSE(at::equal(given.to(at::kBFloat16).to(at::kFloat), given));
  replace({"b"}, [&](const Call& call) {
    EXPECT_EQ(call.info().compute_dtype.bits, 16);
    EXPECT_EQ(call.get("weight").info().dtype.bits, 16);
    leave_x(call);
    call.set_grad("weight", handed(call.grad_output(), given));
  });
  pass();
  EXPECT_TRUE(at::equal(weight("b").grad(), given));
  pass(1);
  EXPECT_TRUE(at::equal(weight("b").grad(), given + given));
}

TEST_F(ParameterGradient, InTheComputeTypeIsAddedUpInFloat32) {
  const at::Tensor given = values({2, 4}, 1).to(at::kBFloat16);
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    call.set_grad("weight", handed(call.grad_output(), given));
  });
  for (int64_t i = 0; i < 3; ++i) pass(i);
  const at::Tensor wide = given.to(at::kFloat);
  EXPECT_EQ(weight("b").grad().scalar_type(), at::kFloat);
  EXPECT_TRUE(at::equal(weight("b").grad(), wide + wide + wide));
}

TEST_F(ParameterGradient, InAnyOtherTypeIsRefusedWithBothNamed) {
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    call.set_grad("weight", handed(call.grad_output(), values({2, 4}, 1).to(at::kDouble)));
  });
  test::expect_error(ExitStatus::kPlugin, {"type Double", "'weight'", "BFloat16 or Float", "module 'b'"}, [&] { pass(); });
}

TEST_F(ParameterGradient, OfAnInputHasTheComputeTypeOnly) {
  replace({"b"}, [&](const Call& call) {
    call.set_grad("x", handed(call.grad_output(), values({3, 4}, 1)));
    call.set_grad("weight", handed(call.grad_output(), values({2, 4}, 1)));
  });
  test::expect_error(ExitStatus::kPlugin, {"type Float", "'x'", "expected BFloat16 on", "module 'b'"}, [&] { pass(); });
}

/// Adds to the sum where there is one, and sets a gradient where there is none.
ScriptedLinear::Code adding(const std::vector<at::Tensor>& gradients, int64_t* calls, int64_t* in_place) {
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

TEST_F(ParameterGradient, AddedInPlaceOverThreeMicroBatchesIsTheSumBitForBit) {
  const std::vector<at::Tensor> gradients = {values({2, 4}, 1), values({2, 4}, 2), values({2, 4}, 3)};
  const at::Tensor expected = gradients[0] + gradients[1] + gradients[2];
  for (const bool mixed : {true, false})
    for (const bool recompute : {false, true}) {
      SCOPED_TRACE(std::string(mixed ? "mixed" : "float32") + (recompute ? ", recompute" : ""));
      TinyModel fresh;
      model::MixedPrecision precision(at::kBFloat16);
      int64_t calls = 0, in_place = 0;
      container_ = test::scripted({{}, [&](const sdk::Model& found) {
                                     found.find("b")->replace(
                                         std::make_unique<ScriptedLinear>(adding(gradients, &calls, &in_place)));
                                   }, {}});
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

TEST_F(ParameterGradient, InPlaceAndSetMayTakeTurns) {
  const std::vector<at::Tensor> gradients = {values({2, 4}, 1), values({2, 4}, 2), values({2, 4}, 3)};
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

TEST_F(ParameterGradient, OfTiedParametersAddUpWhicheverWayTheyCome) {
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
  replace({"a", "box.c"}, backward,
          [](const sdk::Model& found) { found.find("box.c")->tie("weight", *found.find("a"), "weight"); });
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
    std::memcpy(out.ref().dl().data, y.dl().data, static_cast<size_t>(y.numel()) * y.dl().dtype.bits / 8);
    call.set("y", std::move(out));
  }
  void backward(const Call& call) override {
    const TensorRef dy = call.grad_output();
    Tensor same = Tensor::empty_like(dy);
    std::memcpy(same.ref().dl().data, dy.dl().data, static_cast<size_t>(dy.numel()) * dy.dl().dtype.bits / 8);
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

TEST_F(ParameterGradient, OfAWrapIsAddedInPlaceAndTheStockWeightKeepsItsOwn) {
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
  EXPECT_TRUE(at::equal(model_.find("a")->parameter("one/gain").tensor.grad(), gradient + gradient));
  EXPECT_TRUE(at::equal(weight("a").grad(), stock + stock));
}

TEST_F(ParameterGradient, AFrozenParameterHasNoSum) {
  replace({"b"},
          [&](const Call& call) {
            leave_x(call);
            EXPECT_FALSE(call.needs_grad("weight"));
            EXPECT_FALSE(call.grad_accumulator("weight"));
          },
          [](const sdk::Model& found) { found.find("b")->freeze("weight"); });
  for (int64_t i = 0; i < 2; ++i) pass(i);
  EXPECT_FALSE(weight("b").grad().defined());
}

TEST_F(ParameterGradient, ASumThatOthersCouldSeeIsNotOffered) {
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

TEST_F(ParameterGradient, MisuseIsAnswered) {
  titan_call* dead = nullptr;
  titan_tensor *sum = nullptr, *dead_sum = nullptr;
  const titan_string weight_name = TITAN_STR("weight");
  replace(
      {"b"},
      [&](const Call& call) {
        const titan_host& host = sdk::host();
        leave_x(call);
        const auto ask = [&](titan_string name) { return host.call_grad_accumulator(call.get(), name, &sum); };
        expect_refused(ask(TITAN_STR("wieght")), TITAN_NOT_FOUND, {"'wieght'", "it has: x, weight"});
        expect_refused(ask(TITAN_STR("x")), TITAN_INVALID_ARGUMENT, {"'x' is not a parameter", "call_set_grad"});
        expect_refused(host.call_grad_accumulator(call.get(), weight_name, nullptr), TITAN_INVALID_ARGUMENT, {"NULL"});
        expect_refused(host.call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE,
                       {"no sum of gradients of 'weight'", "call_grad_accumulator"});
        ASSERT_EQ(ask(weight_name), TITAN_OK);
        if (call.info().micro_batch == 0) {
          EXPECT_EQ(sum, nullptr);
          expect_refused(host.call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE, {"call_set_grad"});
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
        expect_refused(host.call_set_grad(call.get(), weight_name, late.release()), TITAN_WRONG_STATE,
                       {"'weight' was added to its sum already"});
      },
      {},
      [&](const Call& call) {
        expect_refused(sdk::host().call_grad_accumulator(call.get(), weight_name, &sum), TITAN_WRONG_STATE, {"only in backward"});
        expect_refused(sdk::host().call_grad_accumulated(call.get(), weight_name), TITAN_WRONG_STATE, {"only in backward"});
      });
  for (int64_t i = 0; i < 2; ++i) pass(i);
  expect_refused(sdk::host().call_grad_accumulator(dead, weight_name, &sum), TITAN_WRONG_STATE, {"the call is over"});
  expect_refused(sdk::host().call_grad_accumulated(dead, weight_name), TITAN_WRONG_STATE, {"the call is over"});
  auto info = sized<titan_tensor_info>();
  expect_refused(sdk::host().tensor_info(dead_sum, &info), TITAN_WRONG_STATE, {"not alive"});
}

TEST_F(ParameterGradient, LeftOutIsStillAnError) {
  replace({"b"}, [&](const Call& call) {
    leave_x(call);
    call.grad_accumulator("weight");  // asked for, not used
    if (call.info().micro_batch == 0) call.set_grad("weight", handed(call.grad_output(), at::zeros({2, 4})));
  });
  pass(0);
  test::expect_error(ExitStatus::kPlugin, {"set no gradient for 'weight'", "module 'b'"}, [&] { pass(1); });
}

TEST_F(ParameterGradient, WhoMadeASumNotFiniteIsFound) {
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
  test::expect_error(ExitStatus::kPlugin, {"'weight' that is not finite", "module 'b'"}, [&] { pass(1, true); });
  // It was so before: somebody else's doing.
  pass(1, true);
  EXPECT_FALSE(at::isfinite(weight("b").grad()).any().item<bool>());
}

}  // namespace
}  // namespace titan::converters
