#include "observe/report_page.h"

#include <algorithm>
#include <cmath>

#include "base/numbers.h"
#include "base/text_list.h"
#include "observe/chart.h"
#include "observe/markup.h"
#include "observe/report_sections.h"

namespace titan::observe {
namespace {

constexpr const char* kPageStyle =
    ":root{color-scheme:light "
    "dark;--fg:#1c1c1c;--bg:#fff;--dim:#555;--faint:#e2e2e2;--bad:#c00000}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e6e6e6;--bg:#161616;--dim:#aaa;--faint:#333;--"
    "bad:#ff6b6b}}\n"
    "body{color:var(--fg);background:var(--bg);font:14px/1.45 system-ui,sans-serif;margin:0 "
    "auto;max-width:1180px;"
    "padding:16px}\n"
    "h1{font-size:22px;margin:0 0 8px}h2{font-size:17px;margin:28px 0 8px;border-bottom:1px solid "
    "var(--faint)}"
    "h3{font-size:14px;margin:16px 0 4px}\n"
    ".grid-of{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(440px,100%),1fr));gap:"
    "12px}"
    ".grid-of.small{grid-template-columns:repeat(auto-fit,minmax(min(320px,100%),1fr))}\n"
    "figure{margin:0}figcaption{font-weight:600;margin-left:8px}small{color:var(--dim);font-weight:"
    "400}\n"
    "table{border-collapse:collapse;margin:4px 0;display:block;overflow-x:auto}"
    "th,td{text-align:left;padding:2px 12px 2px 0;vertical-align:top;border-bottom:1px solid "
    "var(--faint);"
    "overflow-wrap:anywhere}th{color:var(--dim);font-weight:600}.n{text-align:right;font-variant-"
    "numeric:tabular-nums}\n"
    "pre{white-space:pre-wrap;margin:4px 0 12px;padding:8px;border:1px solid var(--faint)}"
    "summary{cursor:pointer;color:var(--dim)}.runs{list-style:none;padding:0;margin:0 0 8px}"
    ".runs svg,td "
    "svg{display:inline-block;width:34px;height:8px;vertical-align:middle;margin-right:6px}"
    ".problem{color:var(--bad)}\n";

struct MetricChart {
  const char* key;
  const char* title;
  const char* unit;
  double scale = 1;
  bool log_if_wide = false;
};

constexpr double kPerGiB = 1.0 / (1 << 30);
constexpr MetricChart kMetricCharts[] = {
    {"loss", "Loss", ""},
    {"validation_metrics/loss", "Validation loss", ""},
    {"grad_norm", "Gradient norm", "before clipping", 1, true},
    {"lr", "Learning rate", ""},
    {"tps", "Throughput", "tokens per second"},
    {"mfu", "Model FLOPs utilisation", "%"},
    {"memory_peak_bytes", "Peak memory", "GiB", kPerGiB},
    {"memory_active_bytes", "Active memory", "GiB", kPerGiB},
    {"step_seconds", "Time of a step", "s"},
    {"data_seconds", "Waiting for data", "s a step"},
};

const Series* series_of(const ReportRun& run, const std::string& key) {
  const auto found = run.log.series.find(key);
  return found == run.log.series.end() ? nullptr : &found->second;
}

std::optional<SeriesFacts> finite_facts(const ReportRun& run, const std::string& key) {
  const Series* series = series_of(run, key);
  if (!series) return std::nullopt;
  SeriesFacts facts = facts_of(*series);
  return facts.finite > 0 ? std::optional(std::move(facts)) : std::nullopt;
}

std::string charts_section(const std::vector<ReportRun>& runs) {
  std::string charts;
  for (const MetricChart& metric : kMetricCharts) {
    Chart chart;
    chart.title = metric.title;
    chart.unit = metric.unit;
    chart.log_if_wide = metric.log_if_wide;
    // Many runs share the room, in the picture and in the file.
    chart.most_points =
        std::max<int64_t>(240 / static_cast<int64_t>(std::max<size_t>(runs.size(), 1)), 40);
    for (size_t i = 0; i < runs.size(); ++i)
      if (const Series* series = series_of(runs[i], metric.key))
        chart.lines.push_back({runs.size() > 1 ? runs[i].name : "", *series, metric.scale, i});
    charts += chart_html(chart);
  }
  return charts.empty() ? ""
                        : "<section>\n<h2>Training</h2>\n<div class=\"grid-of\">\n" + charts +
                              "</div>\n</section>\n";
}

std::string loss_text(double value) { return fixed_point(value, 5); }

std::string outcome_text(const ReportRun& run) {
  if (!run.file || run.file->sessions.empty()) return "not recorded";
  const RunSession& last = run.file->sessions.back();
  return last.ended ? last.outcome : "did not end: it was killed, or still runs";
}

std::string steps_text(const ReportRun& run) {
  int64_t done = run.file && !run.file->sessions.empty() ? run.file->sessions.back().last_step : 0;
  if (const Series* loss = series_of(run, "loss")) done = std::max(done, loss->back().step);
  std::string text = with_commas(done);
  if (run.file)
    if (const auto wanted = run.file->config.find("training.steps");
        wanted != run.file->config.end())
      text += " of " + wanted->second;
  return text;
}

std::string converters_text(const ReportRun& run) {
  if (!run.file) return "not recorded";
  std::vector<std::string> names;
  for (const auto& record : run.file->converters)
    names.push_back(record.instance == record.converter
                        ? record.instance
                        : record.instance + " (" + record.converter + ")");
  return names.empty() ? "none" : joined(names);
}

std::string summary_section(const std::vector<ReportRun>& runs) {
  struct Fact {
    const char* name;
    std::string (*text)(const ReportRun&);
  };
  const Fact facts[] = {
      {"outcome", outcome_text},
      {"steps", steps_text},
      {"loss, first and last",
       [](const ReportRun& run) {
         const auto loss = finite_facts(run, "loss");
         return loss ? loss_text(loss->first.value) + ", " + loss_text(loss->last.value) : "";
       }},
      {"least validation loss",
       [](const ReportRun& run) {
         const auto loss = finite_facts(run, "validation_metrics/loss");
         return loss ? loss_text(loss->least.value) + " at step " + with_commas(loss->least.step)
                     : "";
       }},
      {"tokens seen",
       [](const ReportRun& run) {
         const auto tokens = finite_facts(run, "n_tokens_seen");
         return tokens ? with_commas(std::llround(tokens->last.value)) : "";
       }},
      {"tokens per second, median",
       [](const ReportRun& run) {
         const auto tps = finite_facts(run, "tps");
         return tps ? with_commas(std::llround(tps->median)) : "";
       }},
      {"mfu, median",
       [](const ReportRun& run) {
         const auto mfu = finite_facts(run, "mfu");
         return mfu ? fixed_point(mfu->median, 2) + " %" : "";
       }},
      {"largest memory",
       [](const ReportRun& run) {
         const auto memory = finite_facts(run, "memory_peak_bytes");
         return memory ? gib(static_cast<uint64_t>(memory->largest.value)) : "";
       }},
      {"wall time",
       [](const ReportRun& run) {
         const double seconds = wall_seconds(run);
         return seconds > 0 ? duration_text(seconds) : "";
       }},
      {"converters", converters_text},
      {"parameters",
       [](const ReportRun& run) {
         return run.file && run.file->parameters > 0 ? with_commas(run.file->parameters) : "";
       }},
      {"device", [](const ReportRun& run) { return run.file ? run.file->device : ""; }},
      {"made by", [](const ReportRun& run) { return run.file ? run.file->made_by : ""; }},
  };
  std::vector<std::string> head = {""};
  for (const ReportRun& run : runs) head.push_back(run.name);
  std::vector<std::vector<std::string>> rows;
  for (const Fact& fact : facts) {
    std::vector<std::string> row = {fact.name};
    for (const ReportRun& run : runs) row.push_back(fact.text(run));
    if (std::any_of(row.begin() + 1, row.end(),
                    [](const std::string& cell) { return !cell.empty(); }))
      rows.push_back(std::move(row));
  }
  return "<section>\n<h2>Summary</h2>\n" + html_table(head, rows) + "</section>\n";
}

std::string legend(const std::vector<ReportRun>& runs) {
  if (runs.size() < 2) return "";
  std::string list = "<ul class=\"runs\">\n";
  for (size_t i = 0; i < runs.size(); ++i)
    list += "<li>" + line_key(i) + escaped(runs[i].name) + "</li>\n";
  return list + "</ul>\n";
}

}  // namespace

std::string report_page(const std::vector<ReportRun>& runs,
                        const std::map<std::string, std::string>& defaults) {
  const std::string title =
      runs.size() == 1 ? runs.front().name : std::to_string(runs.size()) + " runs";
  return std::string(
             "<!DOCTYPE html>\n<html lang=\"en\" "
             "xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n") +
         kReportMark +
         "\n<meta charset=\"utf-8\"/>\n<meta name=\"viewport\" content=\"width=device-width\"/>\n" +
         element("title", "titan report: " + title) + "\n<style>\n" + kPageStyle + chart_style() +
         "</style>\n</head>\n<body>\n<main>\n" + element("h1", title) + "\n" + legend(runs) +
         summary_section(runs) + problems_section(runs) + charts_section(runs) +
         converter_metrics_section(runs) + samples_section(runs) + config_section(runs, defaults) +
         converters_section(runs) + sessions_section(runs) + "</main>\n</body>\n</html>\n";
}

}  // namespace titan::observe
