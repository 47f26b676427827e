/// Wraps linear layers and breaks one rule of a call, chosen by the option `how`.
#include <titan/torch.hpp>

#include <cfenv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <thread>

#include "titan_note.h"

namespace {

using namespace titan::sdk;  // NOLINT

titan_registrar* dead_registrar = nullptr;
titan_model* dead_model = nullptr;
titan_tensor* kept_tensor = nullptr;

Tensor filled(TensorRef like, titan_dl_dtype dtype, std::vector<int64_t> shape, float value) {
  titan_tensor* made = nullptr;
  check(host().tensor_empty(like.info().device, dtype, static_cast<int32_t>(shape.size()),
                            shape.data(), &made));
  Tensor owned(made);
  if (dtype.bits == 32)
    for (int64_t i = 0; i < owned.ref().numel(); ++i) owned.ref().data<float>()[i] = value;
  return owned;
}

constexpr titan_dl_dtype kFloat32 = {TITAN_DTYPE_FLOAT, 32, 1};

/// Everything that can be false about a tensor that a plugin hands over, and the truth between.
struct Lie {
  const char* name;
  void (*tell)(titan_dl_managed_tensor&);
  bool accepted;
};

int64_t shapes[2], strides[2];
alignas(64) float memory[16];
int deleted = 0;

const Lie kLies[] = {
    {"the truth", [](titan_dl_managed_tensor&) {}, true},
    {"no strides: contiguous", [](titan_dl_managed_tensor& t) { t.dl_tensor.strides = nullptr; },
     true},
    {"negative dimension", [](titan_dl_managed_tensor&) { shapes[0] = -4; }, false},
    {"product overflows",
     [](titan_dl_managed_tensor&) { shapes[0] = shapes[1] = int64_t{1} << 33; }, false},
    {"negative stride", [](titan_dl_managed_tensor&) { strides[0] = -4; }, false},
    {"ndim negative", [](titan_dl_managed_tensor& t) { t.dl_tensor.ndim = -1; }, false},
    {"ndim absurd", [](titan_dl_managed_tensor& t) { t.dl_tensor.ndim = 1 << 30; }, false},
    {"no shape", [](titan_dl_managed_tensor& t) { t.dl_tensor.shape = nullptr; }, false},
    {"no data", [](titan_dl_managed_tensor& t) { t.dl_tensor.data = nullptr; }, false},
    {"misaligned", [](titan_dl_managed_tensor& t) { t.dl_tensor.byte_offset = 1; }, false},
    {"unknown device", [](titan_dl_managed_tensor& t) { t.dl_tensor.device.type = 77; }, false},
    {"CUDA device that is not there",
     [](titan_dl_managed_tensor& t) {
       t.dl_tensor.device = {TITAN_CUDA, 63};
     },
     false},
    {"unknown type",
     [](titan_dl_managed_tensor& t) {
       t.dl_tensor.dtype = {99, 32, 1};
     },
     false},
    {"odd width", [](titan_dl_managed_tensor& t) { t.dl_tensor.dtype.bits = 24; }, false},
    {"vector lanes", [](titan_dl_managed_tensor& t) { t.dl_tensor.dtype.lanes = 4; }, false},
    {"DLPack of another major version", [](titan_dl_managed_tensor& t) { t.major = 2; }, false},
};

void lie_in_every_way() {
  for (const Lie& lie : kLies) {
    shapes[0] = shapes[1] = 4;
    strides[0] = 4;
    strides[1] = 1;
    deleted = 0;
    titan_dl_managed_tensor tensor{};
    tensor.major = 1;
    tensor.deleter = [](titan_dl_managed_tensor*) { ++deleted; };
    tensor.dl_tensor = {memory, {TITAN_CPU, 0}, 2, kFloat32, shapes, strides, 0};
    lie.tell(tensor);
    titan_tensor* made = nullptr;
    const titan_status status = host().tensor_from_dl(&tensor, &made);
    if ((status == TITAN_OK) != lie.accepted)
      throw Error(TITAN_FAILED,
                  std::string(lie.name) + (lie.accepted ? " was refused" : " was accepted"));
    if (made) host().tensor_release(made);
    if (deleted != 1)
      throw Error(TITAN_FAILED, std::string(lie.name) + ": the deleter ran " +
                                    std::to_string(deleted) + " times");
  }
  if (host().tensor_from_dl(nullptr, nullptr) == TITAN_OK)
    throw Error(TITAN_FAILED, "NULL was accepted");
}

/// A struct_size that no level of the contract has, and bytes that no level knows.
void false_sizes(titan_call* call) {
  struct Longer {
    titan_call_info info;
    uint64_t unknown;
  };
  for (const uint32_t size : {0u, 3u, 8u, 0xFFFFFFFFu}) {
    titan_call_info info{};
    info.struct_size = size;
    if (host().call_info(call, &info) == TITAN_OK)
      throw Error(TITAN_FAILED, "call_info took struct_size " + std::to_string(size));
  }
  Longer longer{};
  longer.info.struct_size = sizeof(Longer);
  longer.unknown = 7;
  check(host().call_info(call, &longer.info));
  if (longer.unknown != 7) throw Error(TITAN_FAILED, "call_info wrote past what it knows");
}

class Misbehave final : public Impl {
 public:
  Misbehave(std::string how, Gradients gradients) : Impl(gradients), how_(std::move(how)) {}

