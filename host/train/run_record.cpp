#include "train/run_record.h"

#include <algorithm>
#include <set>

#include "config/fields.h"
#include "config/option_text.h"

namespace titan::train {
namespace {

/// Keys of the sections below that change no number of a step.
const std::set<std::string>& keys_without_effect() {
  static const std::set<std::string> keys = {
      "model.converters",     "model.print_after_conversion", "training.steps",
      "training.device",      "training.on_nonfinite",        "training.max_skipped_steps",
      "training.dataset_path"};
  return keys;
}

bool counts(const config::Field& field) {
  static const std::set<std::string> left_out = {
      "job",     "metrics",    "profiling", "checkpoint",
      "plugins", "validation", "samples",   "activation_checkpoint"};
  return !left_out.count(field.section) && !keys_without_effect().count(field.full_name());
}

std::string list_text(const std::vector<std::string>& items) {
  config::OptionValue value{true, {}};
  for (const std::string& item : items) value.items.emplace_back(item);
  return config::to_yaml(value);
}

bool is_default(const std::string& key, const std::string& value) {
  const size_t dot = key.rfind('.');
  const config::Field* field = dot == std::string::npos
                                   ? nullptr
                                   : config::find_field(key.substr(0, dot), key.substr(dot + 1));
  if (!field) return false;
  const auto otherwise = field->get(config::Config{});
  return otherwise && config::to_yaml(*otherwise) == value;
}

const checkpoint::ConverterRecord* find_instance(
    const std::vector<checkpoint::ConverterRecord>& records, const std::string& instance) {
  for (const auto& record : records)
    if (record.instance == instance) return &record;
  return nullptr;
}

}  // namespace

RunRecord make_run_record(const config::Config& config,
                          const std::vector<config::ConverterRequest>& requests,
                          const std::map<std::string, checkpoint::ConverterRecord>& plugins,
                          bool cuda) {
  RunRecord record;
  for (const config::Field& field : config::fields()) {
    if (!counts(field)) continue;
    if (const auto value = field.get(config))
      record.settings[field.full_name()] = config::to_yaml(*value);
  }
  record.settings["device"] = cuda ? "cuda" : "cpu";
  // The length of the schedule, wherever it comes from.
  record.settings["lr_scheduler.total_steps"] =
      std::to_string(config.lr_scheduler.total_steps.value_or(config.training.steps));
  for (const config::ConverterRequest& request : requests) {
    checkpoint::ConverterRecord converter;
    if (const auto from = plugins.find(request.converter); from != plugins.end())
      converter = from->second;
    converter.instance = request.instance;
    converter.converter = request.converter;
    record.converters.push_back(std::move(converter));
    for (const auto& [name, value] : request.options)
      record.settings[request.instance + "." + name] = config::to_yaml(value);
    record.settings[request.instance + ".include"] = list_text(request.include);
    record.settings[request.instance + ".exclude"] = list_text(request.exclude);
  }
  return record;
}

std::vector<std::string> differences(const checkpoint::Manifest& then, const RunRecord& now) {
  std::vector<std::string> lines;
  for (const auto& record : then.converters)
    if (const auto* same = find_instance(now.converters, record.instance); !same)
      lines.push_back("converter " + record.text() + " was applied, is not");
    else if (same->sha256 != record.sha256 || same->converter != record.converter)
      lines.push_back("converter " + record.text() + " is now " + same->text());
  for (const auto& record : now.converters)
    if (!find_instance(then.converters, record.instance))
      lines.push_back("converter " + record.text() + " was not applied, is now");
  const auto order = [](const auto& records) {
    std::string names;
    for (const auto& record : records) names += record.instance + " ";
    return names;
  };
  if (lines.empty() && order(then.converters) != order(now.converters))
    lines.push_back("the converters were applied in the order " + order(then.converters));

  std::set<std::string> keys;
  for (const auto* settings : {&then.settings, &now.settings})
    for (const auto& [key, value] : *settings) keys.insert(key);
  // Places; what was read there is compared by its contents.
  keys.erase("model.hf_assets_path");
  keys.erase("model.tokenizer_path");
  for (const std::string& key : keys) {
    const auto before = then.settings.find(key), after = now.settings.find(key);
    // The options of a converter that came or went are covered above; a key that one of the two
    // programs does not know has no value to compare.
    if (before == then.settings.end() || after == now.settings.end()) {
      const std::string owner = key.substr(0, key.rfind('.'));
      if (find_instance(then.converters, owner) || find_instance(now.converters, owner)) continue;
    }
    // A key that is newer than the checkpoint had the effect of its default.
    if (before == then.settings.end() && is_default(key, after->second)) continue;
    const std::string was = before == then.settings.end() ? "not set" : before->second;
    const std::string is = after == now.settings.end() ? "not set" : after->second;
    if (was != is) lines.push_back(key + " was " + was + ", is " + is);
  }
  return lines;
}

}  // namespace titan::train
