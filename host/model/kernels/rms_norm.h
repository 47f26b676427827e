/// Root mean square norm of rows on the CPU (Zhang and Sennrich, "Root Mean Square Layer
/// Normalization", 2019): y = x * rstd * weight with rstd = 1 / sqrt(mean(x^2) + eps).
#pragma once

#include <cstdint>

#include "model/kernels/bfloat16_bits.h"

namespace titan::model::kernels {

/// x, y [rows, dim]; weight [dim]; rstd [rows]. T: float or Bf16; sums are float32.
template <class T>
void rms_norm_forward(int64_t rows, int64_t dim, const T* x, const float* weight, float eps, T* y,
                      float* rstd);

/// With n = x * rstd and u = grad_y * weight: grad_x = rstd * (u - n * mean(u n)), and
/// grad_weight [dim] += sum over the rows of grad_y n. Either result may be null.
template <class T>
void rms_norm_backward(int64_t rows, int64_t dim, const T* x, const float* weight,
                       const float* rstd, const T* grad_y, T* grad_x, float* grad_weight);

}  // namespace titan::model::kernels
