/// Steps that are not finite, random states, what makes a resume inexact, signals.
#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.h"
#include "support/tiny_model.h"
#include "train/nonfinite_guard.h"
#include "train/random_state.h"
#include "train/run_record.h"
#include "train/signals.h"
#include "train/state_backup.h"

namespace titan::train {
namespace {

using test::expect_error;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(NonfiniteGuardTest, Stops) {
  const NonfiniteGuard guard(config::Training(), {"float8", "lora"});
  checkpoint::RunPosition position;
  EXPECT_FALSE(guard.skips());
  EXPECT_FALSE(guard.must_skip(1, 8.0, 1.0, position));
  expect_error(ExitStatus::kDiverged, {"the loss is not finite in step 7", "float8, lora"},
               [&] { guard.must_skip(7, kNan, 1.0, position); });
  expect_error(ExitStatus::kDiverged, {"the gradient norm is not finite in step 7"},
               [&] { guard.must_skip(7, 1.0, kInf, position); });
  EXPECT_EQ(position, checkpoint::RunPosition());
}

TEST(NonfiniteGuardTest, SkipsUntilThereAreTooManyInARow) {
  config::Training training;
  training.on_nonfinite = "skip";
  training.max_skipped_steps = 2;
  const NonfiniteGuard guard(training, {});
  checkpoint::RunPosition position;
  EXPECT_TRUE(guard.must_skip(1, kInf, 1.0, position));
  EXPECT_TRUE(guard.must_skip(2, 1.0, -kInf, position));
  EXPECT_FALSE(guard.must_skip(3, 1.0, 1.0, position));  // the row begins anew
  EXPECT_TRUE(guard.must_skip(4, kNan, kNan, position));
  EXPECT_TRUE(guard.must_skip(5, kNan, kNan, position));
  EXPECT_EQ(position.skipped_steps, 4);
  EXPECT_EQ(position.skipped_in_a_row, 2);
  expect_error(ExitStatus::kDiverged,
               {"step 6", "2 skipped steps in a row", "training.max_skipped_steps"},
               [&] { guard.must_skip(6, kNan, kNan, position); });
}

TEST(StateBackupTest, BringsBackBuffersAndLeavesParametersAlone) {
  test::TinyModel root;
  auto buffer = std::make_shared<model::Buffer>();
  buffer->tensor = at::empty({2}, at::TensorOptions().device(at::kMeta));
  buffer->init = model::InitRule::constant(3);
  root.find("a")->attach_buffer("amax", buffer);
  model::materialize(root, at::kCPU, 1);
  const StateBackup backup(root);
  buffer->tensor.fill_(kNan);
  model::Parameter& weight = root.find("a")->parameter("weight");
  weight.tensor.detach().fill_(5);
  backup.restore();
  EXPECT_TRUE(at::equal(buffer->tensor, at::full({2}, 3.0f)));
  EXPECT_TRUE(at::equal(weight.tensor.detach(), at::full({4, 4}, 5.0f)));
}

TEST(RandomStateTest, ComesBackExactly) {
  seed_generators(at::kCPU, 5);
  const at::Tensor first = at::randn({7});
  const auto states = generator_states(at::kCPU);
  const at::Tensor expected = at::randn({7});
  EXPECT_FALSE(at::equal(first, expected));
  at::randn({100});
  restore_generators(at::kCPU, states, "state.json");
  EXPECT_TRUE(at::equal(at::randn({7}), expected));
  seed_generators(at::kCPU, 5);
  EXPECT_TRUE(at::equal(at::randn({7}), first));
  seed_generators(at::kCPU, 6);
  EXPECT_FALSE(at::equal(at::randn({7}), first));
}

TEST(RandomStateTest, WrongStatesAreNamed) {
  auto states = generator_states(at::kCPU);
  const std::string good = states["cpu"];
  expect_error(ExitStatus::kData, {"state.json", "'cpu'"},
               [] { restore_generators(at::kCPU, {}, "state.json"); });
  for (const std::string& bad : {std::string(), std::string("0"), std::string("zz"), good.substr(2),
                                 good + "00", "G" + good.substr(1)})
    expect_error(ExitStatus::kData, {"state.json", "'cpu'", "damaged"}, [&] {
      restore_generators(at::kCPU, {{"cpu", bad}}, "state.json");
    });
}

/// What a checkpoint of this config says.
checkpoint::Manifest manifest_of(const RunRecord& record) {
  checkpoint::Manifest manifest;
  manifest.settings = record.settings;
  manifest.converters = record.converters;
  return manifest;
}

RunRecord record_of(const config::Config& config, const std::vector<std::string>& converters = {},
                    const std::string& sha256 = "aa") {
  std::vector<config::ConverterRequest> requests;
  for (const std::string& name : converters) requests.push_back({name, name, {}, {}, {}, {}});
  return make_run_record(config, requests,
                         {{"drift", {"", "drift", "stats", "1.0", "/s.so", sha256}}}, false);
}

TEST(RunRecordTest, NamesWhatChangesTheNumbersAndNothingElse) {
  config::Config config;
  const checkpoint::Manifest then = manifest_of(record_of(config));
  EXPECT_TRUE(differences(then, record_of(config)).empty());
  config::Config same = config;
  same.job.dump_folder = "elsewhere";
  same.metrics.log_freq = 3;
  same.checkpoint.interval = 7;
  same.lr_scheduler.total_steps = config.training.steps;  // said in another way
  same.training.steps = 5;
  EXPECT_TRUE(differences(then, record_of(same)).empty());
  config.optimizer.lr = 0.5;
  config.training.steps = 3;  // and with it the schedule
  EXPECT_EQ(differences(then, record_of(config)),
            (std::vector<std::string>{"lr_scheduler.total_steps was 10000, is 3",
                                      "optimizer.lr was 0.0008, is 0.5"}));
}

TEST(RunRecordTest, NamesConvertersThatCameWentOrChanged) {
  const config::Config config;
  const checkpoint::Manifest with = manifest_of(record_of(config, {"drift", "own"}));
  EXPECT_TRUE(differences(with, record_of(config, {"drift", "own"})).empty());
  EXPECT_EQ(differences(with, record_of(config, {"own"})),
            (std::vector<std::string>{
                "converter 'drift' (plugin stats 1.0, /s.so, sha256 aa) was applied, is not"}));
  EXPECT_EQ(differences(with, record_of(config, {"drift", "own", "more"})),
            (std::vector<std::string>{"converter 'more' (built in) was not applied, is now"}));
  EXPECT_EQ(differences(with, record_of(config, {"drift", "own"}, "bb")),
            (std::vector<std::string>{
                "converter 'drift' (plugin stats 1.0, /s.so, sha256 aa) is now 'drift' (plugin "
                "stats 1.0, /s.so, sha256 bb)"}));
  EXPECT_EQ(differences(with, record_of(config, {"own", "drift"})).size(), 1u);
}

TEST(SignalGuardTest, RemembersTheFirstAndPutsBackWhatWasThere) {
  struct sigaction before = {};
  sigaction(SIGTERM, nullptr, &before);
  {
    const SignalGuard guard;
    EXPECT_EQ(guard.received(), 0);
    raise(SIGTERM);
    EXPECT_EQ(guard.received(), SIGTERM);
  }
  {
    const SignalGuard guard;
    raise(SIGHUP);
    EXPECT_EQ(guard.received(), SIGHUP);
  }
  struct sigaction after = {};
  sigaction(SIGTERM, nullptr, &after);
  EXPECT_EQ(after.sa_handler, before.sa_handler);
  EXPECT_EQ(SignalGuard().received(), 0) << "of an earlier guard";
}

TEST(SignalGuardTest, TheSecondEndsTheProcess) {
  EXPECT_EXIT(
      {
        const SignalGuard guard;
        raise(SIGTERM);
        raise(SIGINT);
      },
      ::testing::ExitedWithCode(130), "");
}

TEST(SignalGuardTest, ASignalThatWasIgnoredStaysIgnored) {
  const auto before = signal(SIGINT, SIG_IGN);
  {
    const SignalGuard guard;
    raise(SIGINT);
    EXPECT_EQ(guard.received(), 0);
  }
  signal(SIGINT, before);
}

}  // namespace
}  // namespace titan::train
