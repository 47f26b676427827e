/// Traces of single steps by PyTorch's profiler, for chrome://tracing or Perfetto: section
/// profiling.
#pragma once

#include <ATen/record_function.h>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace titan::observe {

struct ProfileSchedule {
  int64_t freq = 10;   ///< steps of a cycle
  int64_t active = 1;  ///< the last steps of a cycle are recorded
  int64_t warmup =
      3;  ///< in the steps before these the profiler runs, lest its start be what is measured
};

enum class ProfilePhase { kIdle, kWarmup, kRecord };

/// Of the step (1-based), as torchtitan's schedule has it.
ProfilePhase profile_phase(const ProfileSchedule& schedule, int64_t step);

/// Writes `<folder>/iteration_<step>/rank0_trace.json` after each cycle: operators with the shapes
/// of their inputs, modules by their names, and the steps as "ProfilerStep#<step>". On a GPU also
/// its kernels and copies. Called from the thread that trains.
class StepProfiler {
 public:
  /// `cuda`: also record what runs on the GPU.
  StepProfiler(ProfileSchedule schedule, std::filesystem::path folder, bool cuda);
  ~StepProfiler();
  StepProfiler(const StepProfiler&) = delete;
  StepProfiler& operator=(const StepProfiler&) = delete;

  void before_step(int64_t step);
  /// Whether after_step() will write a trace.
  bool due(int64_t step) const { return recording_ && step % schedule_.freq == 0; }
  /// Throws an environment error naming the file if a trace is due and cannot be written.
  void after_step(int64_t step);
  /// Training is over: writes what was recorded of a cycle that is not complete.
  void finish(int64_t last_step);

 private:
  void save(int64_t step);

  ProfileSchedule schedule_;
  std::filesystem::path folder_;
  bool cuda_;
  bool prepared_ = false;
  bool recording_ = false;
  std::optional<at::RecordFunction> step_;  ///< the step in progress
};

}  // namespace titan::observe
