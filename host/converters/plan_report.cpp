#include "converters/plan_report.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/numbers.h"
#include "base/table.h"

namespace titan::converters {
namespace {

using PlanJson = nlohmann::ordered_json;

/// "layers.12.attention.wq" is "layers.*.attention.wq" with the number 12.
struct Numbered {
  std::string pattern;
  int64_t number = -1;  ///< -1: no part of the name is a number
};

Numbered split_number(const std::string& fqn) {
  Numbered result;
  size_t at = 0;
  while (at <= fqn.size()) {
    const size_t dot = std::min(fqn.find('.', at), fqn.size());
    const std::string segment = fqn.substr(at, dot - at);
    const bool digits = !segment.empty() && segment.size() < 10 &&
                        segment.find_first_not_of("0123456789") == std::string::npos;
    if (at) result.pattern += '.';
    if (digits && result.number < 0) {
      result.number = std::atoll(segment.c_str());
      result.pattern += '*';
    } else {
      result.pattern += segment;
    }
    at = dot + 1;
  }
  return result;
}

/// {0, 1, 2, 5} as "0-2,5".
std::string ranges(const std::vector<int64_t>& numbers) {
  std::string text;
  for (size_t i = 0; i < numbers.size();) {
    size_t end = i;
    while (end + 1 < numbers.size() && numbers[end + 1] == numbers[end] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(numbers[i]);
    if (end > i) text += "-" + std::to_string(numbers[end]);
    i = end + 1;
  }
  return text;
}

/// "1.54x"
std::string times_text(double speedup) { return fixed_point(speedup, 2) + "x"; }

std::string actions_text(const Plan& plan, const PlannedModule& module) {
  std::string text;
  for (size_t instance = 0; instance < plan.instances.size(); ++instance) {
    std::string own;
    for (const PlannedAction& action : module.actions)
      if (action.instance == instance)
        own += (own.empty() ? "" : ", ") +
               (action.changes ? action.text : "stays (" + action.text + ")") +
               (action.prediction && action.prediction->speedup > 0
                    ? " (" + times_text(action.prediction->speedup) + ")"
                    : "");
    if (!own.empty()) text += (text.empty() ? "" : "; ") + plan.instances[instance] + ": " + own;
  }
  return text;
}

/// Lines of modules that are treated alike, in the order of their first module.
struct Group {
  std::string pattern, kind, actions;
  std::vector<int64_t> numbers;
};

std::vector<Group> group_modules(const Plan& plan, std::map<std::string, size_t>* of_pattern) {
  std::vector<Group> groups;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (const PlannedModule& module : plan.modules) {
    const Numbered name = split_number(module.fqn);
    ++(*of_pattern)[name.pattern];
    const std::string actions = actions_text(plan, module);
    if (actions.empty()) continue;
    const auto [at, fresh] = index.emplace(std::make_pair(name.pattern, actions), groups.size());
    if (fresh) groups.push_back({name.pattern, module.kind, actions, {}});
    if (name.number >= 0) groups[at->second].numbers.push_back(name.number);
  }
  return groups;
}

std::string with_sign(double value, int decimals) {
  return (value < 0 ? "" : "+") + fixed_point(value, decimals);
}

std::string signed_gib(int64_t bytes) {
  return with_sign(static_cast<double>(bytes) / 1073741824.0, 3) + " GiB";
}

std::string percent(double part, double whole) {
  return fixed_point(whole > 0 ? 100.0 * part / whole : 0.0, 1) + " %";
}

std::string totals_text(const PlanTotals& totals, int64_t stock_flops) {
  std::string text;
  const auto counted = [&](const char* what, int64_t count) {
    if (count) text += (text.empty() ? "" : ", ") + std::string(what) + " " + with_commas(count);
  };
  counted("modules replaced", totals.modules_replaced);
  counted("wrapped", totals.modules_wrapped);
  counted("observed", totals.modules_observed);
  counted("staying", totals.modules_kept);
  counted("parameters added", totals.parameters_added);
  counted("frozen", totals.parameters_frozen);
  counted("tied", totals.parameters_tied);
  counted("buffers added", totals.buffers_added);
  if (text.empty()) text = "works in its hooks alone";
  if (totals.flops_in_replaced_linears)
    text += "; replaced linears hold " +
            percent(static_cast<double>(totals.flops_in_replaced_linears),
                    static_cast<double>(stock_flops)) +
            " of the FLOPs";
  return text;
}

/// A line of its own, if there is something to say.
std::string speed_text(const std::string& instance, const PlannedSpeed& speed) {
  if (speed.speedup <= 0) return "";
  std::string bases;
  for (const std::string& basis : speed.bases) bases += (bases.empty() ? "" : "; ") + basis;
  return instance + ": linears together predicted to be " + times_text(speed.speedup) +
         " as fast, at " + with_commas(speed.tokens) + " tokens a call (" + bases + ")\n";
}

PlanJson speed_json(const PlannedSpeed& speed) {
  if (speed.speedup <= 0) return nullptr;
  return {{"speedup", speed.speedup},
          {"tokens", speed.tokens},
          {"flops_per_token", speed.flops_per_token},
          {"bases", speed.bases}};
}

PlanJson totals_json(const PlanTotals& totals) {
  return {{"modules_replaced", totals.modules_replaced},
          {"modules_wrapped", totals.modules_wrapped},
          {"modules_observed", totals.modules_observed},
          {"modules_kept", totals.modules_kept},
          {"buffers_added", totals.buffers_added},
          {"parameters_added", totals.parameters_added},
          {"parameters_frozen", totals.parameters_frozen},
          {"parameters_tied", totals.parameters_tied},
          {"weight_bytes", totals.weight_bytes},
          {"gradient_bytes", totals.gradient_bytes},
          {"optimizer_bytes", totals.optimizer_bytes},
          {"buffer_bytes", totals.buffer_bytes},
          {"flops_per_token", totals.flops_per_token},
          {"flops_in_replaced_linears", totals.flops_in_replaced_linears}};
}

std::string device_text(const DeviceFacts& device) {
  if (!device.cuda) return device.name;
  return device.name + ", compute capability " + std::to_string(device.capability_major) + "." +
         std::to_string(device.capability_minor);
}

}  // namespace

std::string plan_text(const Plan& plan, const PlanHeader& header) {
  std::string text = "config  " + header.config + "\nmodel   " + header.model + ": " +
                     with_commas(plan.stock_parameters) + " parameters in " +
                     with_commas(static_cast<int64_t>(plan.modules.size())) + " modules\ndevice  " +
                     device_text(header.device) + "\n\n";
  if (plan.instances.empty())
    return text + "no converters are applied (model.converters is empty)\n";

  std::map<std::string, size_t> of_pattern;
  const std::vector<Group> groups = group_modules(plan, &of_pattern);
  Table table({"modules", "count", "kind", "what happens"});
  table.align(1, Table::Align::kRight);
  for (const Group& group : groups) {
    std::string name = group.pattern.empty() ? "(root)" : group.pattern;
    const bool all = group.numbers.size() == of_pattern[group.pattern];
    if (!group.numbers.empty() && !all)
      name.replace(name.find('*'), 1, "{" + ranges(group.numbers) + "}");
    table.add_row({name, std::to_string(std::max<size_t>(group.numbers.size(), 1)), group.kind,
                   group.actions});
  }
  text += table.render() + "\n";
  for (size_t i = 0; i < plan.instances.size(); ++i) {
    text += plan.instances[i];
    if (plan.converters[i] != plan.instances[i]) text += " (" + plan.converters[i] + ")";
    text += ": " + totals_text(plan.totals[i], header.stock_flops_per_token) + "\n" +
            speed_text(plan.instances[i], plan.speeds[i]);
  }
  const PlanTotals& total = plan.total;
  text += "memory  " +
          signed_gib(total.weight_bytes + total.gradient_bytes + total.optimizer_bytes +
                     total.buffer_bytes) +
          " (weights " + signed_gib(total.weight_bytes) + ", gradients " +
          signed_gib(total.gradient_bytes) + ", optimizer " + signed_gib(total.optimizer_bytes) +
          ", buffers " + signed_gib(total.buffer_bytes) + ")\n";
  const double stock = std::max(1.0, static_cast<double>(header.stock_flops_per_token));
  const std::string change =
      with_sign(100.0 * static_cast<double>(total.flops_per_token) / stock, 2) + " %";
  text += "FLOPs   " + with_commas(header.stock_flops_per_token) + " per token, " + change +
          " by parameters that are added or take no gradient\n";
  return text;
}

std::string plan_json(const Plan& plan, const PlanHeader& header) {
  PlanJson root;
  root["config"] = header.config;
  root["model"] = header.model;
  root["parameters"] = plan.stock_parameters;
  root["flops_per_token"] = header.stock_flops_per_token;
  root["device"] = {{"name", header.device.name},
                    {"cuda", header.device.cuda},
                    {"capability", std::to_string(header.device.capability_major) + "." +
                                       std::to_string(header.device.capability_minor)}};
  root["converters"] = PlanJson::array();
  for (size_t i = 0; i < plan.instances.size(); ++i)
    root["converters"].push_back({{"instance", plan.instances[i]},
                                  {"converter", plan.converters[i]},
                                  {"totals", totals_json(plan.totals[i])},
                                  {"prediction", speed_json(plan.speeds[i])}});
  PlanJson& modules = root["modules"] = PlanJson::array();
  for (const PlannedModule& module : plan.modules) {
    PlanJson changes = PlanJson::array(), stays = PlanJson::array();
    for (const PlannedAction& action : module.actions) {
      PlanJson made = {{"instance", plan.instances[action.instance]},
                       {action.changes ? "action" : "reason", action.text}};
      if (const auto& given = action.prediction; given && given->speedup > 0)
        made["prediction"] = {
            {"speedup", given->speedup}, {"tokens", given->tokens}, {"basis", given->basis}};
      (action.changes ? changes : stays).push_back(std::move(made));
    }
    modules.push_back({{"fqn", module.fqn},
                       {"kind", module.kind},
                       {"own_parameters", module.own_parameters},
                       {"changes", std::move(changes)},
                       {"stays", std::move(stays)}});
  }
  root["totals"] = totals_json(plan.total);
  return root.dump(2) + "\n";
}

}  // namespace titan::converters
