/// run.json: what comes back, and what a run that goes on, fails or warns leaves in it.
#include "observe/run_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/log.h"
#include "observe/run_keeper.h"
#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::expect_error;
using test::ScratchFolder;

RunFile some_run() {
  RunFile run;
  run.made_by = "titan 0.1.0";
  run.config = {{"optimizer.lr", "0.0008"}, {"job.description", "\"a\\\"b\""}};
  run.converters = {{"f8", "float8", "float8", "0.1.0", "/opt/float8.so", "ab"}};
  run.notes = {"precision: float32"};
  run.parameters = int64_t{1} << 40;
  run.flops_per_token = 7;
  run.device = "CPU";
  run.device_memory_bytes = uint64_t{3} << 40;
  run.system = "Linux";
  run.processors = 2;
  return run;
}

TEST(RunFileTest, ComesBack) {
  RunFile run = some_run();
  run.sessions = {{1.5, 2.5, 1, 5, "completed"}, {3, std::nullopt, 6, 5, ""}};
  run.warnings = {"careful"};
  run.more_warnings = 4;
  const RunFile back = parse_run_file(format_run_file(run), "here");
  EXPECT_EQ(format_run_file(back), format_run_file(run));
  EXPECT_EQ(back.config, run.config);
  EXPECT_EQ(back.converters, run.converters);
  EXPECT_EQ(back.parameters, run.parameters);
  EXPECT_EQ(back.sessions.at(0).ended, 2.5);
  EXPECT_FALSE(back.sessions.at(1).ended);
}

TEST(RunFileTest, WhatIsOfAnotherTypeIsAsIfMissing) {
  const RunFile run = parse_run_file(
      "{\"parameters\": \"x\", \"sessions\": [1, {\"began\": 5, \"outcome\": 3}], \"config\": [], "
      "\"warnings\": 7}",
      "here");
  EXPECT_EQ(run.parameters, 0);
  EXPECT_TRUE(run.config.empty());
  ASSERT_EQ(run.sessions.size(), 1u);
  EXPECT_EQ(run.sessions[0].began, 5);
  EXPECT_EQ(run.sessions[0].outcome, "");
  for (const char* text : {"", "[]", "{\"a\": ", "\xff"})
    expect_error(ExitStatus::kData, {"no run file", "here"}, [&] { parse_run_file(text, "here"); });
}

TEST(RunKeeperTest, WritesAtTheBeginAtWarningsAndAtTheEnd) {
  ScratchFolder folder;
  RunKeeper keeper;
  log_warning("before it begins");
  EXPECT_FALSE(read_run_file(folder.path()));
  keeper.begin(folder.path(), some_run(), 0);
  EXPECT_EQ(read_run_file(folder.path())->sessions.size(), 1u);
  EXPECT_FALSE(read_run_file(folder.path())->sessions[0].ended) << "it runs";
  log_warning("now");
  log_info("no warning");
  log_warning("now");
  EXPECT_EQ(read_run_file(folder.path())->warnings,
            (std::vector<std::string>{"before it begins", "now"}));
  keeper.end(7, "failed: first line\nsecond");
  const RunFile run = *read_run_file(folder.path());
  EXPECT_EQ(run.sessions[0].first_step, 1);
  EXPECT_EQ(run.sessions[0].last_step, 7);
  EXPECT_EQ(run.sessions[0].outcome, "failed: first line");
  EXPECT_GE(*run.sessions[0].ended, run.sessions[0].began);
  log_warning("later");
  EXPECT_EQ(read_run_file(folder.path())->warnings.size(), 2u);
}

TEST(RunKeeperTest, AResumedRunAddsASessionAndANewOneForgets) {
  ScratchFolder folder;
  for (const int64_t done : {0, 5, 9}) {
    RunKeeper keeper;
    log_warning("at " + std::to_string(done));
    keeper.begin(folder.path(), some_run(), done);
    keeper.end(done + 4, "completed");
  }
  EXPECT_EQ(read_run_file(folder.path())->sessions.size(), 3u);
  EXPECT_EQ(read_run_file(folder.path())->sessions[1].first_step, 6);
  EXPECT_EQ(read_run_file(folder.path())->warnings.size(), 3u);
  folder.write("run.json", "damaged");
  {
    RunKeeper keeper;
    keeper.begin(folder.path(), some_run(), 13);
  }
  ASSERT_EQ(read_run_file(folder.path())->sessions.size(), 1u);
  EXPECT_EQ(read_run_file(folder.path())->warnings.size(), 1u) << "that it was damaged";
  {
    RunKeeper keeper;
    keeper.begin(folder.path(), some_run(), 0);
  }
  EXPECT_TRUE(read_run_file(folder.path())->warnings.empty());
}

TEST(RunKeeperTest, WarningsHaveALimit) {
  ScratchFolder folder;
  RunKeeper keeper;
  for (int i = 0; i < 103; ++i) log_warning("number " + std::to_string(i));
  keeper.begin(folder.path(), some_run(), 0);
  EXPECT_EQ(read_run_file(folder.path())->warnings.size(), 100u);
  EXPECT_EQ(read_run_file(folder.path())->more_warnings, 3);
}

TEST(RunKeeperTest, AFileThatCannotBeWritten) {
  ScratchFolder folder;
  RunKeeper keeper;
  expect_error(ExitStatus::kEnvironment, {"run.json"},
               [&] { keeper.begin(folder / "not there", some_run(), 0); });
}

}  // namespace
}  // namespace titan::observe
