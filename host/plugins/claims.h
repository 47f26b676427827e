/// What a converter says of itself for titan-plugin-validate: how close it stays to the module that
/// it changes, and which options it is to be tried with.
#pragma once

#include <map>
#include <string>

#include "config/option_schema.h"

namespace titan::plugins {

/// "numerics" of a converter in the note.
struct NumericsClaim {
  enum class Kind {
    kOtherFunction,  ///< absent: nothing to compare with, but its gradients are those of what it
                     ///< computes
    kExact,          ///< "exact": the stock function, up to rounding
    kApproximate,  ///< {"sqnr_db": 20.0}: the stock function with at least that ratio of signal to
                   ///< noise
    kStraightThrough,  ///< "straight_through": another function, whose gradients are not its
                       ///< derivative
  };
  Kind kind = Kind::kOtherFunction;
  double sqnr_db = 0;  ///< kApproximate
  bool operator==(const NumericsClaim&) const = default;
};

struct ConverterClaims {
  NumericsClaim numerics;
  /// "validate_with": values for options where the defaults cannot be tried everywhere.
  std::map<std::string, config::OptionValue> validate_with;
};

/// As the note writes it: "exact", "straight_through", "sqnr_db 20.0"; empty for kOtherFunction.
std::string claim_text(const NumericsClaim& claim);

}  // namespace titan::plugins
