/// Activation checkpointing: a block keeps its inputs instead of its activations, and backward runs
/// its forward a second time.
#pragma once

#include <cstdint>

#include "model/module.h"

namespace titan::model {

/// Marks every `every`-th module of kind "block", counted from 1 as torchtitan does (2: layers 1,
/// 3, 5, ...; 1: all). Returns how many were marked; other blocks lose their mark.
int64_t mark_blocks_for_recompute(Module& root, Recompute recompute, int64_t every);

/// Whether a marked module starts a region in this call: only where a graph is recorded, and not
/// inside the second forward of another region.
bool starts_recompute_region(const CallContext& context);

/// Calls `module` as one node of the graph. Its forward runs now, with gradients off, and once more
/// in backward, with gradients on, context.recompute set and the random generators put back to
/// where they were. Gradients are those of a plain call, bit for bit.
///
/// The second forward must repeat the first. That is checked in step 1, where a result that differs
/// by more than 1 % stops the run with an error that names the module: something in it keeps state
/// or random numbers of its own.
at::Tensor run_recompute_region(Module& module, Recompute recompute, const CallContext& context,
                                const Inputs& inputs);

}  // namespace titan::model
