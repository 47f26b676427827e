#include "commands/doctor_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "base/numbers.h"
#include "base/printable.h"

namespace titan::commands {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;
constexpr uint64_t kLeastDisk = kGiB;
constexpr uint64_t kLeastMemory = kGiB;
constexpr uint64_t kLeastSharedMemory =
    kGiB;  // of several GPUs, whose libraries exchange data there
constexpr uint64_t kLeastAddressSpace = 16 * kGiB;  // LibTorch alone maps some GiB
constexpr uint64_t kLeastOpenFiles = 1024;
constexpr int32_t kNoDevice = 100;  // CUDA_ERROR_NO_DEVICE

using Problems = std::vector<Problem>;

void check_driver(const DoctorFacts& facts, Problems& problems) {
  const train::CudaDriver& driver = facts.driver;
  if (!driver.found && facts.device_files)
    problems.push_back(
        {"a GPU's device files are there, but libcuda.so.1 is not: the driver cannot be used from "
         "here",
         "install the driver's libraries; in a container, start it with: docker run --gpus all"});
  if (driver.found && driver.error != 0 && driver.error != kNoDevice)
    problems.push_back(
        {"the CUDA driver does not start: error " + std::to_string(driver.error) + " of cuInit",
         "nvidia-smi names the cause; after an update of the driver, reboot"});
  if (driver.found && driver.error == kNoDevice && facts.environment.count("CUDA_VISIBLE_DEVICES"))
    problems.push_back({"the CUDA driver shows no device, and CUDA_VISIBLE_DEVICES is '" +
                            printable(facts.environment.at("CUDA_VISIBLE_DEVICES"), 80) + "'",
                        "unset CUDA_VISIBLE_DEVICES, or name devices that nvidia-smi lists"});
}

void check_gpu_libraries(const DoctorFacts& facts, Problems& problems) {
  const size_t gpus = facts.driver.devices.size();
  if (gpus == 0) return;
  if (!facts.torch.has("USE_CUDA")) {
    problems.push_back(
        {"there is a GPU, but LibTorch " + facts.torch.version + " is a build without CUDA",
         "build titan with a CUDA build of LibTorch (TITAN_TORCH_ROOT)"});
    return;
  }
  const auto built = facts.torch.flags.find("CUDA_VERSION");
  const int32_t needed = built == facts.torch.flags.end() ? 0 : std::atoi(built->second.c_str());
  if (needed * 1000 > facts.driver.version)
    problems.push_back({"the driver runs CUDA up to " + cuda_version_text(facts.driver.version) +
                            ", LibTorch is built for CUDA " + built->second,
                        "update the driver, or build titan with a LibTorch for an older CUDA"});
  if (!facts.torch_cuda_problem.empty())
    problems.push_back(
        {"LibTorch's CUDA library cannot be opened: " + printable(facts.torch_cuda_problem, 400),
         "install what it needs: the NVIDIA wheels of torch (./dev build --cuda)"});
  if (facts.cublaslt == 0)
    problems.push_back(
        {"cuBLASLt was not found: converters that compute in float8 on a GPU need it",
         "install NVIDIA's cuBLAS (./dev build --cuda)"});
  if (gpus > 1 && facts.nccl == 0)
    problems.push_back({"there are " + std::to_string(gpus) +
                            " GPUs, but NCCL, which connects them, was not found",
                        "install NVIDIA's NCCL (./dev build --cuda)"});
  if (gpus > 1 && facts.shared_memory.total_bytes < kLeastSharedMemory)
    problems.push_back({"/dev/shm has " + gib(facts.shared_memory.total_bytes) +
                            ": too little for NCCL between " + std::to_string(gpus) + " GPUs",
                        "in a container: docker run --shm-size=8g, or --ipc=host; else mount -o "
                        "remount,size=8G /dev/shm"});
}

void check_disk(const DoctorFacts& facts, Problems& problems) {
  const observe::DiskSpace& disk = facts.disk;
  const std::string folder = printable_path(facts.dump_folder);
  const std::string elsewhere = "choose a folder on another disk with job.dump_folder";
  if (disk.measured.empty())
    problems.push_back(
        {"nothing can be found out about the disk of the dump folder " + folder, elsewhere});
  else if (!disk.writable)
    problems.push_back({printable_path(disk.measured.native()) +
                            " cannot be written by this user, so that the dump folder " + folder +
                            " cannot be used",
                        "change its permissions, or choose another folder with job.dump_folder"});
  else if (disk.no_inodes)
    problems.push_back(
        {"the disk of the dump folder " + folder + " has no inodes left: no file can be made on it",
         "delete files there, or " + elsewhere});
  else if (disk.free_bytes < kLeastDisk)
    problems.push_back(
        {"the disk of the dump folder " + folder + " has " + gib(disk.free_bytes) + " free",
         "free space on it, or " + elsewhere});
}

void check_memory(const DoctorFacts& facts, Problems& problems) {
  const observe::SystemFacts& system = facts.system;
  if (system.memory_bytes > 0 && system.memory_available_bytes < kLeastMemory)
    problems.push_back({gib(system.memory_available_bytes) + " of " + gib(system.memory_bytes) +
                            " memory are available",
                        "close programs; see the largest with: ps aux --sort=-rss | head"});
  if (system.memory_limit_bytes > 0 && system.memory_limit_bytes < kLeastMemory)
    problems.push_back({"the control group of this process allows it " +
                            gib(system.memory_limit_bytes) + " of memory",
                        "raise its limit; in a container: docker run --memory=8g"});
}

void check_processors(const DoctorFacts& facts, Problems& problems) {
  const int64_t usable = usable_processors(facts.system);
  if (facts.torch.threads <= usable) return;
  problems.push_back({"LibTorch computes in " + std::to_string(facts.torch.threads) +
                          " threads, but this process has " + std::to_string(usable) +
                          " processors: the threads wait for each other",
                      "set OMP_NUM_THREADS=" + std::to_string(usable)});
}

void check_limits(const DoctorFacts& facts, Problems& problems) {
  const ProcessLimits& limits = facts.limits;
  if (limits.open_files && *limits.open_files < kLeastOpenFiles)
    problems.push_back({"this process may open " + std::to_string(*limits.open_files) + " files",
                        "ulimit -n " + std::to_string(limits.open_files_hard.value_or(65536))});
  if (limits.file_bytes)
    problems.push_back({"files may grow to " + gib(*limits.file_bytes) +
                            " at most: a larger checkpoint cannot be saved",
                        "ulimit -f unlimited"});
  const bool gpus = !facts.driver.devices.empty();
  if (limits.address_space_bytes && (gpus || *limits.address_space_bytes < kLeastAddressSpace))
    problems.push_back(
        {"the address space is limited to " + gib(*limits.address_space_bytes) +
             (gpus ? ": CUDA reserves much more than it uses" : ": LibTorch alone maps some GiB"),
         "ulimit -v unlimited"});
}

void check_locale(const DoctorFacts& facts, Problems& problems) {
  if (!facts.locale_codes.empty()) return;
  problems.push_back(
      {"the locale '" + printable(facts.locale, 80) + "' of LC_ALL, LC_* or LANG is not installed",
       "export LC_ALL=C.UTF-8, or install it (dpkg-reconfigure locales)"});
}

}  // namespace

std::string cuda_version_text(int32_t version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int64_t usable_processors(const observe::SystemFacts& system) {
  int64_t usable = system.processors_allowed;
  if (system.processor_quota > 0)
    usable = std::min(usable, static_cast<int64_t>(std::ceil(system.processor_quota)));
  return std::max<int64_t>(usable, 1);
}

std::vector<Problem> problems_of(const DoctorFacts& facts) {
  Problems problems;
  check_driver(facts, problems);
  check_gpu_libraries(facts, problems);
  check_disk(facts, problems);
  check_memory(facts, problems);
  check_processors(facts, problems);
  check_limits(facts, problems);
  check_locale(facts, problems);
  problems.insert(problems.end(), facts.plugins.problems.begin(), facts.plugins.problems.end());
  return problems;
}

}  // namespace titan::commands
