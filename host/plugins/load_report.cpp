#include "plugins/load_report.h"

#include <algorithm>

#include "base/printable.h"
#include "base/suggest.h"
#include "base/table.h"
#include "plugins/report_json.h"

namespace titan::plugins {
namespace {

bool is_meant(const CatalogEntry& entry, const std::string& what) {
  const std::filesystem::path& path = entry.judged.path;
  return entry.is_called(what) || path.filename() == what || path.stem() == what;
}

std::string milliseconds(int64_t microseconds) {
  std::string text =
      std::to_string(microseconds / 1000) + "." + std::to_string(microseconds % 1000 / 100);
  return text + " ms";
}

const GateResult* result_of(const JudgedPlugin& judged, Gate gate) {
  for (const GateResult& result : judged.gates)
    if (result.gate == gate) return &result;
  return nullptr;
}

std::string gates_text(const JudgedPlugin& judged) {
  Table table;
  for (int i = 0; i < kGateCount; ++i) {
    const Gate gate = static_cast<Gate>(i);
    const GateResult* result = result_of(judged, gate);
    const bool passed = result && result->outcome == Outcome::kLoadable;
    table.add_row({std::string("  ") + gate_name(gate),
                   !result  ? "-"
                   : passed ? "passed"
                            : outcome_name(result->outcome),
                   !result ? std::string("not reached: ") + gate_purpose(gate)
                           : with_rule(result->text, result->rule)});
    if (result && !passed) table.add_row({"", "", "fix: " + result->hint});
  }
  return table.render();
}

std::string entry_head(const CatalogEntry& entry) {
  return report_path(entry.judged.path) + " (" + origin_name(entry.candidate.origin) + ", " +
         milliseconds(entry.microseconds) + ")\n";
}

std::string conflict_text(const DuplicateConverter& duplicate) {
  std::string text = "conflict: converter '" + duplicate.name + "' is in";
  for (const std::string& path : duplicate.paths) text += " " + path;
  return text + " [" + rule_name(Rule::kTransaction) +
         "]\n  fix: remove all but one of them, or deny one (plugins.deny)\n";
}

std::string verdict_text(const JudgedPlugin& judged) {
  std::string text = "  verdict: " + outcome_name(judged.verdict.outcome);
  if (judged.verdict.outcome != Outcome::kLoadable)
    text += ": " + judged.verdict.reason_with_rule();
  return text + "\n";
}

}  // namespace

std::vector<CatalogEntry> entries_called(const Catalog& catalog, const std::string& what,
                                         const JudgeOptions& options) {
  if (what.empty())
    throw usage_error("no plugin was named", "titan plugins why",
                      "name a converter, a plugin or a .so file");
  const bool is_here = what.ends_with(".so") && std::filesystem::exists(what);
  if (what.find('/') != std::string::npos || is_here) {
    const std::filesystem::path path = std::filesystem::absolute(what).lexically_normal();
    CatalogEntry entry;
    entry.candidate.path = path;
    entry.judged = Judge(options).judge(path);
    return {entry};
  }
  std::vector<CatalogEntry> found;
  std::vector<std::string> names;
  for (const CatalogEntry& entry : catalog.entries()) {
    if (is_meant(entry, what)) found.push_back(entry);
    names.push_back(entry.judged.path.stem());
    if (!entry.judged.description) continue;
    for (const auto& converter : entry.judged.description->converters)
      names.push_back(converter.name);
  }
  if (!found.empty()) return found;
  std::string searched;
  for (const std::string& folder : catalog.searched())
    searched += (searched.empty() ? "searched " : ", ") + folder;
  std::string text = "no file, plugin or converter is called '" + printable(what, 80) + "'";
  for (const SearchNotice& notice : catalog.notices())
    text += "\n  " + notice.where + " " + notice.text;
  throw usage_error(text, searched.empty() ? "titan plugins why" : searched,
                    did_you_mean(what, names) +
                        "put its .so file into a searched folder, or name it by its path; titan "
                        "plugins list shows all");
}

std::string why_text(const Catalog& catalog, const std::vector<CatalogEntry>& entries) {
  std::string text;
  for (const CatalogEntry& entry : entries) {
    text += (text.empty() ? "" : "\n") + entry_head(entry) + gates_text(entry.judged) +
            verdict_text(entry.judged);
    for (const std::string& warning : entry.judged.verdict.warnings)
      text += "  warning: " + warning + "\n";
    for (const auto& other : entry.candidate.same_file)
      text += "  same file: " + report_path(other) + "\n";
  }
  for (const DuplicateConverter& duplicate : catalog.duplicates()) {
    const bool concerns = std::any_of(
        entries.begin(), entries.end(),
        [&](const CatalogEntry& entry) { return entry.loadable() && entry.lists(duplicate.name); });
    if (concerns) text += conflict_text(duplicate);
  }
  return text;
}

std::string why_json(const Catalog& catalog, const std::vector<CatalogEntry>& entries) {
  const Catalog chosen({{}, catalog.searched(), catalog.notices()}, entries);
  ReportJson out = catalog_json(chosen);
  out["duplicates"] = catalog_json(catalog)["duplicates"];
  return dump_report(out);
}

size_t problem_count(const Catalog& catalog) {
  const auto& entries = catalog.entries();
  const auto refused = std::count_if(entries.begin(), entries.end(), [](const CatalogEntry& entry) {
    return entry.judged.verdict.outcome == Outcome::kRefused;
  });
  return static_cast<size_t>(refused) + catalog.duplicates().size() + catalog.notices().size();
}

std::string doctor_text(const Catalog& catalog, const HostFacts& facts) {
  Table head;
  for (const auto& [key, value] : facts) head.add_row({key, value});
  std::string text = head.render();
  for (const std::string& folder : catalog.searched()) text += "searched: " + folder + "\n";
  text += "\n";

  Table files({"FILE", "VERDICT", "STOPPED AT", "TIME", "OFFERS"});
  size_t counts[3] = {0, 0, 0};
  std::string rest;
  for (const CatalogEntry& entry : catalog.entries()) {
    const JudgedPlugin& judged = entry.judged;
    ++counts[static_cast<size_t>(judged.verdict.outcome)];
    const std::string offers = judged.description ? converter_list(*judged.description) : "";
    const bool stopped = !entry.loadable() && !judged.gates.empty();
    files.add_row({report_path(judged.path), outcome_name(judged.verdict.outcome),
                   stopped ? gate_name(judged.gates.back().gate) : "",
                   milliseconds(entry.microseconds), offers});
    if (judged.verdict.outcome == Outcome::kRefused)
      rest += "refused: " + report_path(judged.path) + " " + judged.verdict.reason_with_rule() +
              "\n  fix: " + judged.verdict.hint + "\n";
    else if (judged.verdict.outcome == Outcome::kSkipped)
      rest +=
          "skipped: " + report_path(judged.path) + " " + judged.verdict.reason_with_rule() + "\n";
    for (const std::string& warning : judged.verdict.warnings)
      rest += "warning: " + report_path(judged.path) + ": " + warning + "\n";
    for (const auto& other : entry.candidate.same_file)
      rest +=
          "note: " + report_path(other) + " is the same file as " + report_path(judged.path) + "\n";
  }
  text += files.rows() == 0 ? "no .so file was found\n" : files.render();
  for (const DuplicateConverter& duplicate : catalog.duplicates()) rest += conflict_text(duplicate);
  for (const SearchNotice& notice : catalog.notices())
    rest += "problem: " + notice.where + " " + notice.text + "\n  fix: " + notice.hint + "\n";
  if (!rest.empty()) text += "\n" + rest;
  text += "\n" + std::to_string(counts[0]) + " loadable, " + std::to_string(counts[1]) +
          " skipped, " + std::to_string(counts[2]) + " refused; " +
          std::to_string(problem_count(catalog)) + " problem(s)\n";
  return text;
}

std::string doctor_json(const Catalog& catalog, const HostFacts& facts) {
  ReportJson out{{"host", ReportJson::object()}};
  for (const auto& [key, value] : facts) out["host"][key] = value;
  const ReportJson rest = catalog_json(catalog);
  for (const auto& [key, value] : rest.items()) out[key] = value;
  out["problems"] = problem_count(catalog);
  return dump_report(out);
}

}  // namespace titan::plugins
