#include "train/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/error.h"

namespace titan::train {
namespace {

/// The CUDA driver API by name: needs neither the toolkit nor its headers.
class Driver {
 public:
  Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {}
  bool present() const { return library_ != nullptr; }
  template <class... Args>
  bool call(const char* name, Args... args) const {
    using Function = int (*)(Args...);
    auto* function = library_ ? reinterpret_cast<Function>(dlsym(library_, name)) : nullptr;
    return function && function(args...) == 0;
  }

 private:
  void* library_;  // stays open: drivers do not like to be unloaded
};

/// Of the copy that is mapped, as torch's is once it is open, else of the one that the library search path gives.
int32_t cublaslt_version() {
  for (const int only_mapped : {RTLD_NOLOAD, 0})
    for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) {
      void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL | only_mapped);
      if (!library) continue;
      using Version = size_t (*)();
      if (auto* version = reinterpret_cast<Version>(dlsym(library, "cublasLtGetVersion")))
        return static_cast<int32_t>(version());
    }
  return 0;
}

converters::DeviceFacts cpu_facts() {
  converters::DeviceFacts facts;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
      facts.name = line.substr(line.find(": ") + 2);
      break;
    }
  facts.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return facts;
}

}  // namespace

/// cuBLASLt is no part of the driver: resolve_device() looks for it.
converters::DeviceFacts detect_device() {
  const Driver driver;
  int count = 0, device = 0;
  if (!driver.present() || !driver.call("cuInit", 0u) || !driver.call("cuDeviceGetCount", &count) || count < 1 ||
      !driver.call("cuDeviceGet", &device, 0))
    return cpu_facts();
  converters::DeviceFacts facts;
  facts.cuda = true;
  std::array<char, 256> name{};
  constexpr int kMajor = 75, kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_...
  size_t bytes = 0;
  facts.name = driver.call("cuDeviceGetName", name.data(), 255, device) ? name.data() : "unknown CUDA device";
  driver.call("cuDeviceGetAttribute", &facts.capability_major, kMajor, device);
  driver.call("cuDeviceGetAttribute", &facts.capability_minor, kMinor, device);
  driver.call("cuDeviceTotalMem_v2", &bytes, device);
  driver.call("cuDriverGetVersion", &facts.driver_version);
  facts.memory_bytes = bytes;
  return facts;
}

Device resolve_device(const std::string& wanted) {
  if (wanted == "cpu") return {at::kCPU, cpu_facts()};
  converters::DeviceFacts facts = detect_device();
  if (!facts.cuda) {
    if (wanted == "cuda")
      throw environment_error("training.device is cuda, but no CUDA device was found", "training.device",
                              "check that nvidia-smi lists a device, or set training.device: cpu");
    return {at::kCPU, std::move(facts)};
  }
  // Registers CUDA with LibTorch. Opened only now: a CPU run neither needs nor waits for it.
  if (!dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL)) {
    const std::string reason = dlerror();
    if (wanted == "cuda")
      throw environment_error("LibTorch's CUDA library could not be opened: " + reason, "libtorch_cuda.so",
                              "install the full torch package (./dev build --cuda), or set training.device: cpu");
    return {at::kCPU, cpu_facts()};
  }
  // Only now: torch's own cuBLASLt, which a wheel keeps where nothing else finds it, is mapped by then. Opened before, a
  // copy from the search path would also take its place.
  facts.cublaslt_version = cublaslt_version();
  at::globalContext().lazyInitDevice(at::kCUDA);
  return {at::Device(at::kCUDA, 0), std::move(facts)};
}

}  // namespace titan::train
