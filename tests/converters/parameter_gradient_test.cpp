/// Types in which a plugin's own backward may set gradients of parameters, under mixed precision.
#include "converters/parameter_gradient.h"
#include "base/error.h"
#include "support/expect_error.h"

namespace titan::converters {
namespace {

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
  test::expect_error(ExitStatus::kPlugin,
                     {"type Double", "'weight'", "BFloat16 or Float", "module 'b'"},
                     [&] { pass(); });
}

TEST_F(ParameterGradient, OfAnInputHasTheComputeTypeOnly) {
  replace({"b"}, [&](const Call& call) {
    call.set_grad("x", handed(call.grad_output(), values({3, 4}, 1)));
    call.set_grad("weight", handed(call.grad_output(), values({2, 4}, 1)));
  });
  test::expect_error(ExitStatus::kPlugin,
                     {"type Float", "'x'", "expected BFloat16 on", "module 'b'"}, [&] { pass(); });
}

}  // namespace
}  // namespace titan::converters
