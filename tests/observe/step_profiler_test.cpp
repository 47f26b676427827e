/// Which steps are recorded, and that a trace holds what ran in them.
#include "observe/step_profiler.h"

#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::expect_error;
using test::ScratchFolder;

std::string phases(const ProfileSchedule& schedule, int64_t steps) {
  std::string text;
  for (int64_t step = 1; step <= steps; ++step) {
    const ProfilePhase phase = profile_phase(schedule, step);
    text += phase == ProfilePhase::kIdle ? '-' : phase == ProfilePhase::kWarmup ? 'w' : 'R';
  }
  return text;
}

TEST(ProfileScheduleTest, IsTorchtitans) {
  EXPECT_EQ(phases({10, 1, 3}, 21), "------wwwR------wwwR-");
  EXPECT_EQ(phases({4, 2, 0}, 8), "--RR--RR");
  EXPECT_EQ(phases({1, 1, 0}, 3), "RRR");
  EXPECT_EQ(phases({3, 1, 2}, 6), "wwRwwR");
}

/// Names of the events in the trace of a cycle that ended with `step`.
std::set<std::string> trace_names(const ScratchFolder& folder, int64_t step) {
  std::set<std::string> names;
  const auto file = folder / ("traces/iteration_" + std::to_string(step) + "/rank0_trace.json");
  const auto json = nlohmann::json::parse(test::read_file(file));
  for (const auto& event : json["traceEvents"]) names.insert(event["name"]);
  return names;
}

void profiled_step(StepProfiler& profiler, int64_t step) {
  profiler.before_step(step);
  at::mm(at::ones({4, 4}), at::ones({4, 4}));
  profiler.after_step(step);
}

TEST(StepProfilerTest, TracesHoldTheStepsOfTheirCycle) {
  ScratchFolder folder;
  StepProfiler profiler({4, 2, 1}, folder / "traces", false);
  for (int64_t step = 1; step <= 7; ++step) {
    profiler.before_step(step);
    EXPECT_EQ(profiler.due(step), step == 4) << step;
    at::mm(at::ones({4, 4}), at::ones({4, 4}));
    profiler.after_step(step);
  }
  profiler.finish(7);
  const std::set<std::string> whole = trace_names(folder, 4);
  for (const char* name : {"ProfilerStep#3", "ProfilerStep#4", "aten::mm"})
    EXPECT_TRUE(whole.count(name)) << name;
  EXPECT_EQ(whole.count("ProfilerStep#2"), 0u);
  const std::set<std::string> rest = trace_names(folder, 7);
  EXPECT_TRUE(rest.count("ProfilerStep#7")) << "training ended within the cycle";
  EXPECT_EQ(rest.count("ProfilerStep#4"), 0u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "traces"), {}), 2);
}

TEST(StepProfilerTest, BeginsWhereAResumedRunDoes) {
  ScratchFolder folder;
  StepProfiler profiler({4, 1, 2}, folder / "traces", false);
  profiled_step(profiler, 8);
  EXPECT_TRUE(trace_names(folder, 8).count("ProfilerStep#8"));
}

TEST(StepProfilerTest, SaysWhereItCannotWrite) {
  ScratchFolder folder;
  StepProfiler profiler({1, 1, 0}, folder.write("traces", "a file"), false);
  profiler.before_step(1);
  expect_error(ExitStatus::kEnvironment, {"iteration_1", "job.dump_folder"},
               [&] { profiler.after_step(1); });
  std::filesystem::remove(folder / "traces");
  std::filesystem::create_directories(folder / "traces/iteration_2/rank0_trace.json/in the way");
  profiler.before_step(2);
  expect_error(ExitStatus::kEnvironment, {"rank0_trace.json", "could not be written"},
               [&] { profiler.after_step(2); });
}

TEST(StepProfilerTest, IsNotLeftRunning) {
  ScratchFolder folder;
  {
    StepProfiler profiler({2, 2, 0}, folder / "traces", false);
    profiler.before_step(1);
  }
  StepProfiler profiler({1, 1, 0}, folder / "traces", false);
  profiled_step(profiler, 1);
  EXPECT_TRUE(trace_names(folder, 1).count("ProfilerStep#1"));
}

}  // namespace
}  // namespace titan::observe
