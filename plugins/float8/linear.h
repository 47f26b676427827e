/// What takes the place of a linear layer.
#pragma once

#include <memory>
#include <titan/titan_sdk.hpp>

#include "backend.h"

namespace float8 {

/// y = x w^T and both gradients in fp8. Keeps no tensor; all layers share one backend.
class Float8Linear final : public titan::sdk::Impl {
 public:
  explicit Float8Linear(std::shared_ptr<Backend> backend)
      : Impl(titan::sdk::Gradients::kOwn), backend_(std::move(backend)) {}
  void forward(const titan::sdk::Call& call) override;
  void backward(const titan::sdk::Call& call) override;

 private:
  std::shared_ptr<Backend> backend_;
};

}  // namespace float8
