/// A converter on torch's stable ABI (tier stable): linear layers get one learned gain per output
/// channel, y = gain * (W x).
///
/// The gradients are torch's. One file runs on every LibTorch from 2.10 on, on every device.
#include <titan/torch.hpp>

#include "titan_note.h"  // made from @NAME@.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

/// y [.., out] * gain [out]. It runs after the layer, whatever computed that.
class Gain final : public Impl {
 public:
  Gain() : Impl(Gradients::kTorch) {}
  void forward(const Call& call) override {
    const auto y = to_torch(call.get("y"));
    call.set("y", from_torch(torch_op("aten::mul", "Tensor", y, to_torch(call.get("gain")))));
  }
};

class Converter {
 public:
  explicit Converter(const Create& create) : start_(create.option<double>("start")) {}

  /// Only records; titan checks the records of all converters and then applies them.
  void convert(const Model& model) const {
    for (const Module& module : model.modules("linear")) {
      const auto out = static_cast<int64_t>(module.attribute("out_features"));
      module.add_parameter("gain", {out}, init_constant(start_));
      module.wrap_after(std::make_unique<Gain>());
    }
  }

 private:
  double start_;
};

}  // namespace

TITAN_CONVERTERS(converter<Converter>("@NAME@"))
