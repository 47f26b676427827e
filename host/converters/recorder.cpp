#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "converters/model_converter.h"
#include "model/kinds.h"

namespace titan::converters {
namespace {

std::string where_of(const std::string& instance, const StockModule& module) {
  return "converter '" + instance + "', module '" + module.fqn + "'";
}

/// Dot-separated segments of [a-z0-9_]+, at most 128 bytes.
bool legal_tensor_name(const std::string& name) {
  const auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  bool in_segment = false;
  for (const char c : name) {
    if (c == '.' ? !in_segment : !legal(c)) return false;
    in_segment = c != '.';
  }
  return in_segment && name.size() <= 128;
}

}  // namespace

std::string_view to_string(Record::Kind kind) {
  switch (kind) {
    case Record::Kind::kReplace: return "replace";
    case Record::Kind::kWrap: return "wrap";
    case Record::Kind::kObserve: return "observe";
    case Record::Kind::kParameter: return "add parameter";
    case Record::Kind::kBuffer: return "add buffer";
    case Record::Kind::kLayout: return "lay out";
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

void Recorder::require_selected(Record::Kind kind, size_t module) const {
  if (module >= model_.size())
    throw usage_error("module number " + std::to_string(module) +
                          " does not exist; the model has " + std::to_string(model_.size()),
                      "converter '" + instance_ + "'", "this is a defect of the converter");
  if (!selected_[module])
    throw usage_error("the converter wants to " + std::string(to_string(kind)) +
                          " a module that include / exclude keep from it",
                      where_of(instance_, model_[module]),
                      "widen include or exclude of '" + instance_ +
                          "', or ask the converter's author to honour the selection");
}

/// Everything is checked before: what is refused must leave no record.
Record& Recorder::add(Record::Kind kind, size_t module) {
  require_selected(kind, module);
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

void Recorder::require_free_name(size_t module, const std::string& name) const {
  const std::string where = where_of(instance_, model_[module]);
  if (!legal_tensor_name(name))
    throw usage_error("the name '" + name.substr(0, 200) +
                          "' of an added tensor is not [a-z0-9_]+(.[a-z0-9_]+)*, "
                          "at most 128 bytes",
                      where, "rename it in the converter");
  for (const StockParameter& parameter : model_[module].parameters)
    if (parameter.name == name)
      throw usage_error("the added tensor '" + name + "' has the name of a stock parameter", where,
                        "rename it in the converter");
  std::vector<std::string_view> taken_by_kind = {"y"};
  if (const model::Kind* kind = model::find_kind(model_[module].kind))
    for (const model::KindInput& input : kind->inputs) taken_by_kind.push_back(input.name);
  if (std::find(taken_by_kind.begin(), taken_by_kind.end(), name) != taken_by_kind.end())
    throw usage_error("the added tensor '" + name + "' has the name of an input or output of a " +
                          model_[module].kind,
                      where, "rename it in the converter");
  // On disk the module's name goes before: "b.c" of module "a" is "c" of module "a.b".
  if (taken_.count(model_.name_of(module, name)))
    throw usage_error("the tensor '" + model_.name_of(module, name) + "' is added twice", where,
                      "add it once, or rename one");
}

void Recorder::add_tensor(Record::Kind kind, size_t module, TensorSpec spec) {
  if (module < model_.size()) {
    require_free_name(module, spec.name);
    int64_t bytes = static_cast<int64_t>(c10::elementSize(spec.dtype));
    for (const int64_t size : spec.shape)
      if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes))
        throw usage_error("tensor '" + spec.name +
                              "' has a negative dimension, or more bytes than can be counted",
                          where_of(instance_, model_[module]),
                          "correct the shape in the converter");
    if (spec.init.kind == model::InitRule::Kind::kCopy) require_parameter(module, spec.init.source);
  }
  Record& record = add(kind, module);
  taken_.insert(model_.name_of(module, spec.name));
  record.tensor = std::move(spec);
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

void Recorder::layout(size_t module, LayoutSpec spec) {
  if (module < model_.size()) {
    require_free_name(module, spec.name);
    if (spec.parts.empty())
      throw usage_error("the layout '" + spec.name + "' has no parts",
                        where_of(instance_, model_[module]), "name the stock parameters it holds");
    for (const LayoutSpec::Part& part : spec.parts) require_parameter(module, part.source);
  }
  Record& record = add(Record::Kind::kLayout, module);
  taken_.insert(model_.name_of(module, spec.name));
  record.layout = std::move(spec);
}

void Recorder::freeze(size_t module, const std::string& parameter) {
  require_selected(Record::Kind::kFreeze, module);
  require_parameter(module, parameter);
  add(Record::Kind::kFreeze, module).parameter = parameter;
}

void Recorder::tie(size_t module, const std::string& parameter, size_t other,
                   const std::string& other_parameter) {
  require_selected(Record::Kind::kTie, module);
  require_selected(Record::Kind::kTie, other);
  require_parameter(module, parameter);
  require_parameter(other, other_parameter);
  Record& record = add(Record::Kind::kTie, module);
  record.parameter = parameter;
  record.other_module = other;
  record.other_parameter = other_parameter;
}

void Recorder::keep(size_t module, std::string reason) {
  add(Record::Kind::kKeep, module).reason = std::move(reason);
}

void Recorder::predict(size_t module, Prediction prediction) {
  require_selected(Record::Kind::kReplace, module);
  Record* changed = nullptr;
  for (Record& record : records_)
    if (record.instance == instance_index_ && record.module == module &&
        (record.kind == Record::Kind::kReplace || record.kind == Record::Kind::kWrap)) {
      if (record.prediction)
        throw usage_error("'" + model_[module].fqn + "' is predicted twice",
                          where_of(instance_, model_[module]),
                          "predict once, for all that the converter does to the module");
      if (!changed) changed = &record;
    }
  if (!changed)
    throw usage_error("'" + model_[module].fqn +
                          "' is predicted, but the converter neither replaces nor wraps it",
                      where_of(instance_, model_[module]), "record the replacement or wrap first");
  changed->prediction = std::move(prediction);
}

}  // namespace titan::converters
