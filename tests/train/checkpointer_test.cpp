/// When checkpoints are saved, what async means, and where failures surface.
#include "train/checkpointer.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "checkpoint/safetensors.h"
#include "support/scratch_folder.h"

namespace titan::train {
namespace {

using test::expect_error;
using test::ScratchFolder;

class CheckpointerTest : public ::testing::Test {
 protected:
  CheckpointerTest() {
    config.job.dump_folder = folder.path();
    config.training.steps = 10;
    config.checkpoint.enable = true;
    config.checkpoint.interval = 4;
  }
  Checkpointer::TakeSnapshot take(int64_t step) {
    return [this, step](bool model_only) {
      checkpoint::Snapshot snapshot;
      snapshot.manifest.position.step = step;
      snapshot.manifest.model_only = model_only;
      snapshot.model["w"] = weight;
      snapshot.optimizer["w.exp_avg"] = weight;
      return snapshot;
    };
  }
  void run(Checkpointer& checkpointer, int64_t from, int64_t to) {
    for (int64_t step = from; step <= to; ++step) {
      weight.fill_(static_cast<double>(step));
      checkpointer.after_step(step, take(step));
    }
  }
  /// "1 4 8", "only" behind those without an optimizer.
  std::string saved() const {
    std::string text;
    for (const checkpoint::StepFolder& one : checkpoint::list_steps(root)) {
      EXPECT_TRUE(one.complete()) << one.problem;
      text += (text.empty() ? "" : " ") + std::to_string(one.step) + (one.model_only ? "only" : "");
    }
    return text;
  }
  double saved_weight(int64_t step) const {
    return checkpoint::SafetensorsReader(root / checkpoint::step_folder_name(step) /
                                         "model.safetensors")
        .tensor("w")
        .item<double>();
  }

  ScratchFolder folder;
  std::filesystem::path root = folder / "checkpoint";
  config::Config config;
  at::Tensor weight = at::zeros({1});
};

TEST_F(CheckpointerTest, SavesEveryIntervalAndAtTheEnd) {
  Checkpointer checkpointer(config);
  run(checkpointer, 1, 10);
  EXPECT_EQ(saved(), "4 8 10");
  EXPECT_EQ(checkpointer.find_resume()->step, 10);
}

TEST_F(CheckpointerTest, SavesTheFirstStepAndTheLastWeightsAloneIfAsked) {
  config.checkpoint.enable_first_step_checkpoint = true;
  config.checkpoint.last_save_model_only = true;
  Checkpointer checkpointer(config);
  run(checkpointer, 1, 10);
  EXPECT_EQ(saved(), "1 4 8 10only");
}

TEST_F(CheckpointerTest, DoesNothingUnlessEnabled) {
  config.checkpoint.enable = false;
  Checkpointer checkpointer(config);
  run(checkpointer, 1, 10);
  checkpointer.save_now(10, take(10));
  EXPECT_FALSE(checkpointer.find_resume());
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_F(CheckpointerTest, SavingNowIsForStepsThatAreNotSaved) {
  Checkpointer checkpointer(config);
  run(checkpointer, 1, 5);
  checkpointer.save_now(5, take(5));
  EXPECT_EQ(saved(), "4 5");
  checkpointer.save_now(
      5, [](bool) -> checkpoint::Snapshot { throw std::logic_error("saved twice"); });
}

TEST_F(CheckpointerTest, AsyncSavesWhatTheStepHadNotWhatComesAfter) {
  config.checkpoint.async_mode = "async";
  weight = at::zeros({1});
  Checkpointer checkpointer(config);
  run(checkpointer, 1, 10);  // the weight goes on changing while step 4 is written
  weight.fill_(99);
  checkpointer.finish();
  EXPECT_EQ(saved(), "4 8 10");
  EXPECT_EQ(saved_weight(4), 4);
  EXPECT_EQ(saved_weight(8), 8);
  EXPECT_EQ(saved_weight(10), 10);
}

TEST_F(CheckpointerTest, AFailureOfTheThreadIsThrownByTheNextCall) {
  config.checkpoint.async_mode = "async";
  Checkpointer checkpointer(config);
  std::filesystem::rename(root, folder / "moved");
  folder.write("checkpoint", "a file in its place");
  run(checkpointer, 4, 4);
  expect_error(ExitStatus::kEnvironment, {"checkpoint", "cannot be written"}, [&] {
    for (int64_t step = 5; step < 8; ++step) {
      checkpointer.after_step(step, take(step));
      usleep(100000);
    }
    checkpointer.finish();
  });
  checkpointer.finish();  // once is enough
}

TEST_F(CheckpointerTest, AFailureThatNobodyAsksForDoesNotEndTheProcess) {
  config.checkpoint.async_mode = "async";
  Checkpointer checkpointer(config);
  std::filesystem::rename(root, folder / "moved");
  folder.write("checkpoint", "a file in its place");
  run(checkpointer, 4, 4);
}

TEST_F(CheckpointerTest, TwoRunsCannotShareAFolder) {
  const Checkpointer one(config);
  expect_error(ExitStatus::kEnvironment, {"another process"}, [&] { Checkpointer two(config); });
}

}  // namespace
}  // namespace titan::train