  void forward(const Call& call) override {
    const TensorRef y = call.get("y");
    const auto identity = [&] { call.set("y", from_torch(to_torch(y))); };
    if (how_ == "throw") throw std::runtime_error("boom");
    if (how_ == "error") throw Error(TITAN_FAILED, "the device is on fire", "put it out");
    if (how_ == "silent") throw HostError(TITAN_FAILED);
    if (how_ == "strange_status") throw HostError(12345);
    if (how_ == "no_output") return;
    if (how_ == "shape") return call.set("y", filled(y, kFloat32, {3}, 0));
    if (how_ == "dtype") return call.set("y", filled(y, {TITAN_DTYPE_FLOAT, 64, 1}, y.shape(), 0));
    if (how_ == "nan")
      return call.set("y", filled(y, kFloat32, y.shape(), std::numeric_limits<float>::quiet_NaN()));
    if (how_ == "unknown_input") call.get("z");
    if (how_ == "unknown_output") return call.set("z", filled(y, kFloat32, y.shape(), 0));
    if (how_ == "stale_handle" && !kept_tensor)
      kept_tensor = y.get();
    else if (how_ == "stale_handle")
      TensorRef(kept_tensor).info();
    if (how_ == "other_thread") {
      titan_status status = TITAN_OK;
      std::thread([&] {
        titan_tensor* tensor = nullptr;
        status = host().call_get(call.get(), TITAN_STR("y"), &tensor);
      }).join();
      check(host().call_get(call.get(), TITAN_STR("y"), &kept_tensor));  // this thread may
      if (status != TITAN_OK) throw Error(status, "another thread was refused");
    }
    if (how_ == "reenter") {
      auto again = titan::sized<titan_converter>();
      again.name = TITAN_STR("late");
      again.convert = [](void*, titan_model*) { return TITAN_OK; };
      const bool registered = host().registrar_converter(dead_registrar, &again) == TITAN_OK;
      uint64_t count = 0;
      const bool read = host().model_module_count(dead_model, &count) == TITAN_OK;
      if (registered || read) throw Error(TITAN_FAILED, "a dead handle was accepted");
      throw Error(TITAN_WRONG_STATE, "both dead handles were refused");
    }
    if (how_ == "writes_input") call.get("x").data<float>()[0] += 1;
    if (how_ == "writes_weight") call.get("weight").data<float>()[0] += 1;
    if (how_ == "exit") std::exit(0);
    if (how_ == "abort") std::abort();
    if (how_ == "crash") *static_cast<volatile int*>(nullptr) = 1;
    if (how_ == "thread_crash") {
      std::thread([] { std::raise(SIGSEGV); }).detach();
      std::this_thread::sleep_for(std::chrono::seconds(20));
    }
    if (how_ == "rounding") std::fesetround(FE_UPWARD);
    if (how_ == "dlpack") lie_in_every_way();
    if (how_ == "sizes") false_sizes(call.get());
    if (how_ == "lost_graph")
      return call.set("y", from_torch(torch_op("aten::detach", "", to_torch(y))));
    identity();
  }

  void backward(const Call& call) override {
    const TensorRef grad = call.grad_output();
    if (how_ == "backward_throw") throw std::runtime_error("boom in backward");
    if (how_ == "writes_grad") grad.data<float>()[0] += 1;
    if (how_ == "grad_missing") return;
    if (how_ == "grad_shape") return call.set_grad("y", filled(grad, kFloat32, {2, 2}, 0));
    if (how_ == "grad_dtype")
      return call.set_grad("y", filled(grad, {TITAN_DTYPE_FLOAT, 64, 1}, grad.shape(), 0));
    if (how_ == "grad_unknown") return call.set_grad("z", from_torch(to_torch(grad)));
    call.set_grad("y", from_torch(to_torch(grad)));
  }

 private:
  std::string how_;
};

/// A linear layer that forgets its weight. Autograd sees nothing wrong: y has a graph, through x.
class Forgetful final : public Impl {
 public:
  Forgetful() : Impl(Gradients::kTorch) {}
  void forward(const Call& call) override {
    call.set("y", from_torch(torch_op("titan::mul_scalar", "", to_torch(call.get("x")), 2.0)));
  }
};

class Converter {
 public:
  explicit Converter(const Create& create) : how_(create.option<std::string>("how")) {}
  void convert(const Model& model) const {
    if (how_ == "forgets_weight") {
      for (const Module& module : model.modules("linear"))
        module.replace(std::make_unique<Forgetful>());
      return;
    }
    const bool torch = how_ == "lost_graph";
    for (const Module& module : model.modules("linear"))
      module.wrap_after(
          std::make_unique<Misbehave>(how_, torch ? Gradients::kTorch : Gradients::kOwn));
  }
  void post_optimizer_hook(const Hook& hook) const {
    if (how_ == "hook_throw" && hook.info().reason == TITAN_HOOK_STEP)
      throw std::runtime_error("boom in the hook");
  }

 private:
  std::string how_;
};

}  // namespace

extern "C" TITAN_EXPORT titan_status register_converters(const titan_host* table,
                                                         titan_registrar* registrar) {
  dead_registrar = registrar;
  titan_converter made = converter<Converter>("misbehave");
  made.convert = [](void* instance, titan_model* model) noexcept {
    dead_model = model;
    return guard([&] { static_cast<Converter*>(instance)->convert(Model(model)); });
  };
  return register_all(table, registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE, {made});
}
