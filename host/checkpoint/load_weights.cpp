#include "checkpoint/load_weights.h"

#include <ATen/Functions.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <c10/core/GradMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "checkpoint/weight_files.h"
#include "model/layout.h"
#include "model/module.h"

namespace titan::checkpoint {
namespace {

/// A parameter or buffer of the model that files may hold.
struct Target {
  std::string name;                  ///< its first one; tied parameters have more
  std::vector<std::string> aliases;  ///< further ones
  at::Tensor tensor;
  bool added = false;                            ///< by a converter
  uint64_t* version = nullptr;                   ///< null for buffers
  std::vector<std::string> sources = {};         ///< tensors of the files that hold it
  std::optional<model::StockTensor> stock = {};  ///< `tensor` lies inside another parameter
};

/// What does not fit, by kind. Collected in full: one run tells everything.
struct Mismatches {
  std::vector<std::string> missing, unexpected, shapes, types;
  std::vector<std::string> reshaped_by;  ///< of shapes: the converters that added the tensors
  bool only_of_converters() const {
    return missing.empty() && unexpected.empty() && types.empty() && !shapes.empty() &&
           reshaped_by.size() == shapes.size();
  }
  bool any() const {
    return !missing.empty() || !unexpected.empty() || !shapes.empty() || !types.empty();
  }
};

std::vector<Target> targets_of(model::Module& root) {
  std::vector<Target> targets;
  std::map<const model::Parameter*, size_t> known;
  std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>> wholes;
  for (const model::NamedParameter& named : model::named_parameters(root)) {
    if (!named.parameter->layout.empty()) {
      wholes.emplace_back(named.parameter->layout, named.parameter->tensor);
      continue;
    }
    known[named.parameter.get()] = targets.size();
    targets.push_back({named.fqn,
                       {},
                       named.parameter->tensor,
                       !named.parameter->stored_as.empty(),
                       &named.parameter->version});
  }
  model::visit_modules(root, [&](model::Module& module) {
    for (const model::OwnParameter& own : module.parameters()) {
      const auto found = known.find(own.parameter.get());
      if (found == known.end()) continue;
      Target& target = targets[found->second];
      const std::string name = module.fqn().empty() ? own.name : module.fqn() + "." + own.name;
      if (!target.added && name != target.name) target.aliases.push_back(name);
    }
  });
  // Files know stock names and shapes only, whatever layout a converter has given them here.
  for (model::StockTensor& stock : model::stock_tensors(wholes)) {
    Target target{stock.name(), {}, stock.tensor()};
    target.stock = std::move(stock);
    targets.push_back(std::move(target));
  }
  for (const model::NamedBuffer& named : model::named_buffers(root))
    if (named.buffer->persistent)
      targets.push_back(
          {named.fqn, {}, named.buffer->tensor, !named.buffer->stored_as.empty(), nullptr});
  return targets;
}

bool is_plain_float(at::ScalarType type) {
  return type == at::kDouble || type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
}

/// One item a line, the first few of them.
std::string shortened_list(const std::vector<std::string>& items) {
  constexpr size_t kShown = 8;
  std::string text;
  for (size_t i = 0; i < std::min(items.size(), kShown); ++i) text += "\n      " + items[i];
  if (items.size() > kShown)
    text += "\n      and " + std::to_string(items.size() - kShown) + " more";
  return text;
}

class Loading {
 public:
  Loading(model::Module& root, const std::filesystem::path& path, const HfNameMap* hf,
          TypeRule types, bool added_only = false)
      : root_(root),
        files_(path),
        targets_(targets_of(root)),
        hf_(hf),
        types_(types),
        added_only_(added_only) {
    if (added_only_) std::erase_if(targets_, [](const Target& target) { return !target.added; });
    if (targets_.empty())
      throw data_error("no applied converter adds state to the model, so there is nothing to load",
                       files_.path().string(),
                       "list the converter that the adapter belongs to in model.converters");
    for (size_t i = 0; i < targets_.size(); ++i) {
      by_name_[targets_[i].name] = i;
      for (const std::string& alias : targets_[i].aliases) by_name_.emplace(alias, i);
    }
    detect_names();
  }

