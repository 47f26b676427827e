/// What converters recorded: data to be checked as a whole before anything is applied.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/module.h"

namespace titan::converters {

/// A parameter or buffer to add.
struct TensorSpec {
  std::string name;  ///< relative to the module
  std::vector<int64_t> shape;
  at::ScalarType dtype = at::kFloat;
  model::InitRule init;
  bool persistent = true;   ///< buffers
  bool reduce_max = false;  ///< buffers
};

/// Stock parameters that move into one new parameter: their concatenation along `concat_dim`.
struct LayoutSpec {
  struct Part {
    std::string source;      ///< relative to the module: "wq.weight"
    int64_t slice_dim = -1;  ///< of the source; -1: all of it
    int64_t slice_start = 0;
    int64_t slice_length = 0;
    std::vector<int64_t> permutation;  ///< see model::LayoutPart
  };
  std::string name;  ///< of the new parameter, relative to the module
  int64_t concat_dim = 0;
  std::vector<Part> parts;
};

/// What one call of a changed module is expected to hold, in bytes; see titan_prediction.
struct PredictedMemory {
  int64_t saved = 0;                                ///< made in forward and kept for backward
  int64_t working = 0;                              ///< at most at once inside a call
  int64_t cache = 0;                                ///< from call to call
  bool keeps_inputs = false, keeps_output = false;  ///< for backward, as they are
};

/// What a converter expects of a module that it replaces or wraps.
struct Prediction {
  double speedup =
      0;  ///< time of the stock module's forward and backward over the new one's; 0: not said
  int64_t tokens = 0;  ///< in the call that it was computed for
  std::string basis;   ///< what the number rests on: "modelled: H200, 790 TFLOP/s bf16"
  std::optional<PredictedMemory> memory = {};
};

/// A replacement or wrap that, once everything is applied, is told where it sits.
/// `instance` is the name the added parameters and buffers are stored under.
class Bindable {
 public:
  virtual ~Bindable() = default;
  /// `prediction`: what its converter expects of it; null: nothing was said.
  virtual void bind(model::Module& module, const std::string& instance,
                    const Prediction* prediction) = 0;
};

/// One recorded change of one module by one instance.
struct Record {
  enum class Kind { kReplace, kWrap, kObserve, kParameter, kBuffer, kLayout, kFreeze, kTie, kKeep };
  Kind kind;
  size_t instance;  ///< position in model.converters
  size_t module;    ///< index in the stock model
  std::unique_ptr<model::Replacement> replacement;
  std::unique_ptr<model::Wrap> wrap;
  std::unique_ptr<model::Observer> observer;
  TensorSpec tensor;                     ///< kParameter, kBuffer
  LayoutSpec layout;                     ///< kLayout
  std::string parameter;                 ///< kFreeze, kTie: relative name
  size_t other_module = 0;               ///< kTie
  std::string other_parameter;           ///< kTie
  std::string reason;                    ///< kKeep
  std::optional<Prediction> prediction;  ///< kReplace, kWrap
};

/// "replace", "wrap", ...
std::string_view to_string(Record::Kind kind);

}  // namespace titan::converters
