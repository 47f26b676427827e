#include "converters/assumed_device.h"

#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text_list.h"

namespace titan::converters {
namespace {

struct Architecture {
  std::string_view name;
  int32_t major, minor;
  std::string_view example;
  /// Devices that are sold with it and their memory in bytes, by NVIDIA's data sheets.
  std::vector<ExampleDevice> devices;
};

constexpr uint64_t gigabytes(uint64_t count) { return count * 1'000'000'000; }

// NVIDIA's table of compute capabilities (https://developer.nvidia.com/cuda-gpus).
const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> table = {
      {"sm_70", 7, 0, "V100", {{"V100 16GB", gigabytes(16)}, {"V100 32GB", gigabytes(32)}}},
      {"sm_75", 7, 5, "T4", {{"T4", gigabytes(16)}}},
      {"sm_80", 8, 0, "A100", {{"A100 40GB", gigabytes(40)}, {"A100 80GB", gigabytes(80)}}},
      {"sm_86", 8, 6, "A40, RTX 30", {{"RTX 3090", gigabytes(24)}, {"A40", gigabytes(48)}}},
      {"sm_87", 8, 7, "Jetson Orin", {{"Jetson AGX Orin", gigabytes(64)}}},
      {"sm_89", 8, 9, "L40S, RTX 40", {{"RTX 4090", gigabytes(24)}, {"L40S", gigabytes(48)}}},
      {"sm_90", 9, 0, "H100, H200", {{"H100", gigabytes(80)}, {"H200", gigabytes(141)}}},
      {"sm_100", 10, 0, "B200", {{"B200", gigabytes(180)}}},
      {"sm_103", 10, 3, "B300", {{"B300", gigabytes(288)}}},
      {"sm_110", 11, 0, "Jetson Thor", {{"Jetson AGX Thor", gigabytes(128)}}},
      {"sm_120",
       12,
       0,
       "RTX 50, RTX PRO 6000 Blackwell",
       {{"RTX 5090", gigabytes(32)}, {"RTX PRO 6000 Blackwell", gigabytes(96)}}},
      {"sm_121", 12, 1, "GB10", {{"GB10", gigabytes(128)}}},
  };
  return table;
}

/// The one that is meant by a name or number, or null.
const Architecture* find_architecture(std::string wanted) {
  if (wanted.size() > 3 && (wanted.back() == 'a' || wanted.back() == 'f')) wanted.pop_back();
  for (const Architecture& one : architectures())
    if (wanted == one.name || wanted == std::to_string(one.major) + "." + std::to_string(one.minor))
      return &one;
  return nullptr;
}

}  // namespace

DeviceFacts assumed_device(const std::string& name) {
  DeviceFacts facts;
  if (name == "cpu") return facts;
  if (const Architecture* architecture = find_architecture(name)) {
    facts.cuda = true;
    facts.name = std::string(architecture->name) + " (assumed; such as " +
                 std::string(architecture->example) + ")";
    facts.capability_major = architecture->major;
    facts.capability_minor = architecture->minor;
    facts.driver_version = 13000;
    facts.cublaslt_version = 130000;
    return facts;
  }
  std::vector<std::string> known = {"cpu"};
  for (const Architecture& architecture : architectures()) known.emplace_back(architecture.name);
  throw usage_error("no device is named '" + name + "'", "--device",
                    did_you_mean(name, known) + "known: " + joined(known));
}

std::vector<ExampleDevice> example_devices(const std::string& name) {
  const Architecture* architecture = find_architecture(name);
  return architecture ? architecture->devices : std::vector<ExampleDevice>();
}

}  // namespace titan::converters
