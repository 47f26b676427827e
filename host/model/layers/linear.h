/// y = x W^T, without a bias.
#pragma once

#include "model/module.h"

namespace titan::model {

class Linear : public Module {
 public:
  /// weight: [out_features, in_features].
  Linear(int64_t in_features, int64_t out_features, at::ScalarType dtype, InitRule init);

 protected:
  at::Tensor forward(const CallContext& context, const Inputs& inputs) override;
  bool narrows_itself() const override { return true; }
};

}  // namespace titan::model
