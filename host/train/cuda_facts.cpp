#include "train/cuda_facts.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <array>
#include <filesystem>
#include <initializer_list>

namespace titan::train {
namespace {

namespace fs = std::filesystem;

// Libraries stay open: CUDA's do not like to be unloaded.

/// Calls a function of CUDA's C interface; false if it is not there or does not return 0.
template <class... Args>
bool call(void* library, const char* name, Args... args) {
  using Function = int (*)(Args...);
  auto* function = library ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
  return function && function(args...) == 0;
}

/// .../site-packages/nvidia/*/lib beside .../site-packages/torch/lib, and the latter itself.
std::vector<fs::path> wheel_folders() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::get_num_threads), &info) == 0 || !info.dli_fname)
    return {};
  std::error_code error;
  const fs::path lib = fs::canonical(info.dli_fname, error).parent_path();
  std::vector<fs::path> folders = {lib};
  for (fs::directory_iterator package(lib.parent_path().parent_path() / "nvidia", error), end;
       !error && package != end; package.increment(error))
    folders.push_back(package->path() / "lib");
  return folders;
}

/// The one that LibTorch has opened already, else the one it would.
void* open_library(std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD)) return library;
  for (const fs::path& folder : wheel_folders())
    for (const char* name : names)
      if (void* library = dlopen((folder / name).c_str(), RTLD_LAZY | RTLD_LOCAL)) return library;
  for (const char* name : names)
    if (void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace

CudaDriver cuda_driver() {
  CudaDriver driver;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  driver.found = library != nullptr;
  using Init = int (*)(unsigned);
  auto* init = library ? reinterpret_cast<Init>(dlsym(library, "cuInit")) : nullptr;
  if (!init) return driver;
  call(library, "cuDriverGetVersion", &driver.version);
  driver.error = init(0);
  int count = 0;
  if (driver.error != 0 || !call(library, "cuDeviceGetCount", &count)) return driver;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    if (!call(library, "cuDeviceGet", &device, i)) continue;
    constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...
    std::array<char, 256> name{};
    size_t bytes = 0;
    CudaDevice found;
    found.name = call(library, "cuDeviceGetName", name.data(), 255, device) ? name.data()
                                                                            : "unknown CUDA device";
    call(library, "cuDeviceGetAttribute", &found.capability_major, kMajor, device);
    call(library, "cuDeviceGetAttribute", &found.capability_minor, kMinor, device);
    call(library, "cuDeviceTotalMem_v2", &bytes, device);
    found.memory_bytes = bytes;
    driver.devices.push_back(std::move(found));
  }
  return driver;
}

int32_t cuda_runtime_version() {
  int version = 0;
  call(open_library({"libcudart.so.13", "libcudart.so.12"}), "cudaRuntimeGetVersion", &version);
  return version;
}

int32_t cublaslt_version() {
  void* library = open_library({"libcublasLt.so.13", "libcublasLt.so.12"});
  using Version = size_t (*)();
  auto* version =
      library ? reinterpret_cast<Version>(dlsym(library, "cublasLtGetVersion")) : nullptr;
  return version ? static_cast<int32_t>(version()) : 0;
}

int32_t nccl_version() {
  int version = 0;
  call(open_library({"libnccl.so.2"}), "ncclGetVersion", &version);
  return version;
}

std::string open_torch_cuda() {
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) return "";
  const char* reason = dlerror();
  return reason ? reason : "the loader does not say why";
}

}  // namespace titan::train
