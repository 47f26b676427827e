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
  int64_t metrics_freq = 0;  ///< a layer's amax, scale and losses every so many steps; 0: never
  bool float32_grad_weight = false;  ///< see BackwardCall::float32_w
};

/// The operands whose quantisation has state and metrics of its own.
inline constexpr const char* kOperands[] = {"input", "weight", "grad_output"};

/// y = x w^T + bias and the gradients in fp8. Keeps at most the weight in fp8; all layers share one
/// backend. With recipe delayed the module has buffers `<operand>.scale` [1] and
/// `<operand>.amax_history` [L].
class Float8Linear final : public titan::sdk::Impl {
 public:
  Float8Linear(std::shared_ptr<const LinearOptions> options, int64_t in_features, bool has_bias)
      : Impl(titan::sdk::Gradients::kOwn),
        options_(std::move(options)),
        in_features_(in_features),
        has_bias_(has_bias) {
    drop();
  }
  void forward(const titan::sdk::Call& call) override;
  void backward(const titan::sdk::Call& call) override;
  /// The weights were freed or moved: their fp8 copies go too.
  void drop() noexcept override;

 private:
  std::shared_ptr<const LinearOptions> options_;
  int64_t in_features_;
  bool has_bias_;
  std::unique_ptr<LayerMemory> memory_;
};

/// Adds the buffers of recipe delayed.
void add_delayed_state(const titan::sdk::Module& module, const DelayedOptions& options);
/// One step of all states of an instance, after the optimizer's.
void update_delayed_states(const titan::sdk::Hook& hook, const LinearOptions& options);

}  // namespace float8
