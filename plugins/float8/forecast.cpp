#include "forecast.h"

#include <cstdio>

#include "footprint.h"
#include "roofline.h"

namespace float8 {
namespace {

constexpr double kWorthwhile = 1.05;  // below it other differences between runs are larger

}  // namespace

Forecast::Forecast(const titan::sdk::Create& create, const Plan& plan, bool emulate)
    : instance_(create.instance()),
      plan_(plan),
      emulate_(emulate),
      tokens_(create.tokens_per_call()),
      element_size_(create.compute_dtype().bits / 8) {
  const titan_device_info& device = create.device();
  const bool modelled =
      device.type == TITAN_CUDA && device.capability_major == 9 && device.capability_minor == 0;
  speed_ = !emulate && modelled && create.compute_dtype().code == TITAN_DTYPE_BFLOAT;
}

void Forecast::add(const titan::sdk::Module& module) {
  if (tokens_ <= 0) return;
  const auto in = static_cast<int64_t>(module.attribute("in_features"));
  const auto out = static_cast<int64_t>(module.attribute("out_features"));
  const titan::sdk::Memory memory =
      linear_footprint(plan_, emulate_, tokens_, in, out, element_size_);
  if (!speed_) {
    module.predict_memory(memory, tokens_, kFootprintBasis);
    return;
  }
  const LinearTime time = predict_linear(plan_.recipe, tokens_, in, out);
  module.predict_memory(memory, tokens_, kRooflineBasis, time.speedup());
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
