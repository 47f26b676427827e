#include "converters/apply.h"

#include <ATen/Functions.h>

#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "converters/layout_check.h"

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

/// The parameter that a layout makes, on meta. Its parts remember how their stock parameters start.
std::shared_ptr<model::Parameter> laid_out_parameter(const StockModel& model, const Record& record,
                                                     const std::string& instance) {
  auto made = std::make_shared<model::Parameter>();
  int64_t start = 0;
  for (const LayoutSpec::Part& part : record.layout.parts) {
    const auto [owner, index] = owner_of(*model[record.module].module, part.source);
    const model::OwnParameter& own = owner->parameters()[index];
    model::LayoutPart piece;
    piece.source = (owner->fqn().empty() ? "" : owner->fqn() + ".") + own.name;
    piece.source_shape = own.parameter->tensor.sizes().vec();
    piece.init = own.parameter->init;
    piece.init_key = own.parameter->init_key;
    piece.slice_dim = part.slice_dim;
    piece.slice_start = part.slice_start;
    piece.slice_length = part.slice_length;
    piece.permutation = part.permutation;
    piece.concat_dim = record.layout.concat_dim;
    piece.concat_start = start;
    start += piece.piece_shape()[static_cast<size_t>(piece.concat_dim)];
    made->layout.push_back(std::move(piece));
  }
  const auto [owner, index] =
      owner_of(*model[record.module].module, record.layout.parts.front().source);
  const TensorSpec spec{record.layout.name,
                        layout_shape(model, record, instance),
                        owner->parameters()[index].parameter->tensor.scalar_type(),
                        {}};
  made->tensor = meta_tensor(spec).requires_grad_();
  made->stored_as = instance + "/" + model.name_of(record.module, record.layout.name);
  made->init_key = made->stored_as;
  return made;
}

}  // namespace

void apply_records(const StockModel& model, std::vector<Record>& records,
                   const std::vector<std::string>& instances) {
  // 1. Everything that can throw.
  std::map<const Record*, std::shared_ptr<model::Parameter>> parameters;
  std::map<const Record*, std::shared_ptr<model::Buffer>> buffers;
  std::map<const Record*, std::pair<model::Module*, size_t>> targets, sources;
  for (const Record& record : records) {
    const std::string stored =
        instances[record.instance] + "/" + model.name_of(record.module, record.tensor.name);
    model::InitRule init = record.tensor.init;
    if (init.kind == model::InitRule::Kind::kCopy)
      init.source = model.name_of(record.module, init.source);
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
    } else if (record.kind == Record::Kind::kLayout) {
      parameters[&record] = laid_out_parameter(model, record, instances[record.instance]);
    } else if (record.kind == Record::Kind::kFreeze || record.kind == Record::Kind::kTie) {
      targets[&record] = owner_of(*model[record.module].module, record.parameter);
      if (record.kind == Record::Kind::kTie)
        sources[&record] = owner_of(*model[record.other_module].module, record.other_parameter);
    }
  }

  // Stock parameters that now lie in another one, and whether they took a gradient.
  std::map<std::string, bool> moved;

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

  // Last, because what was frozen is frozen in its new place too.
  for (const Record& record : records) {
    if (record.kind != Record::Kind::kLayout) continue;
    model::Module& module = *model[record.module].module;
    bool trained = true;
    for (const LayoutSpec::Part& part : record.layout.parts) {
      if (moved.count(model.name_of(record.module, part.source))) continue;
      const auto [owner, index] = owner_of(module, part.source);
      trained = owner->parameters()[index].parameter->tensor.requires_grad();
      moved[model.name_of(record.module, part.source)] = trained;
      owner->detach_parameter(owner->parameters()[index].name);
    }
    for (const LayoutSpec::Part& part : record.layout.parts)
      trained = trained && moved.at(model.name_of(record.module, part.source));
    parameters[&record]->tensor.set_requires_grad(trained);
    module.attach_parameter(instances[record.instance] + "/" + record.layout.name,
                            parameters[&record]);
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
    bindable->bind(*model[record->module].module, instances[record->instance],
                   record->prediction ? &*record->prediction : nullptr);
}

}  // namespace titan::converters
