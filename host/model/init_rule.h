/// How the host fills a parameter or buffer when a run starts from nothing.
#pragma once

#include <string>

namespace titan::model {

struct InitRule {
  enum class Kind {
    kConstant,        ///< a: value
    kNormal,          ///< a: mean, b: standard deviation
    kTruncNormal,     ///< a: mean, b: standard deviation, low / high: absolute bounds
    kUniform,         ///< a: lower bound, b: upper bound
    kKaimingUniform,  ///< bound 1 / sqrt(shape[1]), as torch.nn.Linear
    kCopy,            ///< source: fqn of another parameter of the same shape
  };
  Kind kind = Kind::kConstant;
  double a = 0.0;
  double b = 0.0;
  double low = 0.0;
  double high = 0.0;
  std::string source = {};

  static InitRule constant(double value) { return {Kind::kConstant, value}; }
  static InitRule normal(double mean, double std) { return {Kind::kNormal, mean, std}; }
  static InitRule trunc_normal(double mean, double std, double low, double high) {
    return {Kind::kTruncNormal, mean, std, low, high};
  }
};

}  // namespace titan::model
