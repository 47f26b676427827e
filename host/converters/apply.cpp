#include "converters/apply.h"

#include <ATen/Functions.h>

#include <map>
#include <memory>
#include <utility>

#include "base/error.h"

namespace titan::converters {
namespace {

/// The module that declares the parameter `relative` ("wq.weight") of `module`, and its position.
std::pair<model::Module*, size_t> owner_of(model::Module& module, const std::string& relative) {
  const auto dot = relative.rfind('.');
  model::Module* owner =
      dot == std::string::npos ? &module : module.find(std::string_view(relative).substr(0, dot));
  const std::string leaf = dot == std::string::npos ? relative : relative.substr(dot + 1);
  if (owner)
    for (size_t i = 0; i < owner->parameters().size(); ++i)
      if (owner->parameters()[i].name == leaf) return {owner, i};
  throw internal_error("parameter '" + relative + "' was checked and is gone", module.fqn());
}

at::Tensor meta_tensor(const TensorSpec& spec) {
  return at::empty(spec.shape, at::TensorOptions().dtype(spec.dtype).device(at::kMeta));
}

}  // namespace

void apply_records(const StockModel& model, std::vector<Record>& records,
                   const std::vector<std::string>& instances) {
  // 1. Everything that can throw.
  std::map<const Record*, std::shared_ptr<model::Parameter>> parameters;
  std::map<const Record*, std::shared_ptr<model::Buffer>> buffers;
  std::map<const Record*, std::pair<model::Module*, size_t>> targets, sources;
  for (const Record& record : records) {
    const std::string& fqn = model[record.module].fqn;
    const std::string stored = instances[record.instance] + "/" + (fqn.empty() ? "" : fqn + ".") +
                               record.tensor.name;
    model::InitRule init = record.tensor.init;
    if (init.kind == model::InitRule::Kind::kCopy)
      init.source = (fqn.empty() ? "" : fqn + ".") + init.source;
    if (record.kind == Record::Kind::kParameter) {
      auto parameter = std::make_shared<model::Parameter>();
      parameter->tensor = meta_tensor(record.tensor).requires_grad_();
      parameter->init = init;
      parameter->init_key = stored;
      parameter->stored_as = stored;
      parameters[&record] = std::move(parameter);
    } else if (record.kind == Record::Kind::kBuffer) {
      auto buffer = std::make_shared<model::Buffer>();
      buffer->tensor = meta_tensor(record.tensor);
      buffer->init = init;
      buffer->stored_as = stored;
      buffer->persistent = record.tensor.persistent;
      buffer->reduce_max = record.tensor.reduce_max;
      buffers[&record] = std::move(buffer);
    } else if (record.kind == Record::Kind::kFreeze || record.kind == Record::Kind::kTie) {
      targets[&record] = owner_of(*model[record.module].module, record.parameter);
      if (record.kind == Record::Kind::kTie)
        sources[&record] = owner_of(*model[record.other_module].module, record.other_parameter);
    }
  }

  // 2. Values: added tensors, frozen and tied parameters.
  for (Record& record : records) {
    model::Module& module = *model[record.module].module;
    switch (record.kind) {
      case Record::Kind::kParameter:
        module.attach_parameter(instances[record.instance] + "/" + record.tensor.name,
                                parameters[&record]);
        break;
      case Record::Kind::kBuffer:
        module.attach_buffer(instances[record.instance] + "/" + record.tensor.name,
                             buffers[&record]);
        break;
      case Record::Kind::kFreeze: {
        const auto [owner, index] = targets[&record];
        owner->parameters()[index].parameter->tensor.set_requires_grad(false);
        break;
      }
      case Record::Kind::kTie: {
        const auto [owner, index] = targets[&record];
        const auto [source, source_index] = sources[&record];
        owner->parameters()[index].parameter = source->parameters()[source_index].parameter;
        break;
      }
      default: break;
    }
  }

  // 3. Behaviour, and then where each piece sits, now that all parameters are in place.
  std::vector<std::pair<Bindable*, const Record*>> bindings;
  for (Record& record : records) {
    model::Module& module = *model[record.module].module;
    const auto remember = [&](auto* piece) {
      if (auto* bindable = dynamic_cast<Bindable*>(piece)) bindings.emplace_back(bindable, &record);
    };
    if (record.replacement) {
      remember(record.replacement.get());
      module.set_replacement(std::move(record.replacement));
    } else if (record.wrap) {
      remember(record.wrap.get());
      module.add_wrap(std::move(record.wrap));
    } else if (record.observer) {
      remember(record.observer.get());
      module.add_observer(std::move(record.observer));
    }
  }
  for (auto& [bindable, record] : bindings)
    bindable->bind(*model[record->module].module, instances[record->instance]);
}

}  // namespace titan::converters
