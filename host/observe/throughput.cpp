#include "observe/throughput.h"

namespace titan::observe {

Throughput throughput(int64_t tokens, double seconds, double flops_per_token,
                      std::optional<double> peak) {
  Throughput result;
  if (seconds > 0) result.tps = static_cast<double>(tokens) / seconds;
  const double flops = result.tps * flops_per_token;
  result.tflops = flops / 1e12;
  if (peak) result.mfu = 100.0 * flops / *peak;
  return result;
}

}  // namespace titan::observe
