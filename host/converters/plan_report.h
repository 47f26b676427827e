/// A plan as text for people and as JSON for programs.
#pragma once

#include <cstdint>
#include <string>

#include "converters/device_facts.h"
#include "converters/plan.h"

namespace titan::converters {

/// What the report says beside the plan itself.
struct PlanHeader {
  std::string config;  ///< path of the config file
  std::string model;   ///< "llama3 405B"
  DeviceFacts device;
  int64_t stock_flops_per_token = 0;  ///< by torchtitan's definition, see flops_per_token()
};

/// Modules that differ only in the number of their layer and are treated alike share a line.
std::string plan_text(const Plan& plan, const PlanHeader& header);

/// {"config", "model", "device", "converters": [...], "modules": [...], "totals"}; every module of
/// the model is listed, also those that stay. Ends in a newline.
std::string plan_json(const Plan& plan, const PlanHeader& header);

}  // namespace titan::converters
