#include "train/device.h"

#include <ATen/Context.h>
#include <unistd.h>

#include <fstream>

#include "base/error.h"
#include "train/cuda_facts.h"

namespace titan::train {
namespace {

converters::DeviceFacts cpu_facts() {
  converters::DeviceFacts facts;
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) {
      facts.name = line.substr(line.find(": ") + 2);
      break;
    }
  facts.memory_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) *
                       static_cast<uint64_t>(sysconf(_SC_PAGE_SIZE));
  return facts;
}

}  // namespace

/// cuBLASLt is no part of the driver: resolve_device() looks for it.
converters::DeviceFacts detect_device() {
  const CudaDriver driver = cuda_driver();
  if (driver.devices.empty()) return cpu_facts();
  const CudaDevice& device = driver.devices.front();
  converters::DeviceFacts facts;
  facts.cuda = true;
  facts.name = device.name;
  facts.capability_major = device.capability_major;
  facts.capability_minor = device.capability_minor;
  facts.memory_bytes = device.memory_bytes;
  facts.driver_version = driver.version;
  return facts;
}

Device resolve_device(const std::string& wanted) {
  if (wanted == "cpu") return {at::kCPU, cpu_facts()};
  converters::DeviceFacts facts = detect_device();
  if (!facts.cuda) {
    if (wanted == "cuda")
      throw environment_error("training.device is cuda, but no CUDA device was found",
                              "training.device",
                              "check that nvidia-smi lists a device, or set training.device: cpu");
    return {at::kCPU, std::move(facts)};
  }
  // Registers CUDA with LibTorch. Opened only now: a CPU run neither needs nor waits for it.
  if (const std::string reason = open_torch_cuda(); !reason.empty()) {
    if (wanted == "cuda")
      throw environment_error(
          "LibTorch's CUDA library could not be opened: " + reason, "libtorch_cuda.so",
          "install the full torch package (./dev build --cuda), or set training.device: cpu");
    return {at::kCPU, cpu_facts()};
  }
  // Only now: torch's own cuBLASLt, which a wheel keeps where nothing else finds it, is mapped by
  // then. Opened before, a copy from the search path would also take its place.
  facts.cublaslt_version = cublaslt_version();
  at::globalContext().lazyInitDevice(at::kCUDA);
  return {at::Device(at::kCUDA, 0), std::move(facts)};
}

}  // namespace titan::train
