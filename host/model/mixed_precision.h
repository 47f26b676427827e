/// Mixed precision: modules that multiply matrices compute in a narrower type than the parameters.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "model/module.h"

namespace titan::model {

/// The numbers are those of torch's autocast on one device: linears and attention run in the
/// compute type and give it; the residual stream, the norms, the embedding and all gradients of
/// parameters keep the parameters' type.
///
/// Why not autocast itself: what it casts depends on global state and on the thread, and its cache
/// of weights goes stale in silence. Here a copy is keyed by the parameter's version.
///
/// One thread at a time: a backward that recomputes runs while the caller waits for it.
class MixedPrecision {
 public:
  explicit MixedPrecision(at::ScalarType compute_type) : type_(compute_type) {}

  at::ScalarType type() const { return type_; }
  /// `x` in the compute type, if it is floating point and not float64 (as autocast decides).
  at::Tensor cast(const at::Tensor& x) const;
  /// The parameter in the compute type. The copy is made once and serves every call until the
  /// values change or drop(); gradients flow through it and are added up in the parameter's type.
  at::Tensor cast(const Parameter& parameter);
  /// The same values without a place in the graph: for code that writes the gradient itself. The
  /// last x is remembered: layers that read one x, one after the other, share its copy.
  at::Tensor narrow(const at::Tensor& x);
  at::Tensor narrow(const Parameter& parameter);
  /// Frees the copies that no graph holds. The optimizer does not need them.
  void drop();

 private:
  struct Copy {
    at::Tensor tensor;
    uint64_t version;           ///< Parameter::version
    uint32_t changes_in_place;  ///< torch's own counter: sees writes that raised no version
  };
  struct Narrowed {
    std::optional<c10::weak_intrusive_ptr<c10::TensorImpl>> of;  ///< must not keep it alive
    uint32_t changes_in_place = 0;
    at::Tensor tensor;
  };
  at::ScalarType type_;
  Narrowed last_;
  std::unordered_map<const Parameter*, Copy> copies_;
};

/// Whether modules of this kind compute in the narrower type: linear, attention, feed_forward. The
/// others sit on the residual stream.
bool computes_in_mixed_precision(std::string_view kind);

/// What a module of `kind` computes with: the parameter, or its copy in the compute type. Every
/// forward, stock or replaced, takes its parameters through this.
at::Tensor compute_value(const CallContext& context, std::string_view kind,
                         const Parameter& parameter);

}  // namespace titan::model
