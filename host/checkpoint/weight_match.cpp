#include "checkpoint/weight_match.h"

#include <ATen/Functions.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>

#include <set>
#include <utility>

#include "base/error.h"
#include "base/suggest.h"
#include "checkpoint/load_weights.h"

namespace titan::checkpoint {
namespace {

bool is_weight_type(TensorType type) {
  return type == TensorType::kF64 || type == TensorType::kF32 || type == TensorType::kF16 ||
         type == TensorType::kBF16;
}

/// One item a line, the first few of them.
void add_list(std::string& text, const char* title, const std::vector<std::string>& items) {
  constexpr size_t kShown = 8;
  if (items.empty()) return;
  text += std::string("\n    ") + title + " (" + std::to_string(items.size()) + "):";
  for (size_t i = 0; i < items.size() && i < kShown; ++i) text += "\n      " + items[i];
  if (items.size() > kShown)
    text += "\n      and " + std::to_string(items.size() - kShown) + " more";
}

class Matching {
 public:
  Matching(const WeightFiles& files, const model::TrainSpec& spec, const model::ModelArgs& args,
           const model::HfNaming* hf)
      : files_(files), hf_(hf), root_(spec.build(args, at::kFloat)) {
    for (const model::NamedParameter& named : model::named_parameters(*root_)) {
      known_[named.fqn] = weights_.size();
      parameters_[named.parameter.get()] = weights_.size();
      weights_.push_back({named.fqn, named.parameter->tensor.sizes().vec(), ""});
    }
    // A tied parameter is known by each of its names.
    model::visit_modules(*root_, [&](model::Module& module) {
      for (const model::OwnParameter& own : module.parameters())
        known_.emplace(module.fqn() + "." + own.name, parameters_.at(own.parameter.get()));
    });
  }

  std::vector<MatchedWeight> run() && {
    for (const std::string& name : files_.names()) take(name);
    std::vector<std::string> missing;
    for (const MatchedWeight& weight : weights_)
      if (weight.source.empty()) missing.push_back(name_in_files(weight.name));
    std::string what;
    add_list(what, "missing in the files", missing);
    add_list(what, "unknown to the model", unknown_);
    add_list(what, "of another shape", shapes_);
    add_list(what, "of a type that is no weight's (F32, F16 and BF16 are)", types_);
    if (!what.empty())
      throw data_error(
          "the weights do not fit the model" + what, files_.path().string(),
          "choose the sizes that the weights belong to, or fetch or write the weights again");
    return std::move(weights_);
  }

 private:
  std::string name_in_files(const std::string& native) const {
    return hf_ ? hf_->to_hf(native).value_or(native) : native;
  }

  void take(const std::string& name) {
    if (hf_ ? hf_->ignored(name) : is_added_name(name)) return;
    const std::string native = hf_ ? hf_->to_native(name).value_or("") : name;
    const auto found = known_.find(native);
    if (found == known_.end()) {
      unknown_.push_back(describe_unknown(name));
      return;
    }
    MatchedWeight& weight = weights_[found->second];
    const TensorEntry& entry = files_.entry(name);
    if (!is_weight_type(entry.type))
      types_.push_back(shown_name(name) + ": found " + std::string(type_name(entry.type)));
    if (entry.shape != weight.shape)
      shapes_.push_back(shown_name(name) + ": found " + shape_text(entry.shape) + ", needed " +
                        shape_text(weight.shape));
    if (weight.source.empty()) {
      weight.source = name;
    } else if (entry.shape == weight.shape &&
               !at::equal(files_.tensor(name), files_.tensor(weight.source))) {
      throw data_error("'" + shown_name(weight.source) + "' and '" + shown_name(name) +
                           "' have different values, but are one parameter in this model",
                       files_.path().string(),
                       "choose a model that does not tie them (tie_word_embeddings: false)");
    }
  }

  std::string describe_unknown(const std::string& name) const {
    std::vector<std::string> names;
    for (const MatchedWeight& weight : weights_) names.push_back(name_in_files(weight.name));
    const auto meant = nearest(name, names);
    return shown_name(name) +
           (meant && !files_.has(*meant) ? " (the model has '" + *meant + "')" : "");
  }

  const WeightFiles& files_;
  const model::HfNaming* hf_;
  std::unique_ptr<model::Module> root_;
  std::vector<MatchedWeight> weights_;
  std::map<std::string, size_t> known_;
  std::map<const model::Parameter*, size_t> parameters_;
  std::vector<std::string> unknown_, shapes_, types_;
};

}  // namespace

std::vector<MatchedWeight> match_weights(const WeightFiles& files, const model::TrainSpec& spec,
                                         const model::ModelArgs& args, const model::HfNaming* hf) {
  return Matching(files, spec, args, hf).run();
}

at::Tensor cast_exactly_finite(const std::string& name, const at::Tensor& tensor,
                               at::ScalarType type, const std::string& where) {
  at::Tensor cast = tensor.to(type);
  if (at::isfinite(cast).all().item<bool>()) return cast;
  const bool was_finite = at::isfinite(tensor).all().item<bool>();
  throw data_error("'" + shown_name(name) + "' has values that " +
                       (was_finite ? std::string(at::toString(type)) + " cannot hold"
                                   : std::string("are not finite")),
                   where,
                   was_finite ? "choose bfloat16 or float32 (--dtype)"
                              : "choose weights of a run that had not diverged");
}

}  // namespace titan::checkpoint
