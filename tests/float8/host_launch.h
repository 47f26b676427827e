/// In place of CUDA's launch: a kernel's blocks and threads as loops on the CPU. Included by launch.h.
#pragma once

#include <cstring>
#include <memory>
#include <typeinfo>
#include <utility>
#include <vector>

#include "launch_log.h"

namespace float8::device {

template <class Kernel, int kPhase>
void run_phases(const typename Kernel::Arguments& arguments, int64_t block, typename Kernel::Shared& shared,
                std::vector<typename Kernel::Thread>& states) {
  // A barrier: no thread begins a phase before all have ended the one before.
  for (int thread = 0; thread < kThreads; ++thread)
    Kernel::phase(std::integral_constant<int, kPhase>(), arguments, block, thread, shared, states[static_cast<size_t>(thread)]);
  if constexpr (kPhase + 1 < Kernel::kPhases) run_phases<Kernel, kPhase + 1>(arguments, block, shared, states);
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
    std::memset(static_cast<void*>(states.data()), 0x55, sizeof(typename Kernel::Thread) * states.size());
    run_phases<Kernel, 0>(arguments, block, *shared, states);
  }
  return nullptr;
}

}  // namespace float8::device
