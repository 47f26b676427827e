/// How torch's tensors reach the CPU kernels.
#pragma once

#include <ATen/core/TensorBody.h>

#include "model/kernels/bfloat16_bits.h"

namespace titan::model {

/// Whether the kernels take this tensor: on the CPU, float32 or bfloat16. Others (float64, which
/// gradients are checked in; float16; devices) go through torch's operators. On meta, where memory
/// is counted, results have the shapes that the kernels give.
inline bool kernels_take(const at::Tensor& x) {
  return (x.is_cpu() || x.is_meta()) &&
         (x.scalar_type() == at::kFloat || x.scalar_type() == at::kBFloat16);
}

/// Calls use(tag) with a null pointer of the type that the kernels know x's elements by; nothing on
/// meta.
template <class Use>
void with_element_type(const at::Tensor& x, const Use& use) {
  if (x.is_meta()) return;
  if (x.scalar_type() == at::kFloat)
    use(static_cast<float*>(nullptr));
  else
    use(static_cast<kernels::Bf16*>(nullptr));
}

template <class T>
const T* elements(const at::Tensor& x) {
  return static_cast<const T*>(x.const_data_ptr());
}
template <class T>
T* mutable_elements(const at::Tensor& x) {
  return static_cast<T*>(x.mutable_data_ptr());
}

}  // namespace titan::model
