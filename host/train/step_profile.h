/// What a training step holds in memory, found by running it on meta tensors.
#pragma once

#include <array>
#include <cstdint>

#include "config/config.h"
#include "model/allocation_meter.h"
#include "model/module.h"

namespace titan::train {

/// In bytes. Parameters, buffers and the optimizer's state are not part of it: they are there
/// before the step and after it.
struct StepProfile {
  model::PurposeBytes kept = {};     ///< between forward and backward of the first micro-batch
  model::PurposeBytes at_peak = {};  ///< when the weighted sum was largest
  model::PurposeBytes after = {};  ///< after the last backward and without the copies of parameters
};

/// Runs forward and backward of `root`, which is on the meta device, with torch's own autograd, as
/// often as micro-batches differ in what they hold: the second meets gradients, all later ones are
/// like it. So what autograd keeps, what recomputation drops and what operators take on the way is
/// counted, not modelled. Code of plugins does not run; see converters/stand_in.h.
///
/// `shares`: how much of a byte counts in the peak, for each purpose (a device that holds 1/8 of
/// the gradients). Leaves no gradients behind, but hooks on the parameters: do not train `root`.
StepProfile profile_step(model::Module& root, const config::Training& training,
                         int64_t micro_batches, const std::array<double, model::kPurposes>& shares);

}  // namespace titan::train
