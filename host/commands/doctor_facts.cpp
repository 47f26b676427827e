#include "commands/doctor_facts.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <langinfo.h>
#include <locale.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>

#include "titan/version.h"

extern char** environ;

namespace titan::commands {
namespace {

std::optional<uint64_t> limit_of(rlim_t value) {
  return value == RLIM_INFINITY ? std::nullopt : std::optional<uint64_t>(value);
}

ProcessLimits process_limits() {
  ProcessLimits limits;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limits.open_files = limit_of(limit.rlim_cur);
    limits.open_files_hard = limit_of(limit.rlim_max);
  }
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0) limits.file_bytes = limit_of(limit.rlim_cur);
  if (getrlimit(RLIMIT_AS, &limit) == 0) limits.address_space_bytes = limit_of(limit.rlim_cur);
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) limits.locked_bytes = limit_of(limit.rlim_cur);
  return limits;
}

TorchFacts torch_facts() {
  TorchFacts torch;
  torch.version = TITAN_TORCH_VERSION;
  torch.build = TITAN_TORCH_BUILD;
  torch.cpu_capability = at::get_cpu_capability();
  torch.threads = at::get_num_threads();
  // "  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, ..., USE_OPENMP=ON, "
  const std::string settings = at::show_config();
  const std::regex pair(R"(([A-Z][A-Z_0-9]*)=([^, \n]+)(?=, ))");
  for (std::sregex_iterator at(settings.begin(), settings.end(), pair), end; at != end; ++at)
    torch.flags[(*at)[1]] = (*at)[2];
  return torch;
}

/// "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ..."
std::string driver_release() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::smatch found;
  return std::getline(file, line) &&
                 std::regex_search(line, found, std::regex(R"(\s(\d+\.\d+(\.\d+)?)\s)"))
             ? found[1].str()
             : "";
}

void ask_locale(DoctorFacts& facts) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const char* value = std::getenv(name); value && *value) {
      facts.locale = value;
      break;
    }
  // The locale of this process stays as it is: plugins format numbers too.
  if (const locale_t locale = newlocale(LC_ALL_MASK, "", nullptr)) {
    facts.locale_codes = nl_langinfo_l(CODESET, locale);
    freelocale(locale);
  }
}

/// Variables that change speed or what is seen; none of them holds a path.
std::map<std::string, std::string> environment_variables() {
  const std::regex wanted(
      "(OMP_(NUM_THREADS|WAIT_POLICY|PROC_BIND|PLACES|DYNAMIC|SCHEDULE)|GOMP_(CPU_AFFINITY|"
      "SPINCOUNT)|"
      "KMP_(AFFINITY|BLOCKTIME)|MKL_NUM_THREADS|MKL_DYNAMIC|OPENBLAS_NUM_THREADS|ATEN_CPU_"
      "CAPABILITY|"
      "CUDA_(VISIBLE_DEVICES|LAUNCH_BLOCKING|DEVICE_ORDER|MODULE_LOADING|DEVICE_MAX_CONNECTIONS)|"
      "CUBLAS_WORKSPACE_CONFIG|NVIDIA_TF32_OVERRIDE|PYTORCH_(CUDA_)?ALLOC_CONF|"
      "NCCL_(DEBUG|P2P_DISABLE|SHM_DISABLE|IB_DISABLE|SOCKET_IFNAME|ALGO|PROTO))=(.*)");
  std::map<std::string, std::string> found;
  for (char** entry = environ; *entry; ++entry) {
    std::cmatch parts;
    if (std::regex_match(*entry, parts, wanted)) {
      const std::string text = *entry;
      const size_t equals = text.find('=');
      found[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return found;
}

}  // namespace

bool TorchFacts::has(const std::string& flag) const {
  const auto found = flags.find(flag);
  return found != flags.end() && found->second != "OFF" && found->second != "0";
}

DoctorFacts gather_doctor_facts(const std::string& dump_folder) {
  DoctorFacts facts;
  facts.titan_version = TITAN_SDK_VERSION;
  facts.api_level = TITAN_API_LEVEL;
  facts.torch = torch_facts();
  facts.driver = train::cuda_driver();
  facts.driver_release = driver_release();
  facts.device_files = access("/dev/nvidiactl", F_OK) == 0;
  if (!facts.driver.devices.empty()) facts.torch_cuda_problem = train::open_torch_cuda();
  facts.cuda_runtime = train::cuda_runtime_version();
  facts.cublaslt = train::cublaslt_version();
  facts.nccl = train::nccl_version();
  facts.system = observe::system_facts();
  facts.dump_folder = dump_folder;
  facts.disk = observe::disk_space(dump_folder);
  std::error_code error;
  if (std::filesystem::is_directory("/dev/shm", error))
    facts.shared_memory = observe::disk_space("/dev/shm");
  facts.limits = process_limits();
  ask_locale(facts);
  facts.environment = environment_variables();
  return facts;
}

}  // namespace titan::commands
