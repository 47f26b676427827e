/// Checkpoints appear whole, are found, kept and deleted as promised, also after a crash.
#include "checkpoint/step_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "checkpoint/folder_lock.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/saved_steps.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

namespace fs = std::filesystem;
using test::example_snapshot;
using test::expect_error;
using test::names_in;
using test::ScratchFolder;
using Names = std::vector<std::string>;

void save(const ScratchFolder& folder, std::initializer_list<int64_t> steps) {
  for (const int64_t step : steps) save_checkpoint(folder.path(), example_snapshot(step));
}

TEST(StepFolderTest, Names) {
  EXPECT_EQ(step_folder_name(12), "step-12");
  EXPECT_EQ(parse_step_folder("step-12"), 12);
  EXPECT_EQ(parse_step_folder("step-0"), 0);
  for (const char* name : {"step-", "step-012", "step--1", "step-+1", "step-1x", "step-1.kept-1",
                           "Step-1", "", "step-99999999999999999999"})
    EXPECT_FALSE(parse_step_folder(name)) << name;
}

TEST(StepFolderTest, ASavedStepHoldsWhatWasSaved) {
  ScratchFolder folder;
  const fs::path root = folder / "deep/er";
  save_checkpoint(root, example_snapshot(4));
  EXPECT_EQ(names_in(root), Names{"step-4"});
  EXPECT_EQ(names_in(root / "step-4"), (Names{kModelFile, kOptimizerFile, kManifestFile}));
  Manifest manifest = read_manifest(root / "step-4");
  for (const auto& [name, sum] : manifest.files) verify_file(root / "step-4" / name, sum);
  EXPECT_EQ(manifest.files.size(), 2u);
  manifest.files.clear();
  EXPECT_EQ(manifest, test::example_manifest(4));
  const SafetensorsReader model(root / "step-4" / kModelFile);
  EXPECT_TRUE(at::equal(model.tensor("norm.weight"), at::full({3}, 4, at::kFloat)));
  save_checkpoint(root, example_snapshot(5, /*model_only=*/true));
  EXPECT_EQ(names_in(root / "step-5"), (Names{kModelFile, kManifestFile}));
}

TEST(StepFolderTest, AStepThatIsThereIsReplacedWhole) {
  ScratchFolder folder;
  save(folder, {3});
  Snapshot other = example_snapshot(3, /*model_only=*/true);
  other.manifest.seed = 99;
  save_checkpoint(folder.path(), other);
  EXPECT_EQ(names_in(folder.path()), Names{"step-3"});
  EXPECT_EQ(names_in(folder / "step-3"), (Names{kModelFile, kManifestFile}));
  EXPECT_EQ(read_manifest(folder / "step-3").seed, 99);
}

TEST(StepFolderTest, WhatIsNoCheckpointIsKept) {
  ScratchFolder folder;
  folder.write("step-3/notes.txt", "mine");
  folder.write("step-3.kept-1", "taken");
  save(folder, {3});
  EXPECT_EQ(names_in(folder.path()), (Names{"step-3", "step-3.kept-1", "step-3.kept-2"}));
  EXPECT_EQ(test::read_file(folder / "step-3.kept-2/notes.txt"), "mine");
  EXPECT_TRUE(choose_step(folder.path(), 3)->complete());
}

TEST(StepFolderTest, IncompleteOnesAreListedWithTheirReason) {
  ScratchFolder folder;
  save(folder, {1, 2, 3, 4, 5, 6});
  folder.write("step-1/model.safetensors", "cut");
  fs::remove(folder / "step-2/optimizer.safetensors");
  fs::remove(folder / "step-3/state.json");
  folder.write("step-4/state.json", "{");
  fs::rename(folder / "step-5", folder / "step-50");
  folder.write("step-7", "a file");
  folder.write("step-08/state.json", "no step by its name");
  const std::vector<StepFolder> steps = list_steps(folder.path());
  ASSERT_EQ(steps.size(), 7u);
  const char* reasons[] = {"model.safetensors has 3 bytes",
                           "optimizer.safetensors is missing",
                           "no state.json",
                           "not the state",
                           "",
                           "no folder",
                           "belongs to step 5"};
  for (size_t i = 0; i < steps.size(); ++i)
    EXPECT_NE(steps[i].problem.find(reasons[i]), std::string::npos)
        << steps[i].path << ": " << steps[i].problem;
  EXPECT_TRUE(steps[4].complete()) << steps[4].problem;
  EXPECT_EQ(choose_step(folder.path(), -1)->step, 6);
  expect_error(ExitStatus::kData, {"step-1 is not a complete checkpoint", "3 bytes", "step-6"},
               [&] { choose_step(folder.path(), 1); });
  fs::remove_all(folder / "step-6");
  expect_error(ExitStatus::kData, {"no checkpoint is complete", "step-1"},
               [&] { choose_step(folder.path(), -1); });
}

