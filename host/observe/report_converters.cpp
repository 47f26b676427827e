/// The part of the report about converters' metrics: hundreds of layers in a few charts.
#include <algorithm>
#include <cmath>
#include <utility>

#include "observe/chart.h"
#include "observe/markup.h"
#include "observe/report_sections.h"

namespace titan::observe {
namespace {

constexpr size_t kChartLayers = 6;   ///< lines in one chart
constexpr size_t kTableLayers = 12;  ///< rows below it
constexpr size_t kMostGroups = 24;
constexpr int64_t kSmallPoints = 40;

struct LayerSeries {
  std::string layer;  ///< "layers.0.attention.wq"; empty: of the converter as a whole
  const Series* series;
  SeriesFacts facts;
};

/// All layers of one metric of one instance.
using LayerGroup = std::vector<LayerSeries>;

/// "float8/layers.0.attention.wq.amax" → {"float8: amax", "layers.0.attention.wq"}
std::pair<std::string, std::string> group_and_layer(const std::string& name) {
  const size_t slash = name.find('/'), dot = name.rfind('.');
  const std::string instance = name.substr(0, slash);
  if (dot == std::string::npos || dot < slash)
    return {instance + ": " + name.substr(slash + 1), ""};
  return {instance + ": " + name.substr(dot + 1), name.substr(slash + 1, dot - slash - 1)};
}

std::map<std::string, LayerGroup> groups_of(const ReportRun& run) {
  std::map<std::string, LayerGroup> groups;
  for (const auto& [name, series] : run.log.series) {
    if (name.find('/') == std::string::npos || name.starts_with("validation_metrics/")) continue;
    auto [group, layer] = group_and_layer(name);
    groups[group].push_back({layer, &series, facts_of(series)});
  }
  // Layers that are not finite first, then the largest: what one looks for.
  for (auto& [name, group] : groups)
    std::stable_sort(group.begin(), group.end(), [](const LayerSeries& a, const LayerSeries& b) {
      const bool bad_a = !a.facts.nonfinite_steps.empty(), bad_b = !b.facts.nonfinite_steps.empty();
      return bad_a != bad_b ? bad_a : std::abs(a.facts.last.value) > std::abs(b.facts.last.value);
    });
  return groups;
}

/// The mean over the layers that report in each step; not finite where one of them is not.
Series mean_over_layers(const LayerGroup& group) {
  std::map<int64_t, std::pair<double, int64_t>> sums;
  for (const LayerSeries& layer : group)
    for (const SeriesPoint& point : *layer.series) {
      sums[point.step].first += point.value;
      ++sums[point.step].second;
    }
  Series mean;
  for (const auto& [step, sum] : sums)
    mean.push_back({step, sum.first / static_cast<double>(sum.second)});
  return mean;
}

std::string layers_table(const LayerGroup& group) {
  std::string html =
      "<table>\n<thead><tr><th scope=\"col\">layer</th><th scope=\"col\">first</th><th "
      "scope=\"col\">last</th>"
      "<th scope=\"col\">least</th><th scope=\"col\">largest</th><th scope=\"col\">not "
      "finite</th></tr></thead>\n<tbody>\n";
  for (size_t i = 0; i < group.size() && i < kTableLayers; ++i) {
    const LayerSeries& layer = group[i];
    html += "<tr><td>" + (i < kChartLayers ? line_key(i) : "") +
            escaped(layer.layer.empty() ? "(all)" : layer.layer) + "</td>";
    const SeriesFacts& facts = layer.facts;
    for (const SeriesPoint* point : {&facts.first, &facts.last, &facts.least, &facts.largest})
      html += "<td class=\"n\">" + (facts.finite > 0 ? escaped(short_number(point->value)) : "") +
              "</td>";
    const size_t bad = facts.nonfinite_steps.size();
    html += "<td class=\"n\">" + (bad > 0 ? std::to_string(bad) + " steps" : "") + "</td></tr>\n";
  }
  html += "</tbody>\n</table>\n";
  if (group.size() > kTableLayers)
    html += element("p", "and " + std::to_string(group.size() - kTableLayers) +
                             " layers with smaller values") +
            "\n";
  return html;
}

std::string group_of_one_run(const std::string& name, const LayerGroup& group) {
  Chart chart;
  chart.title = name;
  chart.unit = group.size() > kChartLayers ? std::to_string(kChartLayers) + " of " +
                                                 std::to_string(group.size()) + " layers"
                                           : "";
  chart.small = true;
  chart.log_if_wide = true;
  chart.most_points = kSmallPoints;
  for (size_t i = 0; i < group.size() && i < kChartLayers; ++i)
    chart.lines.push_back({group[i].layer, *group[i].series, 1, i});
  const std::string table = group.size() == 1 && group.front().layer.empty()
                                ? ""
                                : "<details>\n" + element("summary", "layers") + "\n" +
                                      layers_table(group) + "</details>\n";
  return "<div>\n" + chart_html(chart) + table + "</div>\n";
}

}  // namespace

std::string converter_metrics_section(const std::vector<ReportRun>& runs) {
  std::vector<std::map<std::string, LayerGroup>> of_runs;
  std::map<std::string, bool> names;
  for (const ReportRun& run : runs) {
    of_runs.push_back(groups_of(run));
    for (const auto& [name, group] : of_runs.back()) names[name] = true;
  }
  if (names.empty()) return "";
  std::string content, left_out;
  size_t count = 0;
  for (const auto& [name, unused] : names) {
    if (++count > kMostGroups) {
      left_out += (left_out.empty() ? "" : ", ") + name;
      continue;
    }
    if (runs.size() == 1) {
      content += group_of_one_run(name, of_runs.front().at(name));
      continue;
    }
    Chart chart;
    chart.title = name;
    chart.unit = "mean over layers";
    chart.small = chart.log_if_wide = true;
    chart.most_points = kSmallPoints;
    for (size_t i = 0; i < runs.size(); ++i)
      if (const auto group = of_runs[i].find(name); group != of_runs[i].end())
        chart.lines.push_back({runs[i].name, mean_over_layers(group->second), 1, i});
    content += "<div>\n" + chart_html(chart) + "</div>\n";
  }
  if (!left_out.empty()) left_out = element("p", "not drawn: " + left_out) + "\n";
  return "<section>\n<h2>Metrics of converters</h2>\n<div class=\"grid-of small\">\n" + content +
         "</div>\n" + left_out + "</section>\n";
}

}  // namespace titan::observe
