/// Looks on and changes nothing: root mean square and largest magnitude of what modules put out,
/// and the norm of their weights, as metrics of the step.
#include <titan/torch.hpp>

#include <cmath>
#include <map>

#include "titan_note.h"  // made from monitor.json

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

/// The number in a tensor of one element, on whatever device. A copy to the CPU waits for the
/// device.
double number_in(const torch::stable::Tensor& tensor) {
  titan_tensor* made = nullptr;
  const int64_t shape[1] = {1};
  check(host().tensor_empty({TITAN_CPU, 0}, {TITAN_DTYPE_FLOAT, 32, 1}, 1, shape, &made));
  const Tensor owned(made);
  auto target = to_torch(owned.ref());
  torch::stable::copy_(target, torch::stable::reshape(tensor, {1}));
  return *owned.ref().data<float>();
}

double rms_of(const torch::stable::Tensor& tensor) {
  const auto square = torch_op("titan::pow_scalar", "", tensor, 2.0);
  return std::sqrt(number_in(torch_op("aten::mean", "", square, std::nullopt)));
}

class OutputMonitor final : public Observer {
 public:
  explicit OutputMonitor(int64_t every) : every_(every) {}
  void observe(const Call& call) override {
    const titan_call_info info = call.info();
    const bool wanted = (info.flags & TITAN_CALL_TRAINING) &&
                        !(info.flags & TITAN_CALL_RECOMPUTE) && info.micro_batch == 0 &&
                        (info.step == 1 || info.step % every_ == 0);
    if (!wanted) return;
    const auto y = to_torch(call.get("y"));
    call.metric("output_rms", rms_of(y));
    call.metric("output_max", number_in(torch_op("aten::max", "", torch_op("aten::abs", "", y))));
  }

 private:
  int64_t every_;
};

class Monitor {
 public:
  explicit Monitor(const Create& create)
      : every_(create.option<int64_t>("freq")), kinds_(create.option_list<std::string>("kinds")) {}

  void convert(const Model& model) {
    for (const std::string& kind : kinds_)
      for (const Module& module : model.modules(kind)) {
        module.observe(std::make_unique<OutputMonitor>(every_));
        for (const titan_parameter_info& parameter : module.parameters())
          if (to_view(parameter.name) == "weight") weights_.push_back(module.fqn() + ".weight");
      }
  }

  void post_optimizer_hook(const Hook& hook) const {
    const titan_hook_info info = hook.info();
    if (info.reason != TITAN_HOOK_STEP || (info.step != 1 && info.step % every_ != 0)) return;
    for (const std::string& name : weights_) {
      const auto weight = to_torch(hook.find(name).tensor);
      hook.metric(name + "_norm", rms_of(weight) * std::sqrt(static_cast<double>(weight.numel())));
    }
  }

 private:
  int64_t every_;
  std::vector<std::string> kinds_;
  std::vector<std::string> weights_;
};

}  // namespace

TITAN_CONVERTERS(converter<Monitor>("monitor"))
