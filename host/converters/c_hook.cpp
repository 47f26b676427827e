#include "base/suggest.h"
#include "converters/c_contexts.h"
#include "converters/c_support.h"

namespace titan::converters {
namespace {

titan_status usable_hook(const titan_hook* hook, const char* function) {
  if (ContextScope<titan_hook>::alive(hook)) return TITAN_OK;
  return fail(TITAN_WRONG_STATE,
              std::string(function) + ": the hook is over, or this is another thread",
              "use a titan_hook only until the function it was passed to returns");
}

titan_status fill(titan_hook* hook, size_t index, titan_hook_tensor* out, const char* function) {
  const HookTensor& tensor = hook->context->tensors[index];
  // Every rank holds the whole tensor: the shard is all of it.
  if (hook->shapes.empty()) {
    hook->shapes.resize(hook->context->tensors.size());
    hook->offsets.resize(hook->context->tensors.size());
  }
  hook->shapes[index] = tensor.tensor.sizes().vec();
  hook->offsets[index].assign(hook->shapes[index].size(), 0);
  auto info = sized<titan_hook_tensor>();
  info.flags = (tensor.buffer ? TITAN_HOOK_TENSOR_BUFFER : 0u) |
               (tensor.missing ? TITAN_HOOK_TENSOR_MISSING : 0u);
  info.fqn = c_string(tensor.fqn);
  info.tensor = hook->arena.borrow(tensor.tensor, tensor.version);
  info.global_shape = hook->shapes[index].data();
  info.offset = hook->offsets[index].data();
  info.ndim = static_cast<int32_t>(hook->shapes[index].size());
  return copy_out(info, out, function);
}

}  // namespace

titan_status c_hook_info(titan_hook* hook, titan_hook_info* out) {
  if (const titan_status status = usable_hook(hook, "hook_info")) return status;
  auto info = sized<titan_hook_info>();
  switch (hook->context->reason) {
    case HookReason::kFresh: info.reason = TITAN_HOOK_FRESH; break;
    case HookReason::kLoaded: info.reason = TITAN_HOOK_LOADED; break;
    case HookReason::kStep: info.reason = TITAN_HOOK_STEP; break;
  }
  info.step = hook->context->step;
  info.device = to_dl_device(hook->context->device);
  info.stream = hook->context->stream;
  return copy_out(info, out, "hook_info");
}

titan_status c_hook_count(titan_hook* hook, uint64_t* out) {
  if (const titan_status status = usable_hook(hook, "hook_count")) return status;
  if (!out) return fail(TITAN_INVALID_ARGUMENT, "hook_count: the result pointer is NULL");
  *out = hook->context->tensors.size();
  return TITAN_OK;
}

titan_status c_hook_tensor(titan_hook* hook, uint64_t index, titan_hook_tensor* out) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable_hook(hook, "hook_tensor")) return status;
    if (index >= hook->context->tensors.size())
      return fail(TITAN_NOT_FOUND, "hook_tensor: there are " +
                                       std::to_string(hook->context->tensors.size()) + " tensors");
    return fill(hook, index, out, "hook_tensor");
  });
}

titan_status c_hook_find(titan_hook* hook, titan_string fqn, titan_hook_tensor* out) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable_hook(hook, "hook_find")) return status;
    std::vector<std::string> names;
    for (size_t i = 0; i < hook->context->tensors.size(); ++i) {
      if (hook->context->tensors[i].fqn == view_of(fqn)) return fill(hook, i, out, "hook_find");
      names.push_back(hook->context->tensors[i].fqn);
    }
    return fail(TITAN_NOT_FOUND, "hook_find: no tensor '" + std::string(view_of(fqn)) + "'",
                did_you_mean(std::string(view_of(fqn)), names) +
                    "names are whole: layers.0.attention.wq.weight, and <module>.<name> for what "
                    "the plugin added");
  });
}

titan_status c_hook_metric(titan_hook* hook, titan_string name, double value) {
  return slot([&]() -> titan_status {
    if (const titan_status status = usable_hook(hook, "hook_metric")) return status;
    if (const titan_status status = check_metric_name("hook_metric", name, hook->context->metrics);
        status != TITAN_OK)
      return status;
    if (hook->context->metrics)
      (*hook->context->metrics)[hook->context->instance + "/" + std::string(view_of(name))] = value;
    return TITAN_OK;
  });
}

}  // namespace titan::converters
