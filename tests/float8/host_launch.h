/// In place of CUDA's launch: a kernel's blocks and threads as loops on the CPU. Included by
/// launch.h.
///
/// Between two barriers a warp sees of the block's memory what was there at the first, and what it
/// writes itself. So a phase that reads what another warp writes in it gives wrong results, and two
/// warps that write one byte are an error. Races within a warp or in the device's memory do not
/// show.
#pragma once

#include <cstring>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "launch_log.h"

namespace float8::device {

/// Copies to `merged` the bytes that `warp` has changed of `before`; false if one of them was
/// changed already.
inline bool merge_writes(const unsigned char* before, const unsigned char* warp,
                         unsigned char* merged, size_t size) {
  constexpr size_t kStretch = 256;
  bool alone = true;
  for (size_t first = 0; first < size; first += kStretch) {
    const size_t end = first + kStretch < size ? first + kStretch : size;
    if (std::memcmp(warp + first, before + first, end - first) == 0) continue;
    for (size_t i = first; i < end; ++i) {
      if (warp[i] == before[i]) continue;
      alone = alone && merged[i] == before[i];
      merged[i] = warp[i];
    }
  }
  return alone;
}

/// False if two warps wrote one place in the same phase.
template <class Kernel, int kPhase>
bool run_phases(const typename Kernel::Arguments& arguments, int64_t block,
                typename Kernel::Shared& shared, std::vector<typename Kernel::Thread>& states) {
  using Shared = typename Kernel::Shared;
  const auto bytes = [](Shared& of) {
    return static_cast<unsigned char*>(static_cast<void*>(&of));
  };
  const auto before = std::make_unique<Shared>(), own = std::make_unique<Shared>();
  std::memcpy(bytes(*before), bytes(shared), sizeof shared);
  bool alone = true;
  for (int warp = 0; warp < kWarps; ++warp) {
    std::memcpy(bytes(*own), bytes(*before), sizeof shared);
    for (int thread = 32 * warp; thread < 32 * (warp + 1); ++thread)
      Kernel::phase(std::integral_constant<int, kPhase>(), arguments, block, thread, *own,
                    states[static_cast<size_t>(thread)]);
    alone = merge_writes(bytes(*before), bytes(*own), bytes(shared), sizeof shared) && alone;
  }
  // A barrier: no thread begins a phase before all have ended the one before.
  if constexpr (kPhase + 1 < Kernel::kPhases)
    alone = run_phases<Kernel, kPhase + 1>(arguments, block, shared, states) && alone;
  return alone;
}

template <class Kernel>
const char* launch_kernel(const typename Kernel::Arguments& arguments, int64_t blocks, void*) {
  if (test::launch_error()) return test::launch_error();
  test::launched().emplace_back(typeid(Kernel).name());
  const auto shared = std::make_unique<typename Kernel::Shared>();
  std::vector<typename Kernel::Thread> states(kThreads);
  for (int64_t block = 0; block < blocks; ++block) {
    // Neither memory comes cleared: what is read without having been written shows.
    std::memset(static_cast<void*>(shared.get()), 0x55, sizeof *shared);
    std::memset(static_cast<void*>(states.data()), 0x55,
                sizeof(typename Kernel::Thread) * states.size());
    if (!run_phases<Kernel, 0>(arguments, block, *shared, states))
      return "two warps write one place between two barriers";
  }
  return nullptr;
}

}  // namespace float8::device
