/// Speed of training as torchtitan defines it.
#pragma once

#include <cstdint>
#include <optional>

namespace titan::observe {

struct Throughput {
  double tps = 0;     ///< tokens per second of one device
  double tflops = 0;  ///< model FLOPs per second / 1e12: what recompute repeats is not counted
  std::optional<double> mfu;  ///< percent of the device's peak; absent if that is not known
};

/// `tokens` were trained on in `seconds`; `peak` in FLOPs per second. All zero if no time passed.
Throughput throughput(int64_t tokens, double seconds, double flops_per_token,
                      std::optional<double> peak);

}  // namespace titan::observe
