/// The reference model of tests/golden/llama, trained with or without float8.
#pragma once

#include <ATen/core/TensorBody.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "converters/container.h"
#include "converters/registry.h"
#include "model/mixed_precision.h"
#include "model/transformer.h"
#include "optim/adamw.h"
#include "optim/lr_schedule.h"

namespace titan::device_check {

/// One batch of the reference run, on a device: int64 [batch, length].
struct TokenBatch {
  at::Tensor tokens, labels;
};

/// What float8 is to do in the model.
struct Float8Use {
  const converters::Registry* registry;
  converters::DeviceFacts device;
  std::string recipe;
  bool emulate = false;
};

/// Two layers of width 64 with the reference's initial weights, float32 parameters, computing in
/// bfloat16, AdamW at the reference's rates. The output head stays in bfloat16.
class ReferenceModel {
 public:
  /// `stream` as in model::CallContext. Without `float8`: the stock model.
  ReferenceModel(at::Device device, void* stream, const std::optional<Float8Use>& float8);

  /// Batch of 0-based step `step`; the reference's batches come round again.
  TokenBatch batch(int64_t step) const;
  /// Forward, backward, update and hooks; gradients are clipped only with `clip`, as that waits for
  /// the device. Returns the loss, float32 with no dimensions, on the device.
  at::Tensor step(const TokenBatch& batch, bool clip = true);
  /// Parameters, buffers and optimizer state as they are now, by name, copied to the CPU.
  std::map<std::string, at::Tensor> parameters();
  std::map<std::string, at::Tensor> buffers();
  /// Modules that float8 has replaced.
  int64_t replaced();

 private:
  at::Device device_;
  void* stream_;
  std::unique_ptr<model::Transformer> model_;
  std::unique_ptr<converters::ModelConvertersContainer> container_;
  std::unique_ptr<optim::Optimizer> optimizer_;
  std::unique_ptr<optim::LrSchedule> schedule_;
  model::MixedPrecision mixed_{at::kBFloat16};
  double base_rate_ = 0, max_norm_ = 0;
  int64_t batch_size_ = 0, length_ = 0, batches_ = 0, steps_done_ = 0;
  std::vector<uint16_t> tokens_;
};

}  // namespace titan::device_check
