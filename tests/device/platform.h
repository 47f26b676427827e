/// The device that is checked: a GPU, or a CPU that plays one. Which of the two is decided when the
/// driver is linked.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "converters/device_facts.h"
#include "json.h"

namespace titan::device_check {

/// Thrown by open_platform() where there is no GPU to check.
class NoGpu : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Work that was recorded once and can be repeated without the CPU's part in it.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
};

/// How often something is run to be timed.
struct Repetition {
  int samples = 7;
  double sample_ms = 20;  ///< a sample is as many runs as fill this time
  int most_runs = 100;    ///< of a sample
};

/// All work of the driver is queued on stream(), which is the current stream of torch too. One
/// thread.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual bool is_gpu() const = 0;
  virtual const converters::DeviceFacts& facts() const = 0;
  /// Everything about the device that a reader of the report may ask for.
  virtual Json describe() = 0;
  /// Clocks, power and temperature as they are now, where nvidia-smi tells; null elsewhere.
  virtual Json state_now() = 0;
  virtual std::string torch_device() const = 0;  ///< "cuda:0", "cpu"
  virtual void* stream()
      const = 0;  ///< a cudaStream_t that is not the default stream; null on the CPU
  virtual void synchronize() = 0;
  /// Milliseconds of one run, one for each sample. `work` queues one run; it is run before too, to
  /// warm up.
  virtual std::vector<double> time(const std::function<void()>& work,
                                   const Repetition& repetition) = 0;
  /// Records what `work` queues, while nothing of it is done. Work that would wait for the device
  /// cannot be recorded: throws std::runtime_error with the reason. `work` has to have run before,
  /// so that no memory is allocated.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
};

/// The one device. Throws NoGpu, or titan::Error for what is missing to use it.
std::unique_ptr<Platform> open_platform();

/// The middle one; of an even number the lower of the two.
double median(std::vector<double> values);

}  // namespace titan::device_check