  LoadReport run() {
    match();
    check();
    report_.copied = std::none_of(targets_.begin(), targets_.end(),
                                  [](const Target& target) { return target.tensor.is_meta(); });
    if (report_.copied) copy();
    return std::move(report_);
  }

 private:
  /// Native names win; with none of them Hugging Face names are tried.
  void detect_names() {
    for (const std::string& name : files_.names())
      if (by_name_.count(name)) return;
    for (const std::string& name : files_.names()) {
      const std::optional<std::string> native = hf_ ? hf_->native_name(name) : std::nullopt;
      if (native && by_name_.count(*native)) report_.hugging_face = true;
    }
    if (report_.hugging_face) return;
    throw data_error("none of the " + std::to_string(files_.names().size()) +
                         " tensors belongs to this model; the first is '" +
                         shown_name(files_.names().front()) + "', the model has '" +
                         (targets_.empty() ? "" : targets_.front().name) + "'",
                     files_.path().string(),
                     hf_ ? "name the weights of a model of this kind, with native or Hugging Face "
                           "names"
                         : "name the weights of a model of this kind, with native names");
  }

  void match() {
    for (const std::string& name : files_.names()) {
      std::string native = name;
      if (report_.hugging_face) {
        if (hf_->ignored && hf_->ignored(name)) continue;
        native = hf_->native_name(name).value_or(name);
      }
      const auto it = by_name_.find(native);
      if (it != by_name_.end()) {
        targets_[it->second].sources.push_back(name);
      } else if (is_added_name(name)) {
        // State of a converter that is not in use.
        report_.unused_added.push_back(name);
      } else if (!added_only_) {
        mismatches_.unexpected.push_back(describe_unexpected(name));
      }
    }
    for (const Target& target : targets_) {
      if (!target.sources.empty()) continue;
      (target.added && !added_only_ ? report_.missing_added : mismatches_.missing)
          .push_back(target.name);
    }
  }

  std::string describe_unexpected(const std::string& name) const {
    std::vector<std::string> free;
    for (const auto& [known, index] : by_name_)
      if (!files_.has(known)) free.push_back(known);
    std::string text = shown_name(name);
    if (const auto meant = nearest(name, free))
      text += " (the model has no value yet for '" + *meant + "')";
    return text;
  }

  void check() {
    for (const Target& target : targets_)
      for (const std::string& source : target.sources) check_pair(target, source);
    if (!mismatches_.any()) return;
    std::string what = "the weights do not fit the model";
    const auto add = [&what](const char* title, const std::vector<std::string>& items) {
      if (items.empty()) return;
      what += "\n    ";
      what += title;
      what += " (" + std::to_string(items.size()) + "):" + shortened_list(items);
    };
    add("missing in the file", mismatches_.missing);
    add("unknown to the model", mismatches_.unexpected);
    add("of another shape", mismatches_.shapes);
    add(types_ == TypeRule::kExact ? "of another type" : "of a type that cannot be converted",
        mismatches_.types);
    throw data_error(what, files_.path().string(), fix());
  }

  std::string fix() const {
    if (mismatches_.only_of_converters()) {
      const std::string& one = mismatches_.reshaped_by.front();
      return "give the options of converter '" + one +
             "' the values of the run that made these; a new run (checkpoint.initial_load_path) "
             "begins its state anew "
             "if its entry has another name, model.converters: [{use: ..., as: " +
             one + "_2}]";
    }
    return std::string(types_ == TypeRule::kExact && !mismatches_.types.empty()
                           ? "set training.dtype as in the run that made the checkpoint; "
                           : "") +
           "choose the model (model.flavor) that the weights belong to, or other weights";
  }

  void check_pair(const Target& target, const std::string& source) {
    const TensorEntry& entry = files_.entry(source);
    const at::ScalarType found = to_torch(entry.type), needed = target.tensor.scalar_type();
    const bool converted =
        types_ == TypeRule::kConvertFloats && is_plain_float(found) && is_plain_float(needed);
    if (found != needed && !converted)
      mismatches_.types.push_back(shown_name(source) + ": found " +
                                  std::string(type_name(entry.type)) + ", needed " +
                                  at::toString(needed));
    const std::vector<int64_t> shape = native_shape(target, entry);
    if (shape == target.tensor.sizes().vec()) return;
    if (target.added)
      mismatches_.reshaped_by.push_back(target.name.substr(0, target.name.find('/')));
    mismatches_.shapes.push_back(shown_name(source) + ": found " + shape_text(entry.shape) +
                                 ", needed " + shape_text(target.tensor.sizes().vec()));
  }

