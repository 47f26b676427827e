/// A CPU that plays a GPU, for the test of the driver itself: the device backend then runs with
/// doubles for cuBLASLt and for the launch of kernels. Its figures mean nothing.
#include <stdlib.h>
#include <torch/headeronly/version.h>

#include <chrono>

#include "platform.h"

namespace titan::device_check {
namespace {

/// Runs the work when it is replayed.
class Again final : public Recording {
 public:
  explicit Again(std::function<void()> work) : work_(std::move(work)) {}
  void replay() override { work_(); }

 private:
  std::function<void()> work_;
};

class CpuPlatform final : public Platform {
 public:
  CpuPlatform() {
    // As the double of cuBLASLt reads it, in this program and in the plugin.
    setenv("FLOAT8_DOUBLE_CAPABILITY", "90", /*overwrite=*/0);
    const int capability = atoi(getenv("FLOAT8_DOUBLE_CAPABILITY"));
    facts_.cuda = true;
    facts_.name = "CPU in the place of a GPU";
    facts_.capability_major = capability / 10;
    facts_.capability_minor = capability % 10;
    facts_.cublaslt_version = 130100;
  }
  bool is_gpu() const override { return false; }
  const converters::DeviceFacts& facts() const override { return facts_; }
  std::string torch_device() const override { return "cpu"; }
  void* stream() const override { return nullptr; }
  void synchronize() override {}
  Json describe() override {
    Json json = Json::object();
    json["name"] = facts_.name;
    json["capability"] =
        std::to_string(facts_.capability_major) + "." + std::to_string(facts_.capability_minor);
    json["cublaslt"] = facts_.cublaslt_version;
    json["torch"] = std::to_string(TORCH_VERSION_MAJOR) + "." +
                    std::to_string(TORCH_VERSION_MINOR) + "." + std::to_string(TORCH_VERSION_PATCH);
    return json;
  }
  Json state_now() override { return {}; }
  std::vector<double> time(const std::function<void()>& work, const Repetition&) override {
    std::vector<double> samples;
    for (int i = 0; i < 2; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      work();
      samples.push_back(
          std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
              .count());
    }
    return samples;
  }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return std::make_unique<Again>(work);
  }

 private:
  converters::DeviceFacts facts_;
};

}  // namespace

std::unique_ptr<Platform> open_platform() { return std::make_unique<CpuPlatform>(); }

}  // namespace titan::device_check
