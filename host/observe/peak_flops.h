/// What devices could compute at most: the 100 % of mfu.
#pragma once

#include <optional>
#include <string>

namespace titan::observe {

/// The narrowest type that most matrix products of a run are made in. A run in float32 is measured
/// against the peak of bfloat16, as torchtitan does: against what the device offers.
enum class MatrixType { kBfloat16, kFloat8 };

/// Dense peak in FLOPs per second (without sparsity) of a device by its full name ("NVIDIA H100
/// 80GB HBM3"), by its makers' data sheets. Nothing for a device that is not in the table: a guess
/// would make a number that looks measured. A part of a device (MIG) is not in the table either.
std::optional<double> peak_flops(const std::string& device_name, MatrixType type);

}  // namespace titan::observe
