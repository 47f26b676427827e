#include "forecast.h"

#include <cstdio>

#include "roofline.h"

namespace float8 {
namespace {

constexpr double kWorthwhile = 1.05;  // below it other differences between runs are larger

}  // namespace

Forecast::Forecast(const titan::sdk::Create& create, Recipe recipe, bool emulate)
    : instance_(create.instance()), recipe_(recipe) {
  const titan_device_info& device = create.device();
  const bool modelled =
      device.type == TITAN_CUDA && device.capability_major == 9 && device.capability_minor == 0;
  if (!emulate && modelled && create.compute_dtype().code == TITAN_DTYPE_BFLOAT)
    tokens_ = create.tokens_per_call();
}

void Forecast::add(const titan::sdk::Module& module) {
  if (tokens_ <= 0) return;
  const LinearTime time =
      predict_linear(recipe_, tokens_, static_cast<int64_t>(module.attribute("in_features")),
                     static_cast<int64_t>(module.attribute("out_features")));
  module.predict(time.speedup(), tokens_, kRooflineBasis);
  ++layers_;
  bf16_ += time.bf16;
  float8_ += time.total();
}

std::optional<std::string> Forecast::warning() const {
  if (layers_ == 0 || bf16_ >= kWorthwhile * float8_) return std::nullopt;
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.2f", bf16_ / float8_);
  return "converter '" + instance_ + "': its " + std::to_string(layers_) +
         " layers together are predicted to run " + factor + " times as fast as in bfloat16 at " +
         std::to_string(tokens_) + " tokens a call (" + std::string(kRooflineBasis) +
         "): raise training.local_batch_size or training.seq_len, leave small layers out (" +
         instance_ +
         ".exclude, auto_filter_small_kn), or take the converter out; titan plan shows each layer";
}

}  // namespace float8
