#include "model/mixed_precision.h"

#include <ATen/core/grad_mode.h>

#include "model/allocation_meter.h"
#include "model/kinds.h"

namespace titan::model {
namespace {

bool is_castable(at::ScalarType type) {
  return type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

}  // namespace

at::Tensor MixedPrecision::cast(const at::Tensor& x) const {
  return is_castable(x.scalar_type()) ? x.to(type_) : x;
}

at::Tensor MixedPrecision::cast(const Parameter& parameter) {
  const at::Tensor& master = parameter.tensor;
  if (master.scalar_type() == type_ || !is_castable(master.scalar_type())) return master;
  const auto changes = static_cast<uint32_t>(master._version());
  Copy& copy = copies_[&parameter];
  if (!copy.tensor.defined() || copy.version != parameter.version ||
      copy.changes_in_place != changes) {
    // With gradients on even if this call has none: the first forward of a recomputed block makes
    // the copy that its second forward differentiates.
    const at::AutoGradMode with_gradients(true);
    const PurposeScope purpose(Purpose::kComputeCopy);
    copy = {master.to(type_), parameter.version, changes};
  }
  return copy.tensor;
}

bool computes_in_mixed_precision(std::string_view kind) {
  const Kind* known = find_kind(kind);
  return known && known->mixed_precision;
}

at::Tensor compute_value(const CallContext& context, std::string_view kind,
                         const Parameter& parameter) {
  if (!context.mixed_precision || !computes_in_mixed_precision(kind)) return parameter.tensor;
  return context.mixed_precision->cast(parameter);
}

}  // namespace titan::model
