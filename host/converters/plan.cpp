#include "converters/plan.h"

#include <c10/core/ScalarType.h>
#include <c10/util/accumulate.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "converters/output_shape.h"
#include "converters/selector.h"

namespace titan::converters {
namespace {

std::string action_text(const StockModel& stock, const Record& record) {
  const std::string verb(to_string(record.kind));
  switch (record.kind) {
    case Record::Kind::kParameter:
    case Record::Kind::kBuffer:
      return verb + " " + record.tensor.name + " " + shape_text(record.tensor.shape);
    case Record::Kind::kLayout: {
      std::string parts;
      for (const LayoutSpec::Part& part : record.layout.parts)
        parts += (parts.empty() ? "" : ", ") + part.source;
      return verb + " " + parts + " as " + record.layout.name;
    }
    case Record::Kind::kFreeze: return verb + " " + record.parameter;
    case Record::Kind::kTie:
      return verb + " " + record.parameter + " to " +
             stock.name_of(record.other_module, record.other_parameter);
    case Record::Kind::kKeep: return record.reason;
    default: return verb;
  }
}

/// Names the pattern that keeps a module from an instance.
class SelectionReasons {
 public:
  SelectionReasons(const StockModel& stock, const config::ConverterRequest& request) {
    chosen_ = select_modules(stock, request.instance, request.include, request.exclude);
    included_ = select_modules(stock, request.instance, request.include, {});
    for (const std::string& pattern : request.exclude)
      excluded_.emplace_back(pattern, select_modules(stock, request.instance, {}, {pattern}));
  }
  bool chosen(size_t module) const { return chosen_[module]; }
  std::string reason(size_t module) const {
    if (!included_[module]) return "not in include";
    for (const auto& [pattern, stays] : excluded_)
      if (!stays[module]) return "excluded by " + pattern;
    return "not selected";
  }

