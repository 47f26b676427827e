/// The parts of the check, in the order in which they run. Each leaves its results in the report.
#pragma once

#include <string>

#include "platform.h"
#include "report.h"

namespace titan::device_check {

/// Name, versions, clocks; bandwidth of a copy and rate of a large bfloat16 product, which later
/// parts refer to.
void describe_device(Platform& platform, Report& report);

/// The kernels: bytes and scales of every granularity in both layouts, bit for bit, against the
/// CPU's casts and the reference data; the same bytes in every run.
void check_casts(Platform& platform, Report& report);

/// Products and layers: the reference layers, larger layers against the CPU's emulation, recipe
/// delayed step by step.
void check_layers(Platform& platform, Report& report);

/// The plugin's file in the reference model, trained in every recipe.
struct PluginFiles {
  std::string device;     ///< float8.so as it computes on the device
  std::string emulation;  ///< the one that emulates; the same file but in tests of this driver
};
void check_training(Platform& platform, Report& report, const PluginFiles& files);

/// That nothing waits for the device: forward, backward and update of a layer, and a whole step of
/// the reference model, can be recorded and give the same when they are replayed.
void check_layer_recording(Platform& platform, Report& report);
void check_model_recording(Platform& platform, Report& report, const PluginFiles& files);

/// Products and casts by themselves.
void measure_kernels(Platform& platform, Report& report);

/// Forward and backward of a layer in each recipe, beside bfloat16, torch's own fp8 products and
/// the prediction.
void measure_layers(Platform& platform, Report& report);

}  // namespace titan::device_check
