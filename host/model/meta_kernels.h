/// Operators that LibTorch has no meta kernel for without Python.
#pragma once

namespace titan::model {

/// Lets a whole training step run on meta tensors: embedding, the attention kernel and fused Adam
/// then give outputs of the right shape, type and strides, and allocate what the CPU's kernels give
/// out. Registers once for the process; any thread.
void register_meta_kernels();

}  // namespace titan::model
