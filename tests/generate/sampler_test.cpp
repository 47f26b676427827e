/// Which tokens can be drawn, how often, and what is refused.
#include "generate/sampler.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "support/expect_error.h"

namespace titan::generate {
namespace {

using test::expect_error;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

at::Tensor logits_of(const std::vector<double>& probabilities) {
  return at::tensor(probabilities, at::kDouble).log();
}

std::map<int64_t, double> shares(const SamplingOptions& options, const at::Tensor& logits,
                                 int64_t draws = 20000) {
  Sampler sampler(options, 0);
  std::map<int64_t, double> count;
  for (int64_t i = 0; i < draws; ++i)
    count[sampler.pick(logits, logits.numel())] += 1.0 / static_cast<double>(draws);
  return count;
}

TEST(Sampler, DrawsByProbability) {
  const auto found = shares({}, logits_of({0.5, 0.3, 0.15, 0.05}));
  EXPECT_NEAR(found.at(0), 0.5, 0.015);
  EXPECT_NEAR(found.at(1), 0.3, 0.015);
  EXPECT_NEAR(found.at(2), 0.15, 0.01);
  EXPECT_NEAR(found.at(3), 0.05, 0.007);
}

TEST(Sampler, TemperatureSharpensAndZeroTakesTheLikeliest) {
  SamplingOptions options;
  options.temperature = 0.5;  // squares the probabilities: 0.64 and 0.04, of 0.68
  EXPECT_NEAR(shares(options, logits_of({0.8, 0.2})).at(0), 0.64 / 0.68, 0.01);
  options.temperature = 0;
  Sampler greedy(options, 3);
  EXPECT_EQ(greedy.pick(at::tensor({0.5, 2.0, 2.0, -1.0}, at::kDouble), 4), 1);
  options.temperature = 1e-300;
  Sampler nearly(options, 3);
  EXPECT_EQ(nearly.pick(at::tensor({0.5, 2.0, 1.0}, at::kDouble), 3), 1);
}

TEST(Sampler, TopKAndTopPCutTheTail) {
  const at::Tensor logits = logits_of({0.1, 0.4, 0.3, 0.2});
  SamplingOptions options;
  options.top_k = 2;
  auto found = shares(options, logits);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_NEAR(found.at(1), 4.0 / 7.0, 0.015);
  options.top_k = 0;
  options.top_p = 0.69;  // 0.4 is not enough, 0.7 is
  found = shares(options, logits);
  EXPECT_EQ(found.size(), 2u);
  EXPECT_NEAR(found.at(2), 3.0 / 7.0, 0.015);
  options.top_p = 0.71;
  EXPECT_EQ(shares(options, logits).size(), 3u);
  options.top_p = 1e-9;
  EXPECT_EQ(shares(options, logits).size(), 1u);
  // Of the two that top_k leaves, 0.4 / 0.7 is enough.
  options.top_k = 2;
  options.top_p = 0.5;
  EXPECT_EQ(shares(options, logits).size(), 1u);
}

TEST(Sampler, SeedAndTextDecide) {
  const at::Tensor logits = at::zeros({1000});
  const auto draw = [&](uint64_t seed, int64_t text) {
    Sampler sampler({.seed = seed}, text);
    std::vector<int64_t> ids;
    for (int i = 0; i < 8; ++i) ids.push_back(sampler.pick(logits, 1000));
    return ids;
  };
  EXPECT_EQ(draw(1, 0), draw(1, 0));
  EXPECT_NE(draw(1, 0), draw(2, 0));
  EXPECT_NE(draw(1, 0), draw(1, 1));
  EXPECT_NE(draw(1, 0), draw(1 + (uint64_t{1} << 32), 0));
}

TEST(Sampler, IdsThatTheTokenizerLacksAndForbiddenOnesAreNeverChosen) {
  Sampler sampler({}, 0);
  const at::Tensor logits = at::tensor({1.0, -kInfinity, 1.0, 50.0}, at::kDouble);
  std::set<int64_t> seen;
  for (int i = 0; i < 300; ++i) seen.insert(sampler.pick(logits, 3));
  EXPECT_EQ(seen, (std::set<int64_t>{0, 2}));
}

TEST(Sampler, BrokenNumbersAreNamed) {
  Sampler sampler({}, 0);
  expect_error(ExitStatus::kDiverged, {"token 1", "finite"}, [&] {
    sampler.pick(at::tensor({0.0, std::nan(""), 1.0}, at::kDouble), 3);
  });
  expect_error(ExitStatus::kDiverged, {"token 2"}, [&] {
    sampler.pick(at::tensor({0.0, 1.0, kInfinity}, at::kDouble), 3);
  });
  expect_error(ExitStatus::kDiverged, {"no token"}, [&] {
    sampler.pick(at::tensor({-kInfinity, -kInfinity}, at::kDouble), 2);
  });
}

TEST(Sampler, OptionsOutOfRangeAreNamed) {
  expect_error(ExitStatus::kUsage, {"temperature"}, [] { Sampler({.temperature = -0.1}, 0); });
  expect_error(ExitStatus::kUsage, {"temperature"},
               [] { Sampler({.temperature = std::nan("")}, 0); });
  expect_error(ExitStatus::kUsage, {"top_k"}, [] { Sampler({.top_k = -1}, 0); });
  expect_error(ExitStatus::kUsage, {"top_p"}, [] { Sampler({.top_p = 0}, 0); });
  expect_error(ExitStatus::kUsage, {"top_p"}, [] { Sampler({.top_p = 1.01}, 0); });
}

}  // namespace
}  // namespace titan::generate
