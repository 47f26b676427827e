/// Counts what tensors of one kind of device hold, and what for.
#pragma once

#include <ATen/core/TensorBody.h>
#include <c10/core/Allocator.h>

#include <array>
#include <cstdint>
#include <memory>

namespace titan::model {

/// What memory is for. Whoever allocates on behalf of one says so with a PurposeScope.
enum class Purpose : size_t {
  kActivation,   ///< all that nobody says anything about
  kGradient,     ///< of a parameter, once it is complete
  kComputeCopy,  ///< parameters in the type that matrices are multiplied in
  kConverter,    ///< what plugin code is expected to hold
};
inline constexpr size_t kPurposes = 4;

/// Bytes for each purpose.
using PurposeBytes = std::array<int64_t, kPurposes>;

/// While it lives, this thread allocates for `purpose`.
class PurposeScope {
 public:
  explicit PurposeScope(Purpose purpose);
  ~PurposeScope();
  PurposeScope(const PurposeScope&) = delete;
  PurposeScope& operator=(const PurposeScope&) = delete;

 private:
  Purpose outer_;
};

/// Stands in front of torch's allocator for a kind of device and counts the storages that are made
/// while it lives, on every thread, until they are freed. On the meta device storages have a size
/// and no memory: code that runs there is counted as if it ran for real. What libraries take for
/// themselves (scratch memory of a matrix product, say) is not seen. One meter for a device at a
/// time.
class AllocationMeter {
 public:
  /// `shares`: how much of a byte counts in the peak, for each purpose.
  explicit AllocationMeter(at::DeviceType device,
                           std::array<double, kPurposes> shares = {1, 1, 1, 1});
  ~AllocationMeter();
  AllocationMeter(const AllocationMeter&) = delete;
  AllocationMeter& operator=(const AllocationMeter&) = delete;

  /// Bytes alive now.
  PurposeBytes live() const;
  int64_t live_total() const;
  /// Bytes that were alive when their weighted sum was largest.
  PurposeBytes at_peak() const;
  int64_t peak_total() const;
  /// The peak of what follows.
  void reset_peak();

  /// From now on the storage of `tensor` counts as being for `purpose`. Nothing for a tensor that
  /// no meter has seen being made.
  static void set_purpose(const at::Tensor& tensor, Purpose purpose);

 private:
  class Counter;
  struct Counts;
  std::shared_ptr<Counts> counts_;
  std::unique_ptr<Counter> counter_;
  at::DeviceType device_;
  c10::Allocator* inner_;
};

}  // namespace titan::model
