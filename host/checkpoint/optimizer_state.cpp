#include "checkpoint/optimizer_state.h"

#include <c10/core/GradMode.h>

#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "model/layout.h"

namespace titan::checkpoint {

namespace {

/// A tensor of the state under the name that files give it.
struct StateTensor {
  at::Tensor tensor;
  std::optional<model::StockTensor> stock = {};  ///< `tensor` lies inside another one
};

/// Parameters in another layout have their moments in it too; files hold them as those of the stock
/// parameters. The count of steps is the whole's.
std::map<std::string, StateTensor> state_tensors(const optim::Optimizer& optimizer) {
  using Wholes = std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>>;
  std::map<std::string, StateTensor> tensors;
  Wholes averages, squares;
  for (size_t i = 0; i < optimizer.tensors().size(); ++i) {
    const optim::OptimizedTensor& optimized = optimizer.tensors()[i];
    const optim::AdamState& state = optimizer.states()[i];
    if (optimized.parameter && !optimized.parameter->layout.empty()) {
      averages.emplace_back(optimized.parameter->layout, state.exp_avg);
      squares.emplace_back(optimized.parameter->layout, state.exp_avg_sq);
      for (const model::LayoutPart& part : optimized.parameter->layout)
        tensors[part.source + ".step"] = {state.step};
      continue;
    }
    tensors[optimized.fqn + ".exp_avg"] = {state.exp_avg};
    tensors[optimized.fqn + ".exp_avg_sq"] = {state.exp_avg_sq};
    tensors[optimized.fqn + ".step"] = {state.step};
  }
  const auto add = [&](const Wholes& wholes, const char* part) {
    for (model::StockTensor& stock : model::stock_tensors(wholes)) {
      const std::string name = stock.name() + part;
      at::Tensor tensor = stock.tensor();
      tensors[name] = {std::move(tensor), std::move(stock)};
    }
  };
  add(averages, ".exp_avg");
  add(squares, ".exp_avg_sq");
  return tensors;
}

}  // namespace

std::map<std::string, at::Tensor> optimizer_tensors(const optim::Optimizer& optimizer) {
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [name, state] : state_tensors(optimizer)) tensors[name] = state.tensor;
  return tensors;
}

void load_optimizer(optim::Optimizer& optimizer, const SafetensorsReader& file,
                    const std::set<std::string>& fresh) {
  std::map<std::string, StateTensor> targets = state_tensors(optimizer);
  for (const std::string& name : fresh)
    for (const char* part : {".exp_avg", ".exp_avg_sq", ".step"})
      if (!file.find(name + part)) targets.erase(name + part);

  std::vector<std::string> problems;
  for (const auto& [name, state] : targets) {
    const at::Tensor& tensor = state.tensor;
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
  for (auto& [name, state] : targets) {
    state.tensor.copy_(file.tensor(name));
    if (state.stock) state.stock->write_back();
  }
}

}  // namespace titan::checkpoint
