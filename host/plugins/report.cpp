/// Text and JSON renderings; all strings of files pass through printable().
#include "plugins/report.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/table.h"
#include "base/text_list.h"
#include "plugins/report_json.h"

namespace titan::plugins {
namespace {

/// A bound, which the note has as a floating-point number, as the option's type writes it; empty:
/// none.
std::string bound_text(const config::OptionSchema& option, const std::optional<double>& bound) {
  if (!bound) return "";
  return option.type == config::OptionType::kInt ? std::to_string(static_cast<int64_t>(*bound))
                                                 : ReportJson(*bound).dump();
}

void append_options(const config::ConverterSchema& converter, std::string& text) {
  if (converter.options.empty()) return;
  Table table;
  for (const config::OptionSchema& option : converter.options) {
    std::string range;
    if (option.min || option.max)
      range = bound_text(option, option.min) + " .. " + bound_text(option, option.max);
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

std::string list_json(const Catalog& catalog) { return dump_report(catalog_json(catalog)); }

std::string inspect_text(const JudgedPlugin& judged) {
  Table head;
  const auto row = [&](const char* key, const std::string& value) {
    if (!value.empty()) head.add_row({key, value});
  };
  row("file", report_path(judged.path));
  row("verdict", judged.verdict.outcome == Outcome::kLoadable
                     ? "loadable, as far as the file tells; titan plugins why also tries it"
                     : outcome_name(judged.verdict.outcome));
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
    row("built for",
        plugin.torch_build.empty() ? "" : "LibTorch " + plugin.torch_build + " exactly");
    if (!judged.has_note()) row("note", "none: its converters are told by loading it");
  }
  row("needs", joined(judged.needed));
  row("sha256", judged.sha256);
  std::string text = head.render();
  if (!judged.description || judged.description->converters.empty()) return text;
  text += "converters\n";
  for (const config::ConverterSchema& converter : judged.description->converters) {
    text +=
        "  " + converter.name + (converter.summary.empty() ? "" : ": " + converter.summary) + "\n";
    append_options(converter, text);
    const ConverterClaims claims = claims_of(*judged.description, converter.name);
    if (const std::string claim = claim_text(claims.numerics); !claim.empty())
      text += "    numerics: " + claim + "\n";
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
  // What a run would use comes first, what was refused after it.
  std::vector<CatalogEntry> entries = catalog.entries();
  std::stable_partition(entries.begin(), entries.end(),
                        [](const CatalogEntry& entry) { return entry.loadable(); });
  for (const CatalogEntry& entry : entries) {
    // Once more, under the options of an inspection.
    if (entry.is_called(what)) return Judge(options).judge(entry.judged.path);
    if (!entry.judged.description) continue;
    names.push_back(entry.judged.description->name);
    for (const auto& converter : entry.judged.description->converters)
      names.push_back(converter.name);
  }
  throw usage_error(
      "no plugin or converter is called '" + printable(what, 80) + "'", "titan plugins inspect",
      did_you_mean(what, names) + "titan plugins list shows all; a file is named by its path");
}

}  // namespace titan::plugins
