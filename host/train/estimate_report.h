/// An estimate as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/assumed_device.h"
#include "train/estimate.h"
#include "train/mfu_peak.h"

namespace titan::train {

/// A setting and what a step takes with it; or why it could not be tried.
struct TriedKnob {
  std::string text;
  std::optional<StepEstimate> estimate;
  std::string problem;
};

/// What the report says beside the estimate itself.
struct EstimateHeader {
  std::string config;  ///< path of the config file
  std::string model;   ///< "llama3 405B"
  std::string device;  ///< its name
  /// The devices that the step may have to fit on: this one, or examples of an assumed one. Those
  /// of unknown memory are left out.
  std::vector<converters::ExampleDevice> candidates;
  MfuPeak peak;
};

/// "12.34 GiB", "56.7 MiB".
std::string memory_text(int64_t bytes);

/// Whether the step fits, and on which of the candidates: "fits on H200 (141 GB), not on H100 (80
/// GB)".
std::string fit_text(const StepEstimate& estimate, const EstimateHeader& header);

/// `knobs` may be empty: then there is no table of them.
std::string estimate_text(const StepEstimate& estimate, const EstimateHeader& header,
                          const std::vector<TriedKnob>& knobs);
/// One object, ends in a newline; bytes and FLOPs, fields as docs/memory.md explains them.
std::string estimate_json(const StepEstimate& estimate, const EstimateHeader& header,
                          const std::vector<TriedKnob>& knobs);

}  // namespace titan::train
