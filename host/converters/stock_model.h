/// A read-only description of the model before any converter: names, kinds, shapes, no values.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/module.h"

namespace titan::converters {

struct StockParameter {
  std::string name;  ///< relative to the module it is listed under: "weight", "wq.weight"
  std::vector<int64_t> shape;
  at::ScalarType dtype;
  bool frozen;
  /// Full name under which the host stores it: its own, unless the stock model ties it to an
  /// earlier one.
  std::string stored_name = {};
  bool tied = false;        ///< several modules have it
  bool multiplies = false;  ///< in a matrix product, not only as a table to look up
};

struct StockModule {
  std::string fqn;  ///< "" for the root
  std::string kind;
  int64_t parent = -1;  ///< index of the module above; -1 for the root
  std::map<std::string, double> attributes;
  std::vector<StockParameter> parameters;  ///< own and below
  model::Module* module = nullptr;         ///< for the host only
};

/// Modules in registration order, parents before children.
class StockModel {
 public:
  explicit StockModel(model::Module& root);
  const std::vector<StockModule>& modules() const { return modules_; }
  const StockModule& operator[](size_t index) const { return modules_[index]; }
  size_t size() const { return modules_.size(); }
  /// Index by name, or -1.
  int64_t find(std::string_view fqn) const;
  /// Whether `below` lies in the subtree of `above` (and is not `above` itself).
  bool is_below(size_t below, size_t above) const;
  /// Full name of what is called `relative` in that module: "layers.0.attention" + "wq.weight".
  std::string name_of(size_t module, const std::string& relative) const;
  std::vector<std::string> names() const;

 private:
  std::vector<StockModule> modules_;
  std::map<std::string, size_t, std::less<>> index_;
};

}  // namespace titan::converters
