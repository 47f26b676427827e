/// What is expected of the layers that one instance converts: the speed that roofline.h models, and
/// memory by footprint.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <titan/titan_sdk.hpp>

#include "recipe.h"

namespace float8 {

class Forecast {
 public:
  /// Says nothing of speed where the model does not hold: under emulation, on a device that is not
  /// of compute capability 9.0, or where linears do not compute in bfloat16. Says nothing at all
  /// where the host does not know how many tokens a call has.
  Forecast(const titan::sdk::Create& create, const Plan& plan, bool emulate);

  /// Records the prediction for a layer that was replaced.
  void add(const titan::sdk::Module& module);

  /// For a log, if all layers together are hardly faster than in bfloat16: how fast, and what to
  /// do.
  std::optional<std::string> warning() const;

 private:
  std::string instance_;
  Plan plan_;
  bool emulate_;
  bool speed_ = false;    ///< whether the model holds
  int64_t tokens_ = 0;    ///< of a call; 0: nothing is predicted
  int64_t element_size_;  ///< bytes, of what linears compute in
  int64_t layers_ = 0;
  double bf16_ = 0, float8_ = 0;  ///< seconds of all layers
};

}  // namespace float8
