#include "observe/step_profiler.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/log.h"
#include "observe/append_file.h"

namespace titan::observe {
namespace {

namespace profiler = torch::autograd::profiler;
using torch::profiler::impl::ActivityType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;

ProfilerConfig profiler_config() {
  return ProfilerConfig(ProfilerState::KINETO, /*report_input_shapes=*/true);
}

std::set<ActivityType> activities(bool cuda) {
  std::set<ActivityType> wanted = {ActivityType::CPU};
  if (cuda) wanted.insert(ActivityType::CUDA);
  return wanted;
}

/// Whether the file ends as a JSON object does.
bool is_whole(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::streamoff>(in.tellg());
  std::string end(static_cast<size_t>(std::clamp<std::streamoff>(size, 0, 16)), '\0');
  in.seekg(-static_cast<std::streamoff>(end.size()), std::ios::end);
  if (!in.read(end.data(), static_cast<std::streamsize>(end.size()))) return false;
  const size_t last = end.find_last_not_of(" \t\r\n");
  return last != std::string::npos && end[last] == '}';
}

}  // namespace

ProfilePhase profile_phase(const ProfileSchedule& schedule, int64_t step) {
  const int64_t left =
      schedule.freq - 1 - (step - 1) % schedule.freq;  // steps of the cycle after this one
  if (left < schedule.active) return ProfilePhase::kRecord;
  return left < schedule.active + schedule.warmup ? ProfilePhase::kWarmup : ProfilePhase::kIdle;
}

StepProfiler::StepProfiler(ProfileSchedule schedule, std::filesystem::path folder, bool cuda)
    : schedule_(schedule), folder_(std::move(folder)), cuda_(cuda) {
  // Without a GPU the profiler reports on standard error that it found none: nothing that a user
  // could mend.
  if (!cuda_) setenv("KINETO_LOG_LEVEL", "5", 0);
}

StepProfiler::~StepProfiler() {
  step_.reset();
  if (recording_) profiler::disableProfiler();
}

void StepProfiler::before_step(int64_t step) {
  const ProfilePhase phase = profile_phase(schedule_, step);
  if (phase == ProfilePhase::kIdle) return;
  if (!prepared_) profiler::prepareProfiler(profiler_config(), activities(cuda_));
  prepared_ = true;
  if (phase != ProfilePhase::kRecord) return;
  if (!recording_) profiler::enableProfiler(profiler_config(), activities(cuda_));
  recording_ = true;
  step_.emplace(at::RecordScope::USER_SCOPE);
  if (step_->isActive()) step_->before("ProfilerStep#" + std::to_string(step));
}

void StepProfiler::after_step(int64_t step) {
  step_.reset();
  if (due(step)) save(step);
}

void StepProfiler::finish(int64_t last_step) {
  step_.reset();
  if (recording_) save(last_step);
}

void StepProfiler::save(int64_t step) {
  prepared_ = recording_ = false;
  // What a GPU has not done yet would be missing.
  if (cuda_) c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).synchronizeDevice(0);
  const std::unique_ptr<profiler::ProfilerResult> result = profiler::disableProfiler();
  const std::filesystem::path folder = folder_ / ("iteration_" + std::to_string(step));
  make_folder(folder);
  const std::filesystem::path file = folder / "rank0_trace.json";
  std::error_code error;
  std::filesystem::remove(file, error);
  result->save(file.string());
  // The profiler reports no failure: a full disk leaves a trace that is cut.
  if (!is_whole(file))
    throw environment_error(
        "the trace " + file.string() + " could not be written", file.string(),
        "free space on the disk, or choose another folder with job.dump_folder");
  log_info("profile of step " + std::to_string(step) + " in " + file.string());
}

}  // namespace titan::observe
