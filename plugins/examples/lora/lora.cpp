/// LoRA (Hu et al., arXiv:2106.09685): y = W x + (alpha / rank) B A x with W frozen.
///
/// It wraps linear layers and leaves their own code alone, so it works over any replacement of them
/// (float8 for one). Everything else in the selected modules is frozen: only A and B are trained.
#include <titan/torch.hpp>

#include <algorithm>

#include "titan_note.h"  // made from lora.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

/// y [.., out] + scale * (x [.., in] A^T) B^T; A is [rank, in], B is [out, rank].
class LoraImpl final : public Impl {
 public:
  explicit LoraImpl(double scale) : Impl(Gradients::kTorch), scale_(scale) {}
  void forward(const Call& call) override {
    const auto down = torch_op("aten::linear", "", to_torch(call.get("x")),
                               to_torch(call.get("lora_a")), std::nullopt);
    const auto up = torch_op("aten::linear", "", down, to_torch(call.get("lora_b")), std::nullopt);
    call.set("y", from_torch(torch_op("titan::add", "", to_torch(call.get("y")), up, scale_)));
  }

 private:
  double scale_;
};

class Lora {
 public:
  explicit Lora(const Create& create)
      : rank_(create.option<int64_t>("rank")),
        scale_(create.option<double>("alpha") / static_cast<double>(rank_)),
        targets_(create.option_list<std::string>("targets")),
        tokens_(create.tokens_per_call()),
        element_size_(create.compute_dtype().bits / 8) {}

  void convert(const Model& model) const {
    std::vector<std::string> missed = targets_;
    for (const Module& module : model.modules()) {
      freeze_own(module);
      if (module.kind() != TITAN_KIND_LINEAR) continue;
      const std::string fqn = module.fqn();
      const std::string name = fqn.substr(fqn.rfind('.') + 1);
      if (std::find(targets_.begin(), targets_.end(), name) == targets_.end()) continue;
      missed.erase(std::remove(missed.begin(), missed.end(), name), missed.end());
      adapt(module);
    }
    if (!missed.empty())
      throw Error(TITAN_INVALID_ARGUMENT, "no selected linear layer is called '" + missed[0] + "'",
                  "targets are the last parts of names: wq, wk, wv, wo, w1, w2, w3, output");
  }

 private:
  static void freeze_own(const Module& module) {
    for (const titan_parameter_info& parameter : module.parameters()) {
      const std::string_view name = to_view(parameter.name);
      if (name.find('.') == std::string_view::npos) module.freeze(name);
    }
  }
  /// B starts at zero, so the first step's output is the base model's.
  void adapt(const Module& module) const {
    const auto in = static_cast<int64_t>(module.attribute("in_features"));
    const auto out = static_cast<int64_t>(module.attribute("out_features"));
    module.add_parameter("lora_a", {rank_, in}, init_kaiming_uniform());
    module.add_parameter("lora_b", {out, rank_}, init_constant(0));
    module.wrap_after(std::make_unique<LoraImpl>(scale_));
    if (tokens_ <= 0) return;
    Memory memory;  // for titan estimate: A x is kept, B A x is not
    memory.keeps_inputs = true;
    memory.saved_bytes = tokens_ * rank_ * element_size_;
    memory.working_bytes = tokens_ * out * element_size_;
    module.predict_memory(memory, tokens_, "sizes of the tensors that LoRA makes");
  }

  int64_t rank_;
  double scale_;
  std::vector<std::string> targets_;
  int64_t tokens_;        ///< of a call; 0: not known
  int64_t element_size_;  ///< bytes, of what linears compute in
};

}  // namespace

TITAN_CONVERTERS(converter<Lora>("lora"))
