#include "converters/assumed_device.h"

#include <array>
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
};

// NVIDIA's table of compute capabilities (https://developer.nvidia.com/cuda-gpus).
constexpr std::array<Architecture, 12> kArchitectures = {{
    {"sm_70", 7, 0, "V100"},
    {"sm_75", 7, 5, "T4"},
    {"sm_80", 8, 0, "A100"},
    {"sm_86", 8, 6, "A40, RTX 30"},
    {"sm_87", 8, 7, "Jetson Orin"},
    {"sm_89", 8, 9, "L40S, RTX 40"},
    {"sm_90", 9, 0, "H100, H200"},
    {"sm_100", 10, 0, "B200"},
    {"sm_103", 10, 3, "B300"},
    {"sm_110", 11, 0, "Jetson Thor"},
    {"sm_120", 12, 0, "RTX 50, RTX PRO 6000 Blackwell"},
    {"sm_121", 12, 1, "GB10"},
}};

}  // namespace

DeviceFacts assumed_device(const std::string& name) {
  DeviceFacts facts;
  if (name == "cpu") return facts;
  std::string wanted = name;
  if (wanted.size() > 3 && (wanted.back() == 'a' || wanted.back() == 'f')) wanted.pop_back();
  std::vector<std::string> known = {"cpu"};
  for (const Architecture& architecture : kArchitectures) {
    const std::string number = std::to_string(architecture.major) + "." + std::to_string(architecture.minor);
    known.emplace_back(architecture.name);
    if (wanted != architecture.name && wanted != number) continue;
    facts.cuda = true;
    facts.name = std::string(architecture.name) + " (assumed; such as " + std::string(architecture.example) + ")";
    facts.capability_major = architecture.major;
    facts.capability_minor = architecture.minor;
    facts.driver_version = 13000;
    facts.cublaslt_version = 130000;
    return facts;
  }
  throw usage_error("no device is named '" + name + "'", "--device", did_you_mean(name, known) + "known: " + joined(known));
}

}  // namespace titan::converters
