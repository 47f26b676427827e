/// What the model of roofline.h says of the layers that one instance converts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <titan/titan_sdk.hpp>

#include "recipe.h"

namespace float8 {

class Forecast {
 public:
  /// Says nothing where the model does not hold: under emulation, on a device that is not of
  /// compute capability 9.0, where linears do not compute in bfloat16, or where the host does not
  /// know how many tokens a call has.
  Forecast(const titan::sdk::Create& create, Recipe recipe, bool emulate);

  /// Records the prediction for a layer that was replaced.
  void add(const titan::sdk::Module& module);

  /// For a log, if all layers together are hardly faster than in bfloat16: how fast, and what to
  /// do.
  std::optional<std::string> warning() const;

 private:
  std::string instance_;
  Recipe recipe_;
  int64_t tokens_ = 0;  ///< of a call; 0: nothing is predicted
  int64_t layers_ = 0;
  double bf16_ = 0, float8_ = 0;  ///< seconds of all layers
};

}  // namespace float8
