/// How a kernel is written and started: phases of one thread, with a barrier of its block between
/// them.
///
/// A kernel is a struct with `Arguments`, `Shared` (memory of a block), `Thread` (what a thread
/// keeps between phases), `kPhases`, and `phase(integral_constant<int, I>, arguments, block,
/// thread, shared, state)`. Every block has kThreads threads and blocks are numbered from 0.
/// Nothing but this file knows a grid from a loop, so device code runs on a CPU as it stands.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../format.h"

namespace float8::device {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;

/// The largest of a warp's values in slots[warp], for 256 threads and 8 slots. Read after a
/// barrier.
TITAN_HD void warp_max_into(int32_t* slots, int thread, int32_t value) {
#if defined(__CUDA_ARCH__)
  const int32_t largest = __reduce_max_sync(0xffffffffU, value);
  if (thread % 32 == 0) slots[thread / 32] = largest;
#else
  int32_t& slot = slots[thread / 32];
  if (thread % 32 == 0 || value > slot) slot = value;
#endif
}

TITAN_HD int32_t max_of_warps(const int32_t* slots) {
  int32_t largest = slots[0];
  for (int i = 1; i < kWarps; ++i) largest = slots[i] > largest ? slots[i] : largest;
  return largest;
}

/// *slot = the greater of itself and value, from any number of threads.
TITAN_HD void atomic_max(int32_t* slot, int32_t value) {
#if defined(__CUDA_ARCH__)
  atomicMax(slot, value);
#else
  if (value > *slot) *slot = value;
#endif
}

}  // namespace float8::device

#if defined(FLOAT8_HOST_LAUNCH)
#include FLOAT8_HOST_LAUNCH
#else

#include <cuda_runtime.h>

namespace float8::device {

template <class Kernel, int kPhase>
__device__ __forceinline__ void run_phases(const typename Kernel::Arguments& arguments,
                                           typename Kernel::Shared& shared,
                                           typename Kernel::Thread& state) {
  if constexpr (kPhase > 0) __syncthreads();
  Kernel::phase(std::integral_constant<int, kPhase>(), arguments, static_cast<int64_t>(blockIdx.x),
                static_cast<int>(threadIdx.x), shared, state);
  if constexpr (kPhase + 1 < Kernel::kPhases)
    run_phases<Kernel, kPhase + 1>(arguments, shared, state);
}

template <class Kernel>
__global__ void __launch_bounds__(kThreads) run_kernel(const typename Kernel::Arguments arguments) {
  __shared__ typename Kernel::Shared shared;
  typename Kernel::Thread state;
  run_phases<Kernel, 0>(arguments, shared, state);
}

/// Queues `blocks` blocks on `stream`, a cudaStream_t of the current device. Null, or CUDA's error.
template <class Kernel>
const char* launch_kernel(const typename Kernel::Arguments& arguments, int64_t blocks,
                          void* stream) {
  if (blocks <= 0) return nullptr;
  // The formatter does not know the launch brackets in a header.
  // clang-format off
  run_kernel<Kernel>
      <<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
          arguments);
  // clang-format on
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace float8::device

#endif
