/// The rate over the steps, against another trainer's factors.
#include "optim/lr_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "golden/golden_data.h"
#include "support/expect_error.h"

namespace titan::optim {
namespace {

std::vector<double> factors(const LrSchedule& schedule, int64_t count) {
  std::vector<double> result;
  for (int64_t step = 0; step < count; ++step) result.push_back(schedule.factor(step));
  return result;
}

TEST(LrSchedule, EqualsEveryGoldenSetting) {
  const auto settings = test::GoldenFolder("llama").json("lr_schedules.json");
  ASSERT_FALSE(settings.empty());
  for (const auto& setting : settings) {
    LrScheduleOptions options;
    options.total_steps = setting.at("total_steps");
    options.warmup_steps = setting.at("warmup_steps");
    if (!setting.at("decay_ratio").is_null())
      options.decay_ratio = setting.at("decay_ratio").get<double>();
    options.decay_shape = parse_decay_shape(setting.at("decay_type"));
    options.min_lr_factor = setting.at("min_lr_factor");
    const LrSchedule schedule(options);
    const std::vector<double> expected = setting.at("factors");
    for (size_t step = 0; step < expected.size(); ++step)
      EXPECT_NEAR(schedule.factor(static_cast<int64_t>(step)), expected[step], 1e-12)
          << setting.dump() << " step " << step;
  }
}

TEST(LrSchedule, DecayStepsRoundHalfToEven) {
  // 5 * 0.5 = 2.5 gives 2 steps, 7 * 0.5 = 3.5 gives 4.
  EXPECT_EQ(factors(LrSchedule({.total_steps = 5, .warmup_steps = 0, .decay_ratio = 0.5}), 5),
            (std::vector<double>{1, 1, 1, 1, 0.5}));
  EXPECT_EQ(factors(LrSchedule({.total_steps = 7, .warmup_steps = 0, .decay_ratio = 0.5}), 7),
            (std::vector<double>{1, 1, 1, 1, 0.75, 0.5, 0.25}));
}

TEST(LrSchedule, KeepsItsEndBeyondTheLastStep) {
  const LrSchedule to_zero({.total_steps = 10, .warmup_steps = 2});
  EXPECT_GT(to_zero.factor(9), 0.0);
  for (const int64_t step : {10, 11, 12, 1000}) EXPECT_EQ(to_zero.factor(step), 0.0) << step;
  for (const DecayShape shape : {DecayShape::kLinear, DecayShape::kSqrt, DecayShape::kCosine}) {
    const LrSchedule schedule(
        {.total_steps = 10, .warmup_steps = 2, .decay_shape = shape, .min_lr_factor = 0.1});
    for (const int64_t step : {10, 11, 1000}) EXPECT_NEAR(schedule.factor(step), 0.1, 1e-15);
  }
  const LrSchedule constant({.total_steps = 10, .warmup_steps = 2, .decay_ratio = 0.0});
  for (const int64_t step : {2, 9, 10, 11, 1000}) EXPECT_EQ(constant.factor(step), 1.0) << step;
}

TEST(LrSchedule, WhatDoesNotFitIsShortenedWithAWarning) {
  const LrSchedule warm({.total_steps = 4, .warmup_steps = 200});
  EXPECT_EQ(factors(warm, 4), (std::vector<double>{0.25, 0.5, 0.75, 1}));
  ASSERT_EQ(warm.warnings().size(), 1u);
  EXPECT_NE(warm.warnings()[0].find("warmup_steps (200)"), std::string::npos);
  const LrSchedule both({.total_steps = 10, .warmup_steps = 4, .decay_ratio = 0.8});
  ASSERT_EQ(both.warnings().size(), 1u);
  EXPECT_NE(both.warnings()[0].find("shortened to 6"), std::string::npos);
  EXPECT_EQ(factors(both, 10), factors(LrSchedule({.total_steps = 10, .warmup_steps = 4}), 10));
  EXPECT_TRUE(
      LrSchedule({.total_steps = 10, .warmup_steps = 2, .decay_ratio = 0.8}).warnings().empty());
}

TEST(LrSchedule, BadOptionsAreRefused) {
  using test::expect_error;
  const auto refused = [](const char* key, LrScheduleOptions options) {
    expect_error(ExitStatus::kUsage, {key}, [&] { LrSchedule schedule(options); });
  };
  refused("total_steps", {.total_steps = 0});
  refused("warmup_steps", {.total_steps = 5, .warmup_steps = -1});
  refused("decay_ratio", {.total_steps = 5, .decay_ratio = 1.5});
  refused("decay_ratio", {.total_steps = 5, .decay_ratio = std::nan("")});
  refused("min_lr_factor", {.total_steps = 5, .min_lr_factor = -0.1});
  expect_error(ExitStatus::kUsage, {"'cosin'", "did you mean 'cosine'", "lr_scheduler.decay_type"},
               [] { parse_decay_shape("cosin"); });
}

}  // namespace
}  // namespace titan::optim
