#include "converters/conflict_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "converters/layout_check.h"

namespace titan::converters {
namespace {

/// Two names in a fixed order, so that the message is the same whatever the list order is.
std::string both_names(const std::string& a, const std::string& b) {
  return a == b ? "'" + a + "' (twice)" : "'" + std::min(a, b) + "' and '" + std::max(a, b) + "'";
}

bool touches_the_call(Record::Kind kind) {
  return kind != Record::Kind::kKeep && kind != Record::Kind::kFreeze && kind != Record::Kind::kTie;
}

void check_replacements(const StockModel& model, const std::vector<Record>& records,
                        const std::vector<std::string>& instances) {
  std::map<size_t, const Record*> replaced;
  for (const Record& record : records) {
    if (record.kind != Record::Kind::kReplace) continue;
    const auto [found, fresh] = replaced.emplace(record.module, &record);
    if (!fresh)
      throw usage_error(
          "module '" + model[record.module].fqn + "' is replaced by " +
              both_names(instances[found->second->instance], instances[record.instance]) +
              "; a module has one replacement",
          "model.converters, module '" + model[record.module].fqn + "'",
          "give them disjoint modules with include / exclude, or apply only one");
  }
  for (const Record& record : records) {
    if (!touches_the_call(record.kind)) continue;
    for (int64_t at = model[record.module].parent; at >= 0; at = model[at].parent) {
      const auto above = replaced.find(static_cast<size_t>(at));
      if (above == replaced.end()) continue;
      throw usage_error("module '" + model[at].fqn + "' is replaced by '" +
                            instances[above->second->instance] + "', so '" +
                            instances[record.instance] + "' cannot " +
                            std::string(to_string(record.kind)) + " '" + model[record.module].fqn +
                            "' below it: it would never run",
                        "model.converters, module '" + model[record.module].fqn + "'",
                        "exclude '" + model[at].fqn + "' from '" + instances[record.instance] +
                            "', or from '" + instances[above->second->instance] + "'");
    }
  }
}

void check_ties(const StockModel& model, const std::vector<Record>& records,
                const std::vector<std::string>& instances) {
  std::set<std::string> tied;
  for (const Record& record : records) {
    if (record.kind != Record::Kind::kTie) continue;
    const auto facts = [&](size_t module, const std::string& name) -> const StockParameter& {
      const auto& list = model[module].parameters;
      return *std::find_if(list.begin(), list.end(),
                           [&](const StockParameter& p) { return p.name == name; });
    };
    const std::string name = model[record.module].fqn + "." + record.parameter;
    const std::string other = model[record.other_module].fqn + "." + record.other_parameter;
    const std::string where =
        "converter '" + instances[record.instance] + "', parameter '" + name + "'";
    if (name == other)
      throw usage_error("parameter '" + name + "' is tied to itself", where,
                        "correct the converter");
    // Both sides count: a chain a = b, b = c would make the result depend on the order.
    for (const std::string& side : {name, other})
      if (!tied.insert(side).second)
        throw usage_error("parameter '" + side + "' takes part in two ties", where,
                          "tie every parameter at most once");
    const StockParameter& a = facts(record.module, record.parameter);
    const StockParameter& b = facts(record.other_module, record.other_parameter);
    for (const StockParameter* side : {&a, &b})
      if (side->tied)
        throw usage_error(
            "parameter '" + (side == &a ? name : other) + "' is tied in the stock model already",
            where, "leave the tie out, or untie the model: model.args.enable_weight_tying: false");
    if (a.shape != b.shape || a.dtype != b.dtype)
      throw usage_error(
          "parameters '" + name + "' and '" + other + "' cannot be tied: shape or type differ",
          where, "tie parameters of equal shape and type");
  }
}

void check_kept(const StockModel& model, const std::vector<Record>& records,
                const std::vector<std::string>& instances) {
  std::set<std::pair<size_t, size_t>> kept;  // instance, module
  for (const Record& record : records)
    if (record.kind == Record::Kind::kKeep) kept.emplace(record.instance, record.module);
  for (const Record& record : records)
    if (touches_the_call(record.kind) && kept.count({record.instance, record.module}))
      throw usage_error("'" + instances[record.instance] + "' wants to " +
                            std::string(to_string(record.kind)) + " module '" +
                            model[record.module].fqn + "' and says that it stays as it is",
                        "converter '" + instances[record.instance] + "', module '" +
                            model[record.module].fqn + "'",
                        "this is a defect of the converter: report it to its author");
}

}  // namespace

void check_records(const StockModel& model, const std::vector<Record>& records,
                   const std::vector<std::string>& instances, const std::vector<bool>& hooked) {
  check_replacements(model, records, instances);
  check_ties(model, records, instances);
  check_layouts(model, records, instances);
  check_kept(model, records, instances);
  for (size_t i = 0; i < instances.size(); ++i) {
    int64_t kept = 0;
    std::string reason;
    const bool changes = std::any_of(records.begin(), records.end(), [&](const Record& record) {
      if (record.instance != i) return false;
      if (record.kind != Record::Kind::kKeep) return true;
      if (kept++ == 0)
        reason = "'" + model[record.module].fqn + "' stays as it is: " + record.reason;
      return false;
    });
    // A hook is work enough, unless the converter looked at modules and found none that suits it.
    if (changes || (hooked[i] && kept == 0)) continue;
    throw usage_error(
        "converter '" + instances[i] + "' changes nothing in this model" +
            (kept ? " (" + std::to_string(kept) + " modules looked at; " + reason + ")" : ""),
        "model.converters, instance '" + instances[i] + "'",
        "widen its include / exclude, correct its options, or take it out of model.converters");
  }
}

}  // namespace titan::converters
