#include "model/allocation_meter.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <numeric>
#include <utility>

namespace titan::model {
namespace {

thread_local Purpose current_purpose = Purpose::kActivation;

/// Above the priority of torch's own allocators, which is 0.
constexpr uint8_t kMeterPriority = 1;

int64_t sum_of(const PurposeBytes& bytes) {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
}

}  // namespace

PurposeScope::PurposeScope(Purpose purpose) : outer_(std::exchange(current_purpose, purpose)) {}
PurposeScope::~PurposeScope() { current_purpose = outer_; }

/// Shared with every storage that was counted: some outlive the meter.
struct AllocationMeter::Counts {
  explicit Counts(std::array<double, kPurposes> given) : shares(given) {}

  void add(Purpose purpose, int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex);
    live[static_cast<size_t>(purpose)] += bytes;
    weighted += shares[static_cast<size_t>(purpose)] * static_cast<double>(bytes);
    if (weighted > peak) note_peak();
  }
  void note_peak() {
    peak = weighted;
    at_peak = live;
  }

  std::mutex mutex;
  const std::array<double, kPurposes> shares;
  PurposeBytes live = {}, at_peak = {};
  double weighted = 0, peak = 0;
};

class AllocationMeter::Counter final : public c10::Allocator {
 public:
  Counter(at::DeviceType device, c10::Allocator* inner, std::shared_ptr<Counts> counts)
      : device_(device), inner_(inner), counts_(std::move(counts)) {}

  c10::DataPtr allocate(size_t bytes) override {
    c10::DataPtr data = inner_->allocate(bytes);
    void* address = data.get();
    const c10::Device device = data.device();
    auto block = std::make_unique<Block>(
        Block{std::move(data), static_cast<int64_t>(bytes), current_purpose, counts_});
    counts_->add(block->purpose, block->bytes);
    return {address, block.release(), &Counter::free_block, device};
  }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    if (device_ != at::kMeta) default_copy_data(to, from, bytes);
  }

  static void set_purpose(const c10::DataPtr& data, Purpose purpose) {
    if (data.get_deleter() != &Counter::free_block) return;
    auto* block = static_cast<Block*>(data.get_context());
    block->counts->add(block->purpose, -block->bytes);
    block->counts->add(purpose, block->bytes);
    block->purpose = purpose;
  }

 private:
  struct Block {
    c10::DataPtr data;
    int64_t bytes;
    Purpose purpose;
    std::shared_ptr<Counts> counts;
  };
  static void free_block(void* context) {
    const std::unique_ptr<Block> block(static_cast<Block*>(context));
    block->counts->add(block->purpose, -block->bytes);
  }

  at::DeviceType device_;
  c10::Allocator* inner_;
  std::shared_ptr<Counts> counts_;
};

AllocationMeter::AllocationMeter(at::DeviceType device, std::array<double, kPurposes> shares)
    : counts_(std::make_shared<Counts>(shares)),
      device_(device),
      inner_(c10::GetAllocator(device)) {
  counter_ = std::make_unique<Counter>(device, inner_, counts_);
  c10::SetAllocator(device, counter_.get(), kMeterPriority);
}

AllocationMeter::~AllocationMeter() { c10::SetAllocator(device_, inner_, kMeterPriority); }

PurposeBytes AllocationMeter::live() const {
  const std::lock_guard<std::mutex> lock(counts_->mutex);
  return counts_->live;
}
int64_t AllocationMeter::live_total() const { return sum_of(live()); }

PurposeBytes AllocationMeter::at_peak() const {
  const std::lock_guard<std::mutex> lock(counts_->mutex);
  return counts_->at_peak;
}
int64_t AllocationMeter::peak_total() const { return sum_of(at_peak()); }

void AllocationMeter::reset_peak() {
  const std::lock_guard<std::mutex> lock(counts_->mutex);
  counts_->note_peak();
}

void AllocationMeter::set_purpose(const at::Tensor& tensor, Purpose purpose) {
  if (tensor.defined() && tensor.has_storage())
    Counter::set_purpose(tensor.storage().data_ptr(), purpose);
}

}  // namespace titan::model
