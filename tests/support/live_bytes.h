/// Counts what CPU tensors hold.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace titan::test {

/// Bytes of all CPU storages that were made since the first call and are still alive. The first
/// call puts itself in front of torch's allocator for the rest of the process.
inline int64_t live_bytes() {
  class Counter final : public c10::Allocator {
   public:
    Counter() : inner_(c10::GetCPUAllocator()) { c10::SetCPUAllocator(this, /*priority=*/1); }
    int64_t live() const { return live_; }
    c10::DataPtr allocate(size_t bytes) override {
      c10::DataPtr data = inner_->allocate(bytes);
      void* address = data.get();
      live_ += static_cast<int64_t>(bytes);
      return {address, new Block{std::move(data), bytes, this}, &Counter::free_block, at::kCPU};
    }
    void copy_data(void* to, const void* from, size_t bytes) const override {
      default_copy_data(to, from, bytes);
    }

   private:
    struct Block {
      c10::DataPtr data;
      size_t bytes;
      Counter* counter;
    };
    static void free_block(void* context) {
      auto* block = static_cast<Block*>(context);
      block->counter->live_ -= static_cast<int64_t>(block->bytes);
      delete block;
    }
    c10::Allocator* inner_;
    std::atomic<int64_t> live_ = 0;
  };
  static auto* counter = new Counter;  // tensors of static duration may outlive everything else
  return counter->live();
}

}  // namespace titan::test
