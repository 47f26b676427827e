#include "train/state_backup.h"

#include <c10/core/GradMode.h>

namespace titan::train {

StateBackup::StateBackup(model::Module& root) {
  for (const auto& named : model::named_buffers(root))
    copies_.emplace_back(named.buffer->tensor, named.buffer->tensor.detach().clone());
}

void StateBackup::restore() const {
  const c10::NoGradGuard no_gradients;
  for (const auto& [live, values] : copies_) at::Tensor(live).copy_(values);
}

}  // namespace titan::train
