#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "converters/model_converter.h"

namespace titan::converters {
namespace {

std::string where_of(const std::string& instance, const StockModule& module) {
  return "converter '" + instance + "', module '" + module.fqn + "'";
}

}  // namespace

std::string_view to_string(Record::Kind kind) {
  switch (kind) {
    case Record::Kind::kReplace: return "replace";
    case Record::Kind::kWrap: return "wrap";
    case Record::Kind::kObserve: return "observe";
    case Record::Kind::kParameter: return "add parameter";
    case Record::Kind::kBuffer: return "add buffer";
    case Record::Kind::kFreeze: return "freeze";
    case Record::Kind::kTie: return "tie";
    case Record::Kind::kKeep: return "keep";
  }
  return "?";
}

Recorder::Recorder(const StockModel& model, std::vector<bool> selected, std::string instance,
                   size_t instance_index, std::vector<Record>& records)
    : model_(model),
      selected_(std::move(selected)),
      instance_(std::move(instance)),
      instance_index_(instance_index),
      records_(records) {}

Record& Recorder::add(Record::Kind kind, size_t module) {
  if (module >= model_.size())
    throw usage_error("module number " + std::to_string(module) + " does not exist; the model has " +
                          std::to_string(model_.size()),
                      "converter '" + instance_ + "'", "this is a defect of the converter");
  if (!selected_[module])
    throw usage_error("the converter wants to " + std::string(to_string(kind)) +
                          " a module that include / exclude keep from it",
                      where_of(instance_, model_[module]),
                      "widen include or exclude of '" + instance_ +
                          "', or ask the converter's author to honour the selection");
  Record& record = records_.emplace_back();
  record.kind = kind;
  record.instance = instance_index_;
  record.module = module;
  return record;
}

void Recorder::replace(size_t module, std::unique_ptr<model::Replacement> replacement) {
  add(Record::Kind::kReplace, module).replacement = std::move(replacement);
}

void Recorder::wrap(size_t module, std::unique_ptr<model::Wrap> wrap) {
  add(Record::Kind::kWrap, module).wrap = std::move(wrap);
}

void Recorder::observe(size_t module, std::unique_ptr<model::Observer> observer) {
  add(Record::Kind::kObserve, module).observer = std::move(observer);
}

void Recorder::add_tensor(Record::Kind kind, size_t module, TensorSpec spec) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
  };
  if (module < model_.size()) {
    const std::string where = where_of(instance_, model_[module]);
    if (spec.name.empty() || !std::all_of(spec.name.begin(), spec.name.end(), legal))
      throw usage_error("the name '" + spec.name + "' of an added tensor is not [a-z0-9_.]+", where,
                        "rename it in the converter");
    for (int64_t size : spec.shape)
      if (size < 0)
        throw usage_error("tensor '" + spec.name + "' has a negative dimension", where,
                          "correct the shape in the converter");
    for (const StockParameter& parameter : model_[module].parameters)
      if (parameter.name == spec.name)
        throw usage_error("the added tensor '" + spec.name + "' has the name of a stock parameter",
                          where, "rename it in the converter");
    for (const Record& record : records_)
      if (record.instance == instance_index_ && record.module == module &&
          (record.kind == Record::Kind::kParameter || record.kind == Record::Kind::kBuffer) &&
          record.tensor.name == spec.name)
        throw usage_error("the tensor '" + spec.name + "' is added twice", where,
                          "add it once, or rename one");
    if (spec.init.kind == model::InitRule::Kind::kCopy) require_parameter(module, spec.init.source);
  }
  add(kind, module).tensor = std::move(spec);
}

void Recorder::add_parameter(size_t module, TensorSpec spec) {
  add_tensor(Record::Kind::kParameter, module, std::move(spec));
}

void Recorder::add_buffer(size_t module, TensorSpec spec) {
  add_tensor(Record::Kind::kBuffer, module, std::move(spec));
}

void Recorder::require_parameter(size_t module, const std::string& name) const {
  std::vector<std::string> names;
  for (const StockParameter& parameter : model_[module].parameters) {
    if (parameter.name == name) return;
    names.push_back(parameter.name);
  }
  throw usage_error("module '" + model_[module].fqn + "' has no parameter '" + name + "'",
                    where_of(instance_, model_[module]),
                    did_you_mean(name, names) + "parameters are named relative to the module");
}

void Recorder::freeze(size_t module, const std::string& parameter) {
  Record& record = add(Record::Kind::kFreeze, module);
  record.parameter = parameter;
  require_parameter(module, parameter);
}

void Recorder::tie(size_t module, const std::string& parameter, size_t other,
                   const std::string& other_parameter) {
  Record& record = add(Record::Kind::kTie, module);
  record.parameter = parameter;
  record.other_module = other;
  record.other_parameter = other_parameter;
  if (other >= model_.size())
    throw usage_error("tie: module number " + std::to_string(other) + " does not exist",
                      where_of(instance_, model_[module]), "this is a defect of the converter");
  require_parameter(module, parameter);
  require_parameter(other, other_parameter);
}

void Recorder::keep(size_t module, std::string reason) {
  add(Record::Kind::kKeep, module).reason = std::move(reason);
}

}  // namespace titan::converters
