/// What this machine can do at best, measured in the same process as the kernels: a kernel's figure
/// is a share of the lower of the two roofs (Williams et al., "Roofline", 2009).
#pragma once

#include <benchmark/benchmark.h>

#include <cstdint>

namespace titan::bench {

/// float32 operations a second of all threads: torch's own product of 1024 x 1024 matrices, as good
/// as any product here gets.
double peak_flops();

/// Bytes a second that a copy of 64 MiB reads and writes, all threads.
double copy_bandwidth();

/// Sets counters: GFLOP/s, GB/s, and `roof`, the share of what the roofs allow for an iteration of
/// `flops` operations that must move `bytes`.
void report(benchmark::State& state, double flops, double bytes);

/// The instruction set that argument `state.range(0)` names: 0 the best, 1 plain C++. Put back when
/// it goes.
class Instructions {
 public:
  explicit Instructions(benchmark::State& state);
  ~Instructions();
};

}  // namespace titan::bench
