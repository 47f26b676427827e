#include "checkpoint/optimizer_state.h"

#include <c10/core/GradMode.h>

#include <vector>

#include "base/error.h"

namespace titan::checkpoint {

std::map<std::string, at::Tensor> optimizer_tensors(const optim::Optimizer& optimizer) {
  std::map<std::string, at::Tensor> tensors;
  for (size_t i = 0; i < optimizer.tensors().size(); ++i) {
    const std::string& name = optimizer.tensors()[i].fqn;
    const optim::AdamState& state = optimizer.states()[i];
    tensors[name + ".exp_avg"] = state.exp_avg;
    tensors[name + ".exp_avg_sq"] = state.exp_avg_sq;
    tensors[name + ".step"] = state.step;
  }
  return tensors;
}

void load_optimizer(optim::Optimizer& optimizer, const SafetensorsReader& file,
                    const std::set<std::string>& fresh) {
  std::map<std::string, at::Tensor> targets = optimizer_tensors(optimizer);
  for (const std::string& name : fresh)
    for (const char* part : {".exp_avg", ".exp_avg_sq", ".step"})
      if (!file.find(name + part)) targets.erase(name + part);

  std::vector<std::string> problems;
  for (const auto& [name, tensor] : targets) {
    const TensorEntry* entry = file.find(name);
    if (!entry) {
      problems.push_back("missing in the file: " + name);
    } else if (entry->shape != tensor.sizes().vec()) {
      problems.push_back("another shape: " + name + ", found " + shape_text(entry->shape) +
                         ", needed " + shape_text(tensor.sizes().vec()));
    } else if (to_torch(entry->type) != tensor.scalar_type()) {
      problems.push_back("another type: " + name + ", found " +
                         std::string(type_name(entry->type)) + ", needed " +
                         at::toString(tensor.scalar_type()));
    }
  }
  for (const TensorEntry& entry : file.tensors())
    if (!targets.count(entry.name))
      problems.push_back("no trainable parameter of this run: " + shown_name(entry.name));
  if (!problems.empty()) {
    constexpr size_t kShown = 8;
    std::string what = "the state of the optimizer does not fit";
    for (size_t i = 0; i < problems.size() && i < kShown; ++i) what += "\n      " + problems[i];
    if (problems.size() > kShown)
      what += "\n      and " + std::to_string(problems.size() - kShown) + " more";
    throw data_error(
        what, file.path().string(),
        "resume with the model and the converters of the checkpoint, or let the optimizer "
        "begin anew: checkpoint.exclude_from_loading: [optimizer]");
  }

  const c10::NoGradGuard no_gradients;
  for (auto& [name, tensor] : targets) tensor.copy_(file.tensor(name));
}

}  // namespace titan::checkpoint