TEST(StepFolderTest, AnAbsentStepNamesThoseThatAreThere) {
  ScratchFolder folder;
  EXPECT_FALSE(choose_step(folder.path(), -1));
  EXPECT_FALSE(choose_step(folder / "nowhere", -1));
  expect_error(ExitStatus::kData, {"no checkpoint of step 7", "there are: none"},
               [&] { choose_step(folder / "nowhere", 7); });
  save(folder, {2, 10});
  save_checkpoint(folder.path(), example_snapshot(11, /*model_only=*/true));
  expect_error(ExitStatus::kData,
               {"no checkpoint of step 7", "step-2, step-10, step-11 (weights alone)", "load_step"},
               [&] { choose_step(folder.path(), 7); });
  EXPECT_EQ(choose_step(folder.path(), 2)->step, 2);
}

TEST(StepFolderTest, TheOldestGoFirst) {
  ScratchFolder folder;
  save(folder, {2, 10, 9, 1});
  folder.write("step-3/notes.txt", "no checkpoint");
  prune_steps(folder.path(), 0, 10);
  EXPECT_EQ(names_in(folder.path()).size(), 5u);
  prune_steps(folder.path(), 2, 10);
  EXPECT_EQ(names_in(folder.path()), (Names{"step-10", "step-3", "step-9"}));
  // The one just saved stays, whatever its number.
  save(folder, {4});
  prune_steps(folder.path(), 2, 4);
  EXPECT_EQ(names_in(folder.path()), (Names{"step-10", "step-3", "step-4"}));
}

TEST(StepFolderTest, LeftoversOfACrashAreRemovedAndNothingElse) {
  ScratchFolder folder;
  save(folder, {1});
  folder.write(".titan-step-2.saving-77/model.safetensors", "half");
  folder.write(".titan-step-1.deleted-77/state.json", "old");
  folder.write(".hidden/x", "mine");
  EXPECT_EQ(list_steps(folder.path()).size(), 1u);
  remove_leftovers(folder.path());
  EXPECT_EQ(names_in(folder.path()), (Names{".hidden", "step-1"}));
  remove_leftovers(folder / "nowhere");
}

TEST(StepFolderTest, AFullDiskLeavesWhatWasThere) {
  ScratchFolder folder;
  save(folder, {1});
  Snapshot big = example_snapshot(1);
  big.model["norm.weight"] = at::ones({10000});
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 20000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ExitStatus::kEnvironment, {"model.safetensors", "cannot be written", "free space"},
               [&] { save_checkpoint(folder.path(), big); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(names_in(folder.path()), Names{"step-1"});
  for (const auto& [name, sum] : read_manifest(folder / "step-1").files)
    verify_file(folder / "step-1" / name, sum);
}

TEST(StepFolderTest, AFolderThatCannotBeMadeIsNamed) {
  ScratchFolder folder;
  const fs::path root = folder.write("file", "x") / "checkpoint";
  expect_error(ExitStatus::kEnvironment, {"file/checkpoint", "cannot be written"},
               [&] { save_checkpoint(root, example_snapshot(1)); });
  expect_error(ExitStatus::kEnvironment, {"file/checkpoint", "cannot be written"},
               [&] { FolderLock lock(root); });
}

TEST(StepFolderTest, AKillAtAnyMomentLeavesOnlyWholeSteps) {
  ScratchFolder folder;
  save(folder, {1});
  Snapshot snapshot = example_snapshot(1);
  snapshot.model["norm.weight"] = at::ones({200000});
  for (int attempt = 0; attempt < 20; ++attempt) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      for (int64_t step = 1;; ++step) {
        snapshot.manifest.position.step = 1 + step % 3;  // new ones, replaced ones, deleted ones
        save_checkpoint(folder.path(), snapshot);
        prune_steps(folder.path(), 2, snapshot.manifest.position.step);
      }
    }
    usleep(static_cast<useconds_t>(3000 + 1700 * attempt));
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    const std::vector<StepFolder> steps = list_steps(folder.path());
    ASSERT_FALSE(steps.empty());
    for (const StepFolder& one : steps) {
      ASSERT_TRUE(one.complete()) << one.path << ": " << one.problem;
      for (const auto& [name, sum] : read_manifest(one.path).files)
        verify_file(one.path / name, sum);
    }
    remove_leftovers(folder.path());
    for (const std::string& name : names_in(folder.path()))
      EXPECT_TRUE(parse_step_folder(name)) << name;
  }
}

TEST(FolderLockTest, OneProcessAtATime) {
  ScratchFolder folder;
  {
    const FolderLock lock(folder / "run/checkpoint");
    expect_error(ExitStatus::kEnvironment, {"another process", "run/checkpoint", "job.dump_folder"},
                 [&] { FolderLock second(folder / "run/checkpoint"); });
  }
  const FolderLock again(folder / "run/checkpoint");
}

}  // namespace
}  // namespace titan::checkpoint
