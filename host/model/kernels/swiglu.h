/// The gate of the feed-forward network on the CPU: y = silu(gate) * up, silu(g) = g / (1 +
/// exp(-g)) (Shazeer, "GLU Variants Improve Transformer", 2020).
#pragma once

#include <cstdint>

#include "model/kernels/bfloat16_bits.h"

namespace titan::model::kernels {

/// n elements each. T: float or Bf16; computed in float32.
template <class T>
void swiglu_forward(int64_t n, const T* gate, const T* up, T* y);

/// With s = 1 / (1 + exp(-gate)): grad_up = grad_y gate s, grad_gate = grad_y up s (1 + gate (1 -
/// s)).
template <class T>
void swiglu_backward(int64_t n, const T* gate, const T* up, const T* grad_y, T* grad_gate,
                     T* grad_up);

}  // namespace titan::model::kernels
