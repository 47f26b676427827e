/// A converter on torch's stable ABI (tier stable) whose gradients are torch's: it caps outputs
/// smoothly, y = cap * tanh(y / cap), as Gemma 2 does with its logits (arXiv:2408.00118).
///
/// No backward is written: the operators record autograd. No LibTorch is linked: one file runs on
/// every LibTorch from 2.10 on, on every device.
#include <titan/torch.hpp>

#include "titan_note.h"  // made from soft_cap.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

class SoftCapImpl final : public Impl {
 public:
  explicit SoftCapImpl(double cap) : Impl(Gradients::kTorch), cap_(cap) {}
  void forward(const Call& call) override {
    const auto y = to_torch(call.get("y"));
    const auto bounded =
        torch_op("aten::tanh", "", torch_op("titan::mul_scalar", "", y, 1.0 / cap_));
    call.set("y", from_torch(torch_op("titan::mul_scalar", "", bounded, cap_)));
  }

 private:
  double cap_;
};

class SoftCap {
 public:
  explicit SoftCap(const Create& create)
      : cap_(create.option<double>("cap")), kind_(create.option<std::string>("kind")) {}
  void convert(const Model& model) const {
    for (const Module& module : model.modules(kind_))
      module.wrap_after(std::make_unique<SoftCapImpl>(cap_));
  }

 private:
  double cap_;
  std::string kind_;
};

}  // namespace

TITAN_CONVERTERS(converter<SoftCap>("soft_cap"))
