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

at::Tensor MixedPrecision::narrow(const at::Tensor& x) {
  const at::NoGradGuard no_grad;
  if (!is_castable(x.scalar_type()) || x.scalar_type() == type_) return x.detach();
  const auto changes = static_cast<uint32_t>(x._version());
  // Expired, the address may be another tensor's by now.
  const auto known = last_.of ? last_.of->lock() : c10::intrusive_ptr<c10::TensorImpl>();
  if (!known || known.get() != x.unsafeGetTensorImpl() || last_.changes_in_place != changes)
    last_ = {c10::weak_intrusive_ptr<c10::TensorImpl>(x.getIntrusivePtr()), changes,
             x.detach().to(type_)};
  return last_.tensor;
}

at::Tensor MixedPrecision::narrow(const Parameter& parameter) { return cast(parameter).detach(); }

void MixedPrecision::drop() {
  copies_.clear();
  last_ = {};
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
