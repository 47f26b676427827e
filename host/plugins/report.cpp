/// Text and JSON renderings; all strings of files pass through printable().
#include "plugins/report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/suggest.h"
#include "base/table.h"
#include "base/printable.h"

namespace titan::plugins {
namespace {

using ReportJson = nlohmann::ordered_json;

std::string report_path(const std::filesystem::path& path) { return printable(path.native()); }

std::string type_text(const config::OptionSchema& option) {
  std::string text;
  switch (option.type) {
    case config::OptionType::kBool: text = "bool"; break;
    case config::OptionType::kInt: text = "int"; break;
    case config::OptionType::kFloat: text = "float"; break;
    case config::OptionType::kString: text = "string"; break;
    case config::OptionType::kEnum: text = "enum"; break;
    case config::OptionType::kPath: text = "path"; break;
  }
  return option.is_list ? "list[" + text + "]" : text;
}

ReportJson value_json(const config::OptionValue& value) {
  ReportJson items = ReportJson::array();
  for (const config::Scalar& item : value.items)
    std::visit([&](const auto& scalar) { items.push_back(scalar); }, item);
  return value.is_list ? items : items.empty() ? ReportJson() : items.front();
}

ReportJson option_json(const config::OptionSchema& option) {
  ReportJson out{
      {"name", option.name}, {"type", type_text(option)}, {"required", !option.default_value}};
  if (option.default_value) out["default"] = value_json(*option.default_value);
  if (option.min) out["min"] = *option.min;
  if (option.max) out["max"] = *option.max;
  if (!option.values.empty()) out["values"] = option.values;
  if (!option.aliases.empty()) out["aliases"] = option.aliases;
  out["help"] = option.help;
  return out;
}

ConverterClaims claims_of(const PluginDescription& plugin, const std::string& converter) {
  const auto found = plugin.claims.find(converter);
  return found == plugin.claims.end() ? ConverterClaims() : found->second;
}

/// In the form that the note has.
void add_claims(const ConverterClaims& claims, ReportJson& item) {
  if (claims.numerics.kind == NumericsClaim::Kind::kApproximate)
    item["numerics"] = {{"sqnr_db", claims.numerics.sqnr_db}};
  else if (const std::string text = claim_text(claims.numerics); !text.empty())
    item["numerics"] = text;
  for (const auto& [name, value] : claims.validate_with) item["validate_with"][name] = value_json(value);
}

ReportJson plugin_json(const JudgedPlugin& judged) {
  ReportJson out{{"path", report_path(judged.path)},
                 {"outcome", outcome_name(judged.verdict.outcome)}};
  if (judged.verdict.outcome != Outcome::kLoadable) {
    out["reason"] = judged.verdict.reason;
    out["hint"] = judged.verdict.hint;
    out["rule"] = rule_name(judged.verdict.rule);
  }
  out["warnings"] = judged.verdict.warnings;
  out["bytes"] = judged.identity.size;
  out["needs"] = judged.needed;
  if (!judged.description) return out;
  const PluginDescription& plugin = *judged.description;
  out["note"] = judged.has_note();
  out["name"] = plugin.name;
  out["version"] = plugin.version;
  out["license"] = plugin.license;
  out["homepage"] = plugin.homepage;
  out["vendor"] = plugin.vendor;
  out["api_min"] = plugin.api_min;
  out["api_built"] = plugin.api_built;
  out["tier"] = tier_name(plugin.tier);
  out["torch_min"] = plugin.torch_min;
  if (!plugin.torch_build.empty()) out["torch_build"] = plugin.torch_build;
  out["converters"] = ReportJson::array();
  for (const config::ConverterSchema& converter : plugin.converters) {
    ReportJson item{{"name", converter.name}, {"summary", converter.summary}};
    if (!converter.matrix_type.empty()) item["matrix_type"] = converter.matrix_type;
    add_claims(claims_of(plugin, converter.name), item);
    item["options"] = ReportJson::array();
    for (const config::OptionSchema& option : converter.options)
      item["options"].push_back(option_json(option));
    out["converters"].push_back(std::move(item));
  }
  return out;
}

std::string dump_report(const ReportJson& json) { return json.dump(2); }

void append_options(const config::ConverterSchema& converter, std::string& text) {
  if (converter.options.empty()) return;
  Table table;
  for (const config::OptionSchema& option : converter.options) {
    std::string range;
    if (option.min || option.max)
      range = (option.min ? ReportJson(*option.min).dump() : "") + " .. " +
              (option.max ? ReportJson(*option.max).dump() : "");
    for (const std::string& value : option.values) range += (range.empty() ? "" : " | ") + value;
    table.add_row(
        {"      " + option.name, type_text(option),
         option.default_value ? "= " + value_json(*option.default_value).dump() : "required", range,
         option.help});
  }
  text += table.render();
}

}  // namespace

std::string list_text(const Catalog& catalog) {
  std::string text;
  Table table({"CONVERTER", "PLUGIN", "VERSION", "TIER", "FILE"});
  for (const CatalogEntry& entry : catalog.entries()) {
    if (!entry.loadable()) continue;
    const PluginDescription& plugin = *entry.judged.description;
    if (!entry.judged.has_note())
      table.add_row({"(told by loading)", plugin.name, "-", std::string(tier_name(plugin.tier)),
                     report_path(entry.judged.path)});
    for (const config::ConverterSchema& converter : plugin.converters)
      table.add_row({converter.name, plugin.name, plugin.version,
                     std::string(tier_name(plugin.tier)), report_path(entry.judged.path)});
  }
  text += table.rows() == 0 ? "no plugins found\n" : table.render();

  std::string rest;
  for (const DuplicateConverter& duplicate : catalog.duplicates()) {
    rest += "conflict: converter '" + duplicate.name + "' is in";
    for (const std::string& path : duplicate.paths) rest += " " + path;
    rest += "\n  fix: remove all but one\n";
  }
  for (const CatalogEntry& entry : catalog.entries()) {
    const Verdict& verdict = entry.judged.verdict;
    const std::string path = report_path(entry.judged.path);
    if (!entry.loadable())
      rest += outcome_name(verdict.outcome) + ": " + path + " " + verdict.reason_with_rule() +
              "\n  fix: " + verdict.hint + "\n";
    for (const std::string& warning : verdict.warnings)
      rest += "warning: " + path + ": " + warning + "\n";
    for (const auto& other : entry.candidate.same_file)
      rest += "note: " + report_path(other) + " is the same file as " + path + "\n";
  }
  for (const SearchNotice& notice : catalog.notices())
    rest += "warning: " + notice.where + " " + notice.text + "\n  fix: " + notice.hint + "\n";
  for (const std::string& folder : catalog.searched()) rest += "searched: " + folder + "\n";
  if (!rest.empty()) text += "\n" + rest;
  return text;
}

std::string list_json(const Catalog& catalog) {
  ReportJson out{{"searched", catalog.searched()}};
  out["plugins"] = ReportJson::array();
  for (const CatalogEntry& entry : catalog.entries()) {
    ReportJson item = plugin_json(entry.judged);
    item["origin"] = origin_name(entry.candidate.origin);
    item["microseconds"] = entry.microseconds;
    item["same_file"] = ReportJson::array();
    for (const auto& other : entry.candidate.same_file)
      item["same_file"].push_back(report_path(other));
    out["plugins"].push_back(std::move(item));
  }
  out["duplicates"] = ReportJson::array();
  for (const DuplicateConverter& duplicate : catalog.duplicates())
    out["duplicates"].push_back({{"converter", duplicate.name}, {"paths", duplicate.paths}});
  out["notices"] = ReportJson::array();
  for (const SearchNotice& notice : catalog.notices())
    out["notices"].push_back(
        {{"where", notice.where}, {"text", notice.text}, {"hint", notice.hint}});
  return dump_report(out);
}

std::string inspect_text(const JudgedPlugin& judged) {
  Table head;
  const auto row = [&](const char* key, const std::string& value) {
    if (!value.empty()) head.add_row({key, value});
  };
  row("file", report_path(judged.path));
  row("verdict", outcome_name(judged.verdict.outcome));
  if (judged.verdict.outcome != Outcome::kLoadable) {
    row("reason", judged.verdict.reason_with_rule());
    row("fix", judged.verdict.hint);
  }
  for (const std::string& warning : judged.verdict.warnings) row("warning", warning);
  if (judged.description) {
    const PluginDescription& plugin = *judged.description;
    row("plugin", plugin.name + (plugin.version.empty() ? "" : " " + plugin.version));
    row("license", plugin.license);
    row("homepage", plugin.homepage);
    row("vendor", plugin.vendor);
    if (plugin.api_min != 0)
      row("API level", "needs " + std::to_string(plugin.api_min) + ", built with " +
                           std::to_string(plugin.api_built));
    row("tier",
        std::string(tier_name(plugin.tier)) + (judged.has_note() ? "" : " (told by its symbols)"));
    row("LibTorch", plugin.torch_min.empty() ? "" : plugin.torch_min + " or newer");
    row("built for", plugin.torch_build.empty() ? "" : "LibTorch " + plugin.torch_build + " exactly");
    if (!judged.has_note()) row("note", "none: its converters are told by loading it");
  }
  std::string needs;
  for (const std::string& library : judged.needed) needs += (needs.empty() ? "" : ", ") + library;
  row("needs", needs);
  std::string text = head.render();
  if (!judged.description || judged.description->converters.empty()) return text;
  text += "converters\n";
  for (const config::ConverterSchema& converter : judged.description->converters) {
    text +=
        "  " + converter.name + (converter.summary.empty() ? "" : ": " + converter.summary) + "\n";
    append_options(converter, text);
    const ConverterClaims claims = claims_of(*judged.description, converter.name);
    if (const std::string claim = claim_text(claims.numerics); !claim.empty()) text += "    numerics: " + claim + "\n";
    for (const auto& [name, value] : claims.validate_with)
      text += "    validated with " + name + " = " + value_json(value).dump() + "\n";
  }
  return text;
}

std::string inspect_json(const JudgedPlugin& judged) { return dump_report(plugin_json(judged)); }

JudgedPlugin find_for_inspection(const Catalog& catalog, const std::string& what,
                                 const JudgeOptions& options) {
  if (what.empty())
    throw usage_error("no plugin was named", "titan plugins inspect",
                      "name a .so file or a converter");
  if (what.find('/') != std::string::npos || what.ends_with(".so"))
    return Judge(options).judge(std::filesystem::absolute(what).lexically_normal());
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (entry.lists(what)) return entry.judged;
    if (!entry.judged.description) continue;
    if (entry.judged.description->name == what) return entry.judged;
    names.push_back(entry.judged.description->name);
    for (const auto& converter : entry.judged.description->converters)
      names.push_back(converter.name);
  }
  throw usage_error(
      "no plugin or converter is called '" + printable(what, 80) + "'", "titan plugins inspect",
      did_you_mean(what, names) + "titan plugins list shows all; a file is named by its path");
}

}  // namespace titan::plugins