  /// The shape after the layout was changed; that of the file if the layout cannot be changed,
  /// which a wrong shape is the only reason for.
  std::vector<int64_t> native_shape(const Target& target, const TensorEntry& entry) const {
    if (!report_.hugging_face) return entry.shape;
    try {
      const at::Tensor empty =
          at::empty(entry.shape, at::TensorOptions().device(at::kMeta).dtype(to_torch(entry.type)));
      return hf_->to_native(target.name, empty).sizes().vec();
    } catch (const c10::Error&) {
      std::vector<int64_t> shape = entry.shape;
      if (shape == target.tensor.sizes().vec())
        throw internal_error("the layout of '" + target.name + "' cannot be changed");
      return shape;
    }
  }

  at::Tensor value(const Target& target, const std::string& source) const {
    const at::Tensor tensor = files_.tensor(source);
    return report_.hugging_face ? hf_->to_native(target.name, tensor) : tensor;
  }

  void copy() {
    const c10::NoGradGuard no_gradients;
    // Tied parameters may be stored under each of their names, but only with one value.
    for (const Target& target : targets_)
      for (size_t i = 1; i < target.sources.size(); ++i)
        if (!at::equal(value(target, target.sources[0]).to(target.tensor.scalar_type()),
                       value(target, target.sources[i]).to(target.tensor.scalar_type())))
          throw data_error(
              "'" + shown_name(target.sources[0]) + "' and '" + shown_name(target.sources[i]) +
                  "' have different values, but are one parameter in this model",
              files_.path().string(), "choose a model that does not tie them, or other weights");
    for (Target& target : targets_) {
      if (target.sources.empty()) continue;
      at::Tensor tensor = target.tensor;
      const at::Tensor given = value(target, target.sources[0]);
      if (target.version || target.stock) require_finite(target, given);
      tensor.copy_(given);
      if (target.version) ++*target.version;
      if (target.stock) target.stock->write_back();
    }
    for (const model::NamedParameter& named : model::named_parameters(root_))
      if (!named.parameter->layout.empty()) ++named.parameter->version;
  }

  /// A weight that is no number spoils every loss, or only those of rare tokens: both are noticed
  /// late.
  void require_finite(const Target& target, const at::Tensor& given) const {
    if (!is_plain_float(given.scalar_type())) return;
    const int64_t bad =
        given.numel() - at::isfinite(given.to(target.tensor.scalar_type())).sum().item<int64_t>();
    if (bad > 0)
      throw data_error("'" + shown_name(target.sources[0]) + "' has " + std::to_string(bad) +
                           " of " + std::to_string(given.numel()) +
                           " values that are not finite as " +
                           at::toString(target.tensor.scalar_type()),
                       files_.path().string(), "choose weights of a run that had not diverged");
  }

  model::Module& root_;
  WeightFiles files_;
  std::vector<Target> targets_;
  std::map<std::string, size_t> by_name_;
  const HfNameMap* hf_;
  TypeRule types_;
  bool added_only_;
  Mismatches mismatches_;
  LoadReport report_;
};

}  // namespace

std::map<std::string, at::Tensor> model_tensors(model::Module& root) {
  std::map<std::string, at::Tensor> tensors;
  for (const Target& target : targets_of(root)) tensors[target.name] = target.tensor;
  return tensors;
}

LoadReport load_weights(model::Module& root, const std::filesystem::path& file_or_folder,
                        const HfNameMap* hf, TypeRule types) {
  return Loading(root, file_or_folder, hf, types).run();
}

LoadReport load_added(model::Module& root, const std::filesystem::path& file_or_folder) {
  return Loading(root, file_or_folder, nullptr, TypeRule::kConvertFloats, true).run();
}

}  // namespace titan::checkpoint
