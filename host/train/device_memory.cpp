#include "train/device_memory.h"

#include <c10/core/CachingDeviceAllocator.h>

#include "observe/memory.h"

namespace titan::train {

DeviceMemory device_memory(const Device& device) {
  DeviceMemory memory;
  memory.total_bytes = device.facts.memory_bytes;
  if (device.device.is_cpu()) {
    memory.peak_bytes = observe::peak_resident_bytes();
    return memory;
  }
  c10::DeviceAllocator* allocator = c10::getDeviceAllocator(device.device.type());
  const c10::CachingDeviceAllocator::DeviceStats stats =
      allocator->getDeviceStats(device.device.index());
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  memory.peak_bytes = static_cast<uint64_t>(stats.reserved_bytes[kAll].peak);
  memory.active_bytes = static_cast<uint64_t>(stats.active_bytes[kAll].peak);
  memory.num_alloc_retries = stats.num_alloc_retries;
  memory.num_ooms = stats.num_ooms;
  allocator->resetPeakStats(device.device.index());
  return memory;
}

}  // namespace titan::train
