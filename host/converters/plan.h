/// What the converters of a run would do to a model, module by module, and what it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "converters/container.h"
#include "converters/stock_model.h"

namespace titan::converters {

/// What one instance does to one module, or why it does nothing.
struct PlannedAction {
  size_t instance = 0;  ///< position in model.converters
  bool changes = false;
  std::string
      text;  ///< "replace", "wrap", "add parameter lora_a [8, 256]"; or why the module stays
  std::optional<Prediction> prediction =
      {};  ///< what the converter expects of a replacement or wrap
};

struct PlannedModule {
  std::string fqn;  ///< "" for the root
  std::string kind;
  int64_t own_parameters = 0;  ///< values in parameters declared by this very module
  std::vector<PlannedAction> actions;
};

/// Sums over one instance, or over all of them. Bytes are for the whole model on one device:
/// weight and gradient in the parameter's type, two moments of Adam in the same type.
struct PlanTotals {
  int64_t modules_replaced = 0, modules_wrapped = 0, modules_observed = 0, modules_kept = 0;
  int64_t buffers_added = 0;
  int64_t parameters_added = 0, parameters_frozen = 0, parameters_tied = 0;             ///< values
  int64_t weight_bytes = 0, gradient_bytes = 0, optimizer_bytes = 0, buffer_bytes = 0;  ///< change
  /// Change of floating-point operations per token. A parameter of two or more dimensions outside
  /// the embedding takes 6 per value (2 forward, 2 for the gradient of its input, 2 for its own);
  /// without its own gradient 4. What code of a replacement does inside is not known here.
  int64_t flops_per_token = 0;
  /// Operations of the stock model in linear modules that were replaced or lie below a replacement.
  int64_t flops_in_replaced_linears = 0;
};

/// What one instance expects of all the modules that it predicted the speed of, taken together:
/// each weighs as much as the linear modules in it (itself included) take FLOPs.
struct PlannedSpeed {
  double speedup = 0;           ///< 0: nothing was predicted, or nothing with a linear module in it
  int64_t flops_per_token = 0;  ///< of the linear modules that it is about
  int64_t tokens = 0;           ///< in the call; the first prediction's
  std::vector<std::string> bases;  ///< each once, in order
};

struct Plan {
  std::vector<std::string> instances;   ///< names in this run
  std::vector<std::string> converters;  ///< converter of each instance
  std::vector<PlannedModule> modules;   ///< in registration order
  std::vector<PlanTotals> totals;       ///< one for each instance
  std::vector<PlannedSpeed> speeds;     ///< one for each instance
  PlanTotals total;                     ///< of all together; a value counts once
  int64_t stock_parameters = 0;         ///< tied ones once
};

/// `stock` describes the model before `container` converted it.
Plan make_plan(const StockModel& stock, const ModelConvertersContainer& container);

}  // namespace titan::converters
