/// A converter whose state decides the next step: y = (1 + hooks / 100) W x, where the buffer
/// `hooks` counts the calls of its hook. A run that resumes with another count trains differently.
#include <titan/titan_sdk.hpp>

#include <set>

TITAN_NOTE(R"({"name": "drift", "version": "1.2.3", "api_min": 1, "api_built": 1, "tier": "none",
  "converters": [{"name": "drift", "summary": "y = (1 + hooks / 100) W x", "options": []}]})");

namespace {

using namespace titan::sdk;  // NOLINT: a plugin is one file with hidden symbols

Tensor scaled(const Call& call, TensorRef in) {
  const float factor = 1.0f + *call.get("hooks").data<float>() / 100.0f;
  Tensor out = Tensor::empty_like(in);
  float* to = out.ref().data<float>();
  const float* from = in.data<float>();
  for (int64_t i = 0; i < in.numel(); ++i) to[i] = factor * from[i];
  return out;
}

class Scaled final : public Impl {
 public:
  Scaled() : Impl(Gradients::kOwn) {}
  void forward(const Call& call) override { call.set("y", scaled(call, call.get("y"))); }
  void backward(const Call& call) override { call.set_grad("y", scaled(call, call.grad_output())); }
};

class Drift {
 public:
  explicit Drift(const Create&) {}
  void convert(const Model& model) {
    for (const Module& module : model.modules("linear")) {
      module.wrap_after(std::make_unique<Scaled>());
      module.add_buffer("hooks", {1}, {TITAN_DTYPE_FLOAT, 32, 1}, init_constant(0));
      buffers_.insert(module.fqn() + ".hooks");
    }
  }
  // Counts whatever the reason of the call is: also once after load, which must not show.
  void post_optimizer_hook(const Hook& hook) const {
    for (const std::string& name : buffers_) *TensorRef(hook.find(name).tensor).data<float>() += 1;
    hook.metric("hooks", *TensorRef(hook.find(*buffers_.begin()).tensor).data<float>());
  }

 private:
  std::set<std::string> buffers_;
};

}  // namespace

TITAN_CONVERTERS(converter<Drift>("drift"))
