#include "converters/container.h"

#include <c10/core/GradMode.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "base/error.h"
#include "base/suggest.h"
#include "converters/apply.h"
#include "converters/conflict_check.h"
#include "converters/selector.h"

namespace titan::converters {

ModelConvertersContainer::ModelConvertersContainer(
    const Registry& registry, const std::vector<config::ConverterRequest>& requests,
    const DeviceFacts& device, const RunFacts& run) {
  for (const config::ConverterRequest& request : requests) {
    const RegisteredConverter* entry = registry.find(request.converter);
    if (!entry) {
      std::vector<std::string> names;
      for (const auto& schema : registry.schemas()) names.push_back(schema.name);
      throw usage_error(
          "no converter is named '" + request.converter + "'", "model.converters",
          did_you_mean(request.converter, names) +
              "run `titan plugins list` to see what is found and why a file is refused");
    }
    instances_.push_back({request, entry->factory({request, device, run}), {}});
  }
}

// Last created, first destroyed.
ModelConvertersContainer::~ModelConvertersContainer() {
  while (!instances_.empty()) instances_.pop_back();
}

std::vector<std::string> ModelConvertersContainer::instance_names() const {
  std::vector<std::string> names;
  for (const Instance& instance : instances_) names.push_back(instance.request.instance);
  return names;
}

std::vector<config::ConverterRequest> ModelConvertersContainer::requests() const {
  std::vector<config::ConverterRequest> requests;
  for (const Instance& instance : instances_) requests.push_back(instance.request);
  return requests;
}

void ModelConvertersContainer::convert(model::Module& root) {
  const StockModel stock(root);
  const std::vector<std::string> names = instance_names();
  std::vector<Record> records;
  for (size_t i = 0; i < instances_.size(); ++i) {
    const config::ConverterRequest& request = instances_[i].request;
    Recorder recorder(stock,
                      select_modules(stock, request.instance, request.include, request.exclude),
                      request.instance, i, records);
    instances_[i].converter->convert(recorder);
  }
  std::vector<bool> hooked;
  for (const Instance& instance : instances_)
    hooked.push_back(instance.converter->wants_after_init() ||
                     instance.converter->wants_post_optimizer_hook());
  check_records(stock, records, names, hooked);
  for (const Record& record : records)
    if (record.kind == Record::Kind::kKeep && instances_[record.instance].kept_reason.empty())
      instances_[record.instance].kept_reason = stock[record.module].fqn + ": " + record.reason;
  apply_records(stock, records, names);
  records_ = std::move(records);
}

void ModelConvertersContainer::run_hook(model::Module& root, size_t index, HookReason reason,
                                        int64_t step, bool after_init,
                                        const std::set<std::string>& missing,
                                        std::map<std::string, double>* metrics) {
  Instance& instance = instances_[index];
  const std::string prefix = instance.request.instance + "/";
  HookContext context{reason, step, instance.request.instance, {}, at::kCPU, metrics};
  // Stock tensors under their names; those this instance added under `<module>.<name>`; those of
  // other instances are none of its business.
  const auto add = [&](const std::string& fqn, const std::string& stored_as,
                       const at::Tensor& tensor, uint64_t version, bool buffer) {
    std::string name = fqn;
    if (!stored_as.empty()) {
      if (stored_as.compare(0, prefix.size(), prefix) != 0) return;
      name = stored_as.substr(prefix.size());
    }
    const bool absent = missing.count(stored_as.empty() ? fqn : stored_as) > 0;
    context.tensors.push_back({name, tensor, version, buffer, absent});
  };
  for (const auto& named : model::named_parameters(root)) {
    const model::Parameter& parameter = *named.parameter;
    context.device = parameter.tensor.device();
    add(named.fqn, parameter.stored_as, parameter.tensor, parameter.version, false);
    // Stock parameters in another layout are still there under their names. Slices are not: they
    // would be copies, and what a hook writes into those would be lost.
    for (const model::StockTensor& stock :
         model::stock_tensors({{parameter.layout, parameter.tensor}}))
      if (stock.is_view()) add(stock.name(), "", stock.tensor(), parameter.version, false);
  }
  for (const auto& named : model::named_buffers(root))
    add(named.fqn, named.buffer->stored_as, named.buffer->tensor, 0, true);

  // torch's current stream, which the optimizer has just used: what a hook queues comes after that.
  if (context.device.is_cuda()) {
    const c10::impl::VirtualGuardImpl guard(context.device.type());
    context.stream = guard.getStream(context.device).native_handle();
  }

  c10::NoGradGuard no_grad;
  if (after_init)
    instance.converter->after_init(context);
  else
    instance.converter->post_optimizer_hook(context);
}

void ModelConvertersContainer::after_init(model::Module& root, HookReason reason,
                                          const std::set<std::string>& missing,
                                          std::map<std::string, double>* metrics, int64_t step) {
  for (size_t i = 0; i < instances_.size(); ++i)
    if (instances_[i].converter->wants_after_init())
      run_hook(root, i, reason, step, true, missing, metrics);
  for (size_t i = 0; i < instances_.size(); ++i)
    if (instances_[i].converter->wants_post_optimizer_hook())
      run_hook(root, i, reason, step, false, missing, metrics);
}

void ModelConvertersContainer::post_optimizer_hook(model::Module& root, int64_t step,
                                                   std::map<std::string, double>* metrics) {
  for (size_t i = 0; i < instances_.size(); ++i)
    if (instances_[i].converter->wants_post_optimizer_hook())
      run_hook(root, i, HookReason::kStep, step, false, {}, metrics);
}

bool ModelConvertersContainer::has_hooks() const {
  for (const Instance& instance : instances_)
    if (instance.converter->wants_after_init() || instance.converter->wants_post_optimizer_hook())
      return true;
  return false;
}

std::vector<std::string> ModelConvertersContainer::summary() const {
  std::vector<std::string> lines;
  for (size_t i = 0; i < instances_.size(); ++i) {
    std::map<Record::Kind, int64_t> counts;
    for (const Record& record : records_)
      if (record.instance == i) ++counts[record.kind];
    std::string line = instances_[i].request.instance;
    if (instances_[i].request.converter != instances_[i].request.instance)
      line += " (" + instances_[i].request.converter + ")";
    std::string separator = ": ";
    for (const auto& [kind, count] : counts) {
      line += separator + std::string(to_string(kind)) + " " + std::to_string(count);
      if (kind == Record::Kind::kKeep) line += " (" + instances_[i].kept_reason + ")";
      separator = ", ";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace titan::converters
