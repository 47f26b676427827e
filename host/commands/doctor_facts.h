/// Everything `titan doctor` knows, as data: gathered here, judged and printed elsewhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/system_facts.h"
#include "train/cuda_facts.h"

namespace titan::commands {

struct Problem {
  std::string what;
  std::string fix;
};

/// What this process may use at most; absent: without a limit.
struct ProcessLimits {
  std::optional<uint64_t> open_files, open_files_hard;
  std::optional<uint64_t> file_bytes;
  std::optional<uint64_t> address_space_bytes;
  std::optional<uint64_t> locked_bytes;
};

struct TorchFacts {
  std::string version;         ///< "2.11.0"
  std::string build;           ///< which build of it, as plugins of tier exact are told
  std::string cpu_capability;  ///< "AVX512"
  std::map<std::string, std::string> flags;  ///< "USE_NCCL" to "1", as it was configured
  int64_t threads = 0;                       ///< that operators use
  bool has(const std::string& flag) const;   ///< "USE_NCCL": configured, and not OFF or 0
};

struct PluginFacts {
  std::vector<std::string> names;  ///< "float8 0.1.0", of those that can be used
  std::vector<Problem> problems;
};

struct DoctorFacts {
  std::string titan_version;
  int64_t api_level = 0;
  TorchFacts torch;
  train::CudaDriver driver;
  std::string driver_release;      ///< "580.65.06"; empty: not known
  bool device_files = false;       ///< /dev/nvidiactl is there
  std::string torch_cuda_problem;  ///< why libtorch_cuda does not open; empty: it does, or no GPU
                                   ///< asks for it
  int32_t cuda_runtime = 0, cublaslt = 0, nccl = 0;  ///< versions as in train/cuda_facts.h
  observe::SystemFacts system;
  std::string dump_folder;
  observe::DiskSpace disk;           ///< of the dump folder
  observe::DiskSpace shared_memory;  ///< of /dev/shm
  ProcessLimits limits;
  std::string locale;        ///< what LC_ALL, LC_CTYPE or LANG ask for; empty: none
  std::string locale_codes;  ///< "UTF-8"; empty: no such locale is installed
  std::map<std::string, std::string>
      environment;  ///< of OpenMP, MKL, CUDA and NCCL, those that are set
  PluginFacts plugins;
};

/// All but the plugins, of this machine and process. Opens LibTorch's CUDA library if there is a
/// GPU.
DoctorFacts gather_doctor_facts(const std::string& dump_folder);

}  // namespace titan::commands
