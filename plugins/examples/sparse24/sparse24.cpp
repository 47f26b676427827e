/// 2:4 sparsity: of every four neighbouring weights of a row only the two largest stay
/// (Mishra et al., arXiv:2104.08378). The mask is made once, from the weights that training starts
/// with, is part of the checkpoint, and is applied again after every optimizer step.
#include <titan/torch.hpp>

#include <set>

#include "titan_note.h"  // made from sparse24.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

constexpr int64_t kGroup = 4;

class Sparse24 {
 public:
  explicit Sparse24(const Create&) {}

  void convert(const Model& model) {
    for (const Module& module : model.modules(TITAN_KIND_LINEAR)) {
      const auto in = static_cast<int64_t>(module.attribute("in_features"));
      const auto out = static_cast<int64_t>(module.attribute("out_features"));
      if (in % kGroup != 0) {
        module.keep("in_features " + std::to_string(in) + " is no multiple of 4");
        continue;
      }
      module.add_buffer("mask", {out, in}, {TITAN_DTYPE_UINT, 8, 1}, init_constant(0));
      names_.insert(module.fqn());
    }
    if (names_.empty())
      throw Error(TITAN_INVALID_ARGUMENT, "no selected linear layer can be made sparse",
                  "widen include or exclude");
  }

  /// Weights have values now. A mask that a checkpoint brought is kept.
  void after_init(const Hook& hook) const {
    const bool loaded = hook.info().reason == TITAN_HOOK_LOADED;
    for (const std::string& name : names_) {
      const titan_hook_tensor mask = hook.find(name + ".mask");
      if (!loaded || (mask.flags & TITAN_HOOK_TENSOR_MISSING))
        choose(hook.find(name + ".weight").tensor, mask.tensor);
    }
  }

  void post_optimizer_hook(const Hook& hook) const {
    for (const std::string& name : names_) {
      auto weight = to_torch(hook.find(name + ".weight").tensor);
      torch_op("aten::mul_", "Tensor", weight, to_torch(hook.find(name + ".mask").tensor));
    }
  }

 private:
  /// mask = 1 where |w| is among the two largest of its group of four, else 0. Sorted twice, a
  /// group gives the rank of each value in it; ties go to the later one, always the same way.
  static void choose(TensorRef weight_ref, TensorRef mask_ref) {
    const auto weight = to_torch(weight_ref);
    auto mask = to_torch(mask_ref);
    const auto groups = torch::stable::reshape(torch_op("aten::abs", "", weight),
                                               {weight.numel() / kGroup, kGroup});
    const auto rank_of = [](const torch::stable::Tensor& values) {
      return torch_op("aten::argsort", "stable", values, true, int64_t{-1}, false);
    };
    const auto rank = torch_op("titan::add_scalar", "", rank_of(rank_of(groups)), -1.0);
    const auto chosen = torch_op("titan::clamp", "", rank, 0.0, 1.0);
    const auto shape = mask_ref.shape();
    torch::stable::copy_(mask, torch::stable::reshape(chosen, {shape[0], shape[1]}));
  }

  std::set<std::string> names_;
};

}  // namespace

TITAN_CONVERTERS(converter<Sparse24>("sparse24"))
