/// Tier "exact": tensors of a call as at::Tensor, with all of LibTorch's C++ interface.
/// Build with titan_add_plugin(... TORCH_EXACT). Why exact: C++ symbols and layouts of LibTorch
/// change with every release, so the plugin fits one build of it and is refused by all others.
/// Prefer tier "stable" (torch.hpp) where its operators are enough.
#pragma once

#include <ATen/core/TensorBody.h>
#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/inductor/aoti_torch/utils.h>

#include "cpp/torch_extension.hpp"
#include "titan_sdk.hpp"

namespace titan::sdk {

/// The same tensor: a new reference.
inline at::Tensor to_aten(TensorRef tensor) {
  AtenTensorOpaque* handle = nullptr;
  check(torch_extension().to_handle(tensor.get(), &handle));
  at::Tensor* owned = torch::aot_inductor::tensor_handle_to_tensor_pointer(handle);
  at::Tensor result = *owned;
  delete owned;
  return result;
}

/// The way back: an owned titan tensor over the same at::Tensor.
inline Tensor from_aten(const at::Tensor& tensor) {
  titan_tensor* made = nullptr;
  check(torch_extension().from_handle(torch::aot_inductor::new_tensor_handle(at::Tensor(tensor)),
                                      &made));
  return Tensor(made);
}

}  // namespace titan::sdk
