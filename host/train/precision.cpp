#include "train/precision.h"

#include "base/error.h"

namespace titan::train {
namespace {

c10::ScalarType parse_type(const std::string& name, const char* key) {
  if (name == "float32") return c10::ScalarType::Float;
  if (name == "bfloat16") return c10::ScalarType::BFloat16;
  throw usage_error("'" + name + "' is no type to train in", key, "use float32 or bfloat16");
}

c10::ScalarType compute_type(const config::Training& training) {
  return parse_type(training.mixed_precision_param, "training.mixed_precision_param");
}

}  // namespace

c10::ScalarType parameter_type(const config::Training& training) {
  return parse_type(training.dtype, "training.dtype");
}

std::unique_ptr<model::MixedPrecision> make_mixed_precision(const config::Training& training) {
  const c10::ScalarType compute = compute_type(training);
  if (compute == parameter_type(training)) return nullptr;
  return std::make_unique<model::MixedPrecision>(compute);
}

converters::RunFacts run_facts(const config::Training& training) {
  return {training.local_batch_size * training.seq_len, compute_type(training),
          parameter_type(training)};
}

std::string describe_precision(const config::Training& training) {
  if (training.mixed_precision_param == training.dtype)
    return "parameters and computation in " + training.dtype;
  return "parameters in " + training.dtype + ", linear layers and attention in " +
         training.mixed_precision_param;
}

}  // namespace titan::train
