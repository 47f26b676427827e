/// Where a run computes: resolves training.device and finds out what the device can do.
#pragma once

#include <ATen/core/TensorBody.h>

#include <string>

#include "converters/device_facts.h"

namespace titan::train {

struct Device {
  at::Device device = at::kCPU;
  converters::DeviceFacts facts;
};

/// `wanted` is training.device: "cpu", "cuda", or "auto" (CUDA if there is a usable device). CUDA
/// opens libtorch_cuda; an environment error says what is missing.
Device resolve_device(const std::string& wanted);

/// Facts about CUDA device 0 through the driver, or those of the CPU when there is no driver.
converters::DeviceFacts detect_device();

}  // namespace titan::train
