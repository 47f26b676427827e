/// A converter that works in post_optimizer_hook: max-norm regularisation (Srebro and Shraibman,
/// COLT 2005). After every optimizer step, and once after init or load, each row of the selected
/// linear layers' weights is scaled down to at most `max_norm`.
///
/// It records no change of the model: a hook is work enough.
#include <titan/titan_sdk.hpp>

#include <cmath>
#include <set>

#include "titan_note.h"  // made from weight_norm_cap.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

class WeightNormCap {
 public:
  explicit WeightNormCap(const Create& create) : max_norm_(create.option<double>("max_norm")) {}

  void convert(const Model& model) {
    for (const Module& module : model.modules("linear")) weights_.insert(module.fqn() + ".weight");
    if (weights_.empty())
      throw Error(TITAN_INVALID_ARGUMENT, "no linear layer is selected",
                  "widen include or exclude");
  }

  void post_optimizer_hook(const Hook& hook) const {
    int64_t capped = 0;
    for (const std::string& name : weights_) capped += cap_rows(hook.find(name).tensor);
    hook.metric("capped_rows", static_cast<double>(capped));
  }

 private:
  int64_t cap_rows(TensorRef weight) const {
    return weight.info().dtype.bits == 16 ? cap_rows_of<BFloat16>(weight)
                                          : cap_rows_of<float>(weight);
  }

  /// Scales rows in place; returns how many were too long.
  template <class T>
  int64_t cap_rows_of(TensorRef weight) const {
    const std::vector<int64_t> shape = weight.shape();
    T* row = weight.data<T>();
    int64_t capped = 0;
    for (int64_t i = 0; i < shape[0]; ++i, row += shape[1]) {
      double sum = 0;
      for (int64_t j = 0; j < shape[1]; ++j) {
        const double value = static_cast<float>(row[j]);
        sum += value * value;
      }
      const double norm = std::sqrt(sum);
      if (norm <= max_norm_) continue;
      const auto factor = static_cast<float>(max_norm_ / norm);
      for (int64_t j = 0; j < shape[1]; ++j) row[j] = T(static_cast<float>(row[j]) * factor);
      ++capped;
    }
    return capped;
  }

  double max_norm_;
  std::set<std::string> weights_;
};

}  // namespace

TITAN_CONVERTERS(converter<WeightNormCap>("weight_norm_cap"))
