/// All strings of files pass through printable().
#include "plugins/report_json.h"

#include <utility>

#include "base/printable.h"

namespace titan::plugins {

std::string report_path(const std::filesystem::path& path) { return printable_path(path.native()); }

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

namespace {

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

/// In the form that the note has.
void add_claims(const ConverterClaims& claims, ReportJson& item) {
  if (claims.numerics.kind == NumericsClaim::Kind::kApproximate)
    item["numerics"] = {{"sqnr_db", claims.numerics.sqnr_db}};
  else if (const std::string text = claim_text(claims.numerics); !text.empty())
    item["numerics"] = text;
  for (const auto& [name, value] : claims.validate_with)
    item["validate_with"][name] = value_json(value);
}

}  // namespace

ConverterClaims claims_of(const PluginDescription& plugin, const std::string& converter) {
  const auto found = plugin.claims.find(converter);
  return found == plugin.claims.end() ? ConverterClaims() : found->second;
}

ReportJson plugin_json(const JudgedPlugin& judged) {
  ReportJson out{{"path", report_path(judged.path)},
                 {"outcome", outcome_name(judged.verdict.outcome)}};
  if (judged.verdict.outcome != Outcome::kLoadable) {
    out["reason"] = judged.verdict.reason;
    out["hint"] = judged.verdict.hint;
    out["rule"] = rule_name(judged.verdict.rule);
  }
  out["gates"] = ReportJson::array();
  for (const GateResult& result : judged.gates) {
    ReportJson gate{
        {"gate", gate_name(result.gate)},
        {"verdict", result.outcome == Outcome::kLoadable ? "passed" : outcome_name(result.outcome)},
        {"text", result.text}};
    if (result.outcome != Outcome::kLoadable) {
      gate["hint"] = result.hint;
      gate["rule"] = rule_name(result.rule);
    }
    out["gates"].push_back(std::move(gate));
  }
  out["warnings"] = judged.verdict.warnings;
  out["bytes"] = judged.identity.size;
  if (!judged.sha256.empty()) out["sha256"] = judged.sha256;
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

ReportJson catalog_json(const Catalog& catalog) {
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
  return out;
}

}  // namespace titan::plugins
