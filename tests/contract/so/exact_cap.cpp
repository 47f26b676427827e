/// Tier exact: y = min(y, cap) through LibTorch's own C++ interface.
#include <ATen/ops/clamp_max.h>

#include <titan/torch_exact.hpp>

#include "titan_note.h"

namespace {

using namespace titan::sdk;  // NOLINT

class CapImpl final : public Impl {
 public:
  explicit CapImpl(double cap) : Impl(Gradients::kTorch), cap_(cap) {}
  void forward(const Call& call) override {
    call.set("y", from_aten(at::clamp_max(to_aten(call.get("y")), cap_)));
  }

 private:
  double cap_;
};

class Cap {
 public:
  explicit Cap(const Create& create) : cap_(create.option<double>("cap")) {}
  void convert(const Model& model) const {
    for (const Module& module : model.modules("decoder"))
      module.wrap_after(std::make_unique<CapImpl>(cap_));
  }

 private:
  double cap_;
};

}  // namespace

TITAN_CONVERTERS(converter<Cap>("exact_cap"))
