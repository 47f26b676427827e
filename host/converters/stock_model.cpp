#include "converters/stock_model.h"

namespace titan::converters {
namespace {

/// How many modules have a parameter, and as what.
struct Sharing {
  int64_t owners = 0;
  std::string first_name;
  bool multiplies = false;
};

}  // namespace

StockModel::StockModel(model::Module& root) {
  model::visit_modules(root, [&](model::Module& module) {
    StockModule stock;
    stock.fqn = module.fqn();
    stock.kind = module.kind();
    stock.attributes = module.attributes();
    stock.module = &module;
    if (!modules_.empty()) {
      const auto dot = stock.fqn.rfind('.');
      // A container between two modules ("layers" of "layers.0") is not a module of its own: go up
      // until a name is known.
      std::string above = dot == std::string::npos ? "" : stock.fqn.substr(0, dot);
      while (!index_.count(above)) {
        const auto next = above.rfind('.');
        above = next == std::string::npos ? "" : above.substr(0, next);
      }
      stock.parent = static_cast<int64_t>(index_.at(above));
    }
    index_[stock.fqn] = modules_.size();
    modules_.push_back(std::move(stock));
  });
  std::map<const model::Parameter*, Sharing> sharing;
  for (size_t i = 0; i < modules_.size(); ++i)
    for (const auto& [name, parameter] : modules_[i].module->parameters()) {
      Sharing& shared = sharing[parameter.get()];
      if (shared.owners++ == 0) shared.first_name = name_of(i, name);
      shared.multiplies |= parameter->tensor.dim() >= 2 && modules_[i].kind != "embedding";
    }
  for (size_t i = 0; i < modules_.size(); ++i) {
    for (const auto& [name, parameter] : modules_[i].module->parameters()) {
      const Sharing& shared = sharing.at(parameter.get());
      // Listed under its own module and, by path, under every module above.
      std::string relative = name;
      for (int64_t at = static_cast<int64_t>(i);;) {
        modules_[at].parameters.push_back({relative, parameter->tensor.sizes().vec(),
                                           parameter->tensor.scalar_type(),
                                           !parameter->tensor.requires_grad(), shared.first_name,
                                           shared.owners > 1, shared.multiplies});
        const int64_t parent = modules_[at].parent;
        if (parent < 0) break;
        const std::string& above = modules_[parent].fqn;
        const std::string step =
            above.empty() ? modules_[at].fqn : modules_[at].fqn.substr(above.size() + 1);
        relative = step + "." + relative;
        at = parent;
      }
    }
  }
}

int64_t StockModel::find(std::string_view fqn) const {
  const auto found = index_.find(fqn);
  return found == index_.end() ? -1 : static_cast<int64_t>(found->second);
}

bool StockModel::is_below(size_t below, size_t above) const {
  for (int64_t at = modules_[below].parent; at >= 0; at = modules_[at].parent)
    if (static_cast<size_t>(at) == above) return true;
  return false;
}

std::string StockModel::name_of(size_t module, const std::string& relative) const {
  const std::string& fqn = modules_[module].fqn;
  return fqn.empty() ? relative : fqn + "." + relative;
}

std::vector<std::string> StockModel::names() const {
  std::vector<std::string> names;
  for (const StockModule& module : modules_)
    if (!module.fqn.empty()) names.push_back(module.fqn);
  return names;
}

}  // namespace titan::converters
