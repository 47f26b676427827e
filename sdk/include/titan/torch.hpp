/// Tier "stable": tensors of a call as torch::stable::Tensor, and operators by name.
/// Needs torch's headers; links no LibTorch. Build with titan_add_plugin(... TORCH_STABLE).
#pragma once

#include <torch/csrc/inductor/aoti_torch/c/shim.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <string>

#include "cpp/torch_extension.hpp"
#include "titan_sdk.hpp"

namespace titan::sdk {

/// The same tensor, as torch sees it: a new reference. Autograd records what is done with it in a
/// module whose gradients are Gradients::kTorch.
inline torch::stable::Tensor to_torch(TensorRef tensor) {
  AtenTensorOpaque* handle = nullptr;
  check(torch_extension().to_handle(tensor.get(), &handle));
  return torch::stable::Tensor(handle);  // takes the reference over
}

/// The way back: an owned titan tensor over the same torch tensor.
inline Tensor from_torch(const torch::stable::Tensor& tensor) {
  AtenTensorHandle handle = nullptr;
  if (aoti_torch_new_tensor_handle(tensor.get(), &handle) != 0)
    throw Error(TITAN_INTERNAL, "torch could not make a new tensor handle");
  titan_tensor* owned = nullptr;
  check(torch_extension().from_handle(handle, &owned));
  return Tensor(owned);
}

/// Calls a torch operator with one tensor result by name. All arguments of its schema are given;
/// `std::nullopt` stands for none. Records autograd like a call from Python does.
/// Operators with a Scalar argument cannot be called this way in torch 2.10 to 2.15: the host
/// registers titan::add(a, b, alpha), titan::mul_scalar(a, factor), titan::add_scalar(a, value),
/// titan::clamp(a, min, max) and titan::pow_scalar(a, exponent) with float arguments instead.
/// Never call aoti_torch_cpu_... or aoti_torch_cuda_...: they lose gradients in silence.
template <class... Args>
torch::stable::Tensor torch_op(const char* name, const char* overload, const Args&... args) {
  constexpr size_t kSlots = sizeof...(Args) > 0 ? sizeof...(Args) : 1;
  StableIValue stack[kSlots] = {torch::stable::detail::from(args)...};
  if (torch_call_dispatcher(name, overload, stack, TORCH_ABI_VERSION) != 0)
    throw Error(TITAN_FAILED, std::string("torch operator ") + name + " failed",
                "the reason is in torch's message above; check shapes and types before the call");
  return torch::stable::detail::to<torch::stable::Tensor>(stack[0]);
}

}  // namespace titan::sdk
