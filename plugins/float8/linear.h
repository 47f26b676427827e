/// What takes the place of a linear layer.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <titan/titan_sdk.hpp>

#include "backend.h"
#include "delayed.h"

namespace float8 {

/// How the layers of one instance compute; they share it.
struct LinearOptions {
  std::shared_ptr<Backend> backend;
  Plan plan;
  std::optional<DelayedOptions> delayed;  ///< recipe delayed
  int64_t metrics_freq = 0;               ///< a layer's amax, scale and losses every so many steps; 0: never
};

/// The operands whose quantisation has state and metrics of its own.
inline constexpr const char* kOperands[] = {"input", "weight", "grad_output"};

/// y = x w^T and both gradients in fp8. Keeps no tensor; all layers share one backend. With recipe delayed
/// the module has buffers `<operand>.scale` [1] and `<operand>.amax_history` [L].
class Float8Linear final : public titan::sdk::Impl {
 public:
  explicit Float8Linear(std::shared_ptr<const LinearOptions> options)
      : Impl(titan::sdk::Gradients::kOwn), options_(std::move(options)) {}
  void forward(const titan::sdk::Call& call) override;
  void backward(const titan::sdk::Call& call) override;

 private:
  std::shared_ptr<const LinearOptions> options_;
};

/// Adds the buffers of recipe delayed.
void add_delayed_state(const titan::sdk::Module& module, const DelayedOptions& options);
/// One step of all states of an instance, after the optimizer's.
void update_delayed_states(const titan::sdk::Hook& hook, const DelayedOptions& options, Format gradients);

}  // namespace float8
