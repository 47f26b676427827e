/// The GPU, through the CUDA runtime and torch's current stream.
#include <ATen/core/TensorBody.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <cuda_runtime.h>
#include <stdio.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/error.h"
#include "platform.h"
#include "train/device.h"

namespace titan::device_check {
namespace {

void check_cuda(cudaError_t error, const char* doing) {
  if (error != cudaSuccess)
    throw environment_error(
        std::string("CUDA could not ") + doing + ": " + cudaGetErrorString(error), "the GPU",
        "see that nvidia-smi lists the GPU and that the driver is as new as the CUDA toolkit");
}

class Event {
 public:
  Event() { check_cuda(cudaEventCreate(&event_), "make an event"); }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class GraphRecording final : public Recording {
 public:
  GraphRecording(cudaGraph_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {
    const cudaError_t error = cudaGraphInstantiate(&executable_, graph_, 0);
    if (error != cudaSuccess) {
      cudaGraphDestroy(graph_);
      throw std::runtime_error(std::string("the recorded work cannot be made ready: ") +
                               cudaGetErrorString(error));
    }
  }
  ~GraphRecording() override {
    cudaStreamSynchronize(stream_);
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void replay() override {
    check_cuda(cudaGraphLaunch(executable_, stream_), "launch recorded work");
  }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
  cudaStream_t stream_;
};

/// The first line that a command prints; empty if it cannot be run.
std::string first_line_of(const char* command) {
  FILE* pipe = popen(command, "r");
  if (!pipe) return "";
  std::array<char, 512> buffer{};
  const bool read = fgets(buffer.data(), buffer.size(), pipe) != nullptr;
  pclose(pipe);
  std::string line = read ? buffer.data() : "";
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
  return line;
}

class CudaPlatform final : public Platform {
 public:
  CudaPlatform(at::Device device, converters::DeviceFacts facts)
      : facts_(std::move(facts)),
        guard_(at::kCUDA),
        torch_stream_(guard_.getStreamFromGlobalPool(device)) {
    check_cuda(cudaSetDevice(device.index()), "use the GPU");
    guard_.exchangeStream(torch_stream_);
    stream_ = static_cast<cudaStream_t>(torch_stream_.native_handle());
  }

  bool is_gpu() const override { return true; }
  const converters::DeviceFacts& facts() const override { return facts_; }
  std::string torch_device() const override { return "cuda:0"; }
  void* stream() const override { return stream_; }
  void synchronize() override {
    check_cuda(cudaStreamSynchronize(stream_), "finish the work that was queued");
  }

  Json describe() override {
    cudaDeviceProp properties{};
    check_cuda(cudaGetDeviceProperties(&properties, 0), "describe the GPU");
    int driver = 0, runtime = 0, memory_clock = 0, clock = 0, bus = 0;
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0);
    cudaDeviceGetAttribute(&memory_clock, cudaDevAttrMemoryClockRate, 0);
    cudaDeviceGetAttribute(&bus, cudaDevAttrGlobalMemoryBusWidth, 0);
    Json json = Json::object();
    json["name"] = facts_.name;
    json["capability"] =
        std::to_string(facts_.capability_major) + "." + std::to_string(facts_.capability_minor);
    json["multiprocessors"] = properties.multiProcessorCount;
    json["memory_bytes"] = static_cast<double>(properties.totalGlobalMem);
    json["l2_bytes"] = properties.l2CacheSize;
    json["driver"] = driver;
    json["runtime"] = runtime;
    json["cublaslt"] = facts_.cublaslt_version;
    json["torch"] = std::to_string(TORCH_VERSION_MAJOR) + "." +
                    std::to_string(TORCH_VERSION_MINOR) + "." + std::to_string(TORCH_VERSION_PATCH);
    json["highest_clock_khz"] = clock;
    json["memory_clock_khz"] = memory_clock;
    json["memory_bus_bits"] = bus;
    json["driver_name"] = first_line_of(
        "nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null");
    return json;
  }

  Json state_now() override {
    const std::string names =
        "clocks.sm,clocks.mem,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active";
    const std::string line = first_line_of(
        ("nvidia-smi --query-gpu=" + names + " --format=csv,noheader -i 0 2>/dev/null").c_str());
    if (line.find(',') == std::string::npos) return {};
    Json json = Json::object();
    std::istringstream keys(names), values(line);
    for (std::string key, value; std::getline(keys, key, ',') && std::getline(values, value, ',');)
      json[key] = value.substr(std::min(value.find_first_not_of(' '), value.size()));
    return json;
  }

  std::vector<double> time(const std::function<void()>& work,
                           const Repetition& repetition) override {
    const Event begin, end;
    const auto run = [&](int count) {
      check_cuda(cudaEventRecord(begin.get(), stream_), "record an event");
      for (int i = 0; i < count; ++i) work();
      check_cuda(cudaEventRecord(end.get(), stream_), "record an event");
      check_cuda(cudaEventSynchronize(end.get()), "finish work that is timed");
      float elapsed_ms = 0;
      check_cuda(cudaEventElapsedTime(&elapsed_ms, begin.get(), end.get()), "read an event");
      return static_cast<double>(elapsed_ms) / count;
    };
    run(2);
    const double once = run(1);
    const int count = std::clamp(static_cast<int>(repetition.sample_ms / std::max(once, 1e-3)), 1,
                                 repetition.most_runs);
    std::vector<double> samples;
    for (int i = 0; i < repetition.samples; ++i) samples.push_back(run(count));
    return samples;
  }

  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    synchronize();
    // Thread-local: on this thread a call that waits or allocates fails, on torch's threads only
    // one that waits.
    check_cuda(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal),
               "begin to record");
    std::string reason;
    try {
      work();
    } catch (const std::exception& error) {
      reason = error.what();
    }
    cudaGraph_t graph = nullptr;
    const cudaError_t ended = cudaStreamEndCapture(stream_, &graph);
    if (reason.empty() && ended == cudaSuccess && graph)
      return std::make_unique<GraphRecording>(graph, stream_);
    if (graph) cudaGraphDestroy(graph);
    cudaGetLastError();  // an invalid recording leaves its error behind
    if (reason.empty()) reason = cudaGetErrorString(ended);
    throw std::runtime_error(reason);
  }

 private:
  converters::DeviceFacts facts_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream torch_stream_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace

std::unique_ptr<Platform> open_platform() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0)
    throw NoGpu(std::string("no CUDA device was found") +
                (error == cudaSuccess ? "" : std::string(" (") + cudaGetErrorString(error) + ")") +
                ". Nothing was checked.");
  train::Device device = train::resolve_device("cuda");
  return std::make_unique<CudaPlatform>(device.device, std::move(device.facts));
}

}  // namespace titan::device_check