 private:
  std::vector<bool> chosen_, included_;
  std::vector<std::pair<std::string, std::vector<bool>>> excluded_;
};

/// Every module that is replaced, and everything below it, by instance.
std::map<size_t, std::vector<bool>> replaced_subtrees(const StockModel& stock,
                                                      const std::vector<Record>& records) {
  std::map<size_t, std::vector<bool>> result;
  for (const Record& record : records) {
    if (record.kind != Record::Kind::kReplace) continue;
    auto& marks = result.try_emplace(record.instance, stock.size(), false).first->second;
    marks[record.module] = true;
  }
  for (auto& [instance, marks] : result)
    for (size_t i = 0; i < stock.size(); ++i)
      if (stock[i].parent >= 0 && marks[static_cast<size_t>(stock[i].parent)]) marks[i] = true;
  return result;
}

/// The parameters that `module` itself declares: their relative names have no dot.
std::vector<const StockParameter*> own_parameters(const StockModule& module) {
  std::vector<const StockParameter*> own;
  for (const StockParameter& parameter : module.parameters)
    if (parameter.name.find('.') == std::string::npos) own.push_back(&parameter);
  return own;
}

const StockParameter* declared(const StockModel& stock, size_t module,
                               const std::string& relative) {
  for (const StockParameter& parameter : stock[module].parameters)
    if (parameter.name == relative) return &parameter;
  return nullptr;
}

/// Adds what one record costs. `seen` holds the parameters that were frozen or tied already: two
/// instances may freeze the same one.
void add_cost(const StockModel& stock, const Record& record, std::set<std::string>& seen,
              PlanTotals& totals) {
  switch (record.kind) {
    case Record::Kind::kReplace: ++totals.modules_replaced; break;
    case Record::Kind::kWrap: ++totals.modules_wrapped; break;
    case Record::Kind::kObserve: ++totals.modules_observed; break;
    case Record::Kind::kKeep: ++totals.modules_kept; break;
    case Record::Kind::kParameter: {
      const int64_t count = c10::multiply_integers(record.tensor.shape);
      const int64_t bytes = count * static_cast<int64_t>(c10::elementSize(record.tensor.dtype));
      totals.parameters_added += count;
      totals.weight_bytes += bytes;
      totals.gradient_bytes += bytes;
      totals.optimizer_bytes += 2 * bytes;
      if (record.tensor.shape.size() >= 2) totals.flops_per_token += 6 * count;
      break;
    }
    case Record::Kind::kBuffer:
      ++totals.buffers_added;
      totals.buffer_bytes += c10::multiply_integers(record.tensor.shape) *
                             static_cast<int64_t>(c10::elementSize(record.tensor.dtype));
      break;
    case Record::Kind::kLayout: break;  // the same values in another place
    case Record::Kind::kFreeze:
    case Record::Kind::kTie: {
      const StockParameter* parameter = declared(stock, record.module, record.parameter);
      if (!parameter || !seen.insert(parameter->stored_name).second) break;
      const int64_t count = c10::multiply_integers(parameter->shape);
      const int64_t bytes = count * static_cast<int64_t>(c10::elementSize(parameter->dtype));
      totals.gradient_bytes -= bytes;
      totals.optimizer_bytes -= 2 * bytes;
      if (record.kind == Record::Kind::kTie) {
        totals.parameters_tied += count;
        totals.weight_bytes -= bytes;
      } else {
        totals.parameters_frozen += count;
        if (parameter->multiplies) totals.flops_per_token -= 2 * count;
      }
      break;
    }
  }
}

/// Forward and backward of a linear module, for one token; 0 for other kinds.
int64_t own_linear_flops(const StockModule& module) {
  int64_t flops = 0;
  if (module.kind == "linear")
    for (const StockParameter* parameter : own_parameters(module))
      flops += 6 * c10::multiply_integers(parameter->shape);
  return flops;
}

int64_t linear_flops(const StockModel& stock, const std::vector<bool>& marks) {
  int64_t flops = 0;
  for (size_t i = 0; i < stock.size(); ++i)
    if (marks[i]) flops += own_linear_flops(stock[i]);
  return flops;
}

/// What the predictions of one instance come to. A linear module counts for itself, or else for the
/// nearest module above it that has a prediction.
PlannedSpeed planned_speed(const StockModel& stock, const std::vector<Record>& records,
                           size_t instance) {
  PlannedSpeed speed;
  std::map<size_t, double> speedups;  // by module
  for (const Record& record : records) {
    if (record.instance != instance || !record.prediction || record.prediction->speedup <= 0)
      continue;
    speedups[record.module] = record.prediction->speedup;
    if (!speed.tokens) speed.tokens = record.prediction->tokens;
    if (std::find(speed.bases.begin(), speed.bases.end(), record.prediction->basis) ==
        speed.bases.end())
      speed.bases.push_back(record.prediction->basis);
  }
  double changed = 0;  // with the stock model's time for one operation as unit
  for (size_t i = 0; i < stock.size(); ++i) {
    auto at = static_cast<int64_t>(i);
    while (at >= 0 && !speedups.count(static_cast<size_t>(at)))
      at = stock[static_cast<size_t>(at)].parent;
    if (at < 0) continue;
    const int64_t flops = own_linear_flops(stock[i]);
    speed.flops_per_token += flops;
    changed += static_cast<double>(flops) / speedups.at(static_cast<size_t>(at));
  }
  if (changed > 0) speed.speedup = static_cast<double>(speed.flops_per_token) / changed;
  return speed;
}

}  // namespace

Plan make_plan(const StockModel& stock, const ModelConvertersContainer& container) {
  const std::vector<Record>& records = container.records();
  const std::vector<config::ConverterRequest> requests = container.requests();
  Plan plan;
  for (const config::ConverterRequest& request : requests) {
    plan.instances.push_back(request.instance);
    plan.converters.push_back(request.converter);
  }
  plan.totals.resize(plan.instances.size());
  for (size_t i = 0; i < stock.size(); ++i) {
    PlannedModule module{stock[i].fqn, stock[i].kind, 0, {}};
    for (const StockParameter* parameter : own_parameters(stock[i]))
      if (parameter->stored_name == stock.name_of(i, parameter->name))  // a tied one counts once
        module.own_parameters += c10::multiply_integers(parameter->shape);
    plan.stock_parameters += module.own_parameters;
    plan.modules.push_back(std::move(module));
  }

  std::vector<std::set<std::string>> touched_kinds(plan.instances.size());
  std::set<std::pair<size_t, size_t>> recorded;  // instance, module
  std::set<std::string> seen;
  std::vector<std::set<std::string>> seen_by(plan.instances.size());
  for (const Record& record : records) {
    plan.modules[record.module].actions.push_back({record.instance,
                                                   record.kind != Record::Kind::kKeep,
                                                   action_text(stock, record), record.prediction});
    touched_kinds[record.instance].insert(stock[record.module].kind);
    recorded.emplace(record.instance, record.module);
    add_cost(stock, record, seen_by[record.instance], plan.totals[record.instance]);
    add_cost(stock, record, seen, plan.total);
  }

  for (size_t i = 0; i < plan.instances.size(); ++i)
    plan.speeds.push_back(planned_speed(stock, records, i));

  const auto replaced = replaced_subtrees(stock, records);
  std::vector<bool> replaced_by_any(stock.size(), false);
  for (const auto& [instance, marks] : replaced) {
    plan.totals[instance].flops_in_replaced_linears = linear_flops(stock, marks);
    for (size_t i = 0; i < stock.size(); ++i) replaced_by_any[i] = replaced_by_any[i] || marks[i];
  }
  plan.total.flops_in_replaced_linears = linear_flops(stock, replaced_by_any);

  // Modules of a kind that an instance deals with, and that it left alone: say why.
  for (size_t instance = 0; instance < plan.instances.size(); ++instance) {
    const SelectionReasons selection(stock, requests[instance]);
    const auto marks = replaced.find(instance);
    for (size_t i = 0; i < stock.size(); ++i) {
      if (!touched_kinds[instance].count(stock[i].kind) || recorded.count({instance, i})) continue;
      if (marks != replaced.end() && marks->second[i]) continue;  // part of what it replaced
      plan.modules[i].actions.push_back(
          {instance,
           false,
           selection.chosen(i) ? "the converter leaves it" : selection.reason(i),
           {}});
      ++plan.totals[instance].modules_kept;
      ++plan.total.modules_kept;
    }
  }
  return plan;
}

}  // namespace titan::converters
