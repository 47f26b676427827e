#include "observe/report_sections.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <set>

#include "base/numbers.h"
#include "base/text_list.h"
#include "observe/markup.h"

namespace titan::observe {
namespace {

using TableRows = std::vector<std::vector<std::string>>;

std::string section_of(const std::string& title, const std::string& content) {
  return content.empty() ? ""
                         : "<section>\n" + element("h2", title) + "\n" + content + "</section>\n";
}

/// "2026-01-31 12:00:00" in local time.
std::string local_time(double unix_time) {
  const auto seconds = static_cast<std::time_t>(unix_time);
  std::tm local{};
  localtime_r(&seconds, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &local);
  return text.data();
}

std::string value_of(const ReportRun& run, const std::string& key) {
  if (!run.file) return "not recorded";
  const auto found = run.file->config.find(key);
  return found == run.file->config.end() ? "not set" : found->second;
}

std::vector<std::string> head_with_runs(const std::string& first,
                                        const std::vector<ReportRun>& runs) {
  std::vector<std::string> head = {first};
  if (runs.size() == 1)
    head.push_back("value");
  else
    for (const ReportRun& run : runs) head.push_back(run.name);
  return head;
}

std::string first_steps(const std::vector<int64_t>& steps) {
  constexpr size_t kShown = 12;
  std::vector<std::string> texts;
  for (size_t i = 0; i < steps.size() && i < kShown; ++i) texts.push_back(std::to_string(steps[i]));
  return joined(texts) +
         (steps.size() > kShown ? " and " + std::to_string(steps.size() - kShown) + " more" : "");
}

/// The end of a session, or of what is known of it.
std::optional<double> end_of(const RunSession& session, const ReportRun& run, bool is_last) {
  if (session.ended) return session.ended;
  const auto times = run.log.series.find("time");
  if (!is_last || times == run.log.series.end()) return std::nullopt;
  const double last = times->second.back().value;
  return last >= session.began ? std::optional(last) : std::nullopt;
}

std::string item(const std::string& text, bool bad) {
  return std::string(bad ? "<li class=\"problem\">" : "<li>") + escaped(text) + "</li>\n";
}

std::string problems_of_run(const ReportRun& run) {
  std::string items;
  const auto& series = run.log.series;
  std::set<int64_t> bad;
  for (const char* key : {"loss", "grad_norm", "validation_metrics/loss"})
    if (const auto found = series.find(key); found != series.end())
      for (const int64_t step : facts_of(found->second).nonfinite_steps) bad.insert(step);
  if (!bad.empty())
    items +=
        item("not finite in the reported steps " + first_steps({bad.begin(), bad.end()}), true);
  if (const auto skipped = series.find("skipped_steps"); skipped != series.end())
    items += item(
        "steps skipped because they were not finite: " + short_number(skipped->second.back().value),
        true);
  if (const auto ooms = series.find("num_ooms");
      ooms != series.end() && facts_of(ooms->second).largest.value > 0)
    items += item("allocations on the device that failed: " +
                      short_number(facts_of(ooms->second).largest.value),
                  true);
  if (run.log.bad_lines > 0)
    items += item(std::to_string(run.log.bad_lines) + " of " + std::to_string(run.log.lines) +
                      " lines of the metrics are cut or no metrics, and left out",
                  true);
  if (!run.log.reports_steps()) items += item("the metrics hold no training step", true);
  if (!run.file) {
    items += item("the folder has no run.json: config, plugins and system are not recorded", true);
    return items;
  }
  if (!run.file->sessions.empty() && run.file->sessions.back().outcome.starts_with("failed"))
    items += item(run.file->sessions.back().outcome, true);
  for (const std::string& warning : run.file->warnings) items += item("warning: " + warning, false);
  if (run.file->more_warnings > 0)
    items += item("and " + std::to_string(run.file->more_warnings) + " more warnings", false);
  return items;
}

}  // namespace

double wall_seconds(const ReportRun& run) {
  if (!run.file || run.file->sessions.empty()) {
    const auto times = run.log.series.find("time");
    return times == run.log.series.end() ? 0
                                         : times->second.back().value - times->second.front().value;
  }
  double sum = 0;
  const auto& sessions = run.file->sessions;
  for (size_t i = 0; i < sessions.size(); ++i)
    if (const auto end = end_of(sessions[i], run, i + 1 == sessions.size()))
      sum += *end - sessions[i].began;
  return sum;
}

std::string line_key(size_t style) {
  return "<svg viewBox=\"0 0 34 8\" aria-hidden=\"true\" "
         "xmlns=\"http://www.w3.org/2000/svg\"><path class=\"key s" +
         std::to_string(style % 8) + "\" d=\"M1 4H33\"/></svg>";
}

std::string problems_section(const std::vector<ReportRun>& runs) {
  std::string content;
  for (const ReportRun& run : runs) {
    const std::string items = problems_of_run(run);
    if (items.empty()) continue;
    if (runs.size() > 1) content += element("h3", run.name) + "\n";
    content += "<ul>\n" + items + "</ul>\n";
  }
  return section_of("To look at", content);
}

std::string samples_section(const std::vector<ReportRun>& runs) {
  std::string content;
  for (const ReportRun& run : runs) {
    std::map<std::string, const TextSample*> latest;
    for (const TextSample& sample : run.log.samples) latest[sample.name] = &sample;
    for (const auto& [name, sample] : latest) {
      content += element("h3", (runs.size() > 1 ? run.name + ", " : "") + name + ", step " +
                                   with_commas(sample->step));
      content += "\n<pre>" + (sample->prompt.empty() ? "" : element("b", sample->prompt)) +
                 escaped(sample->text) + "</pre>\n";
    }
  }
  return section_of("Samples", content);
}

std::string config_section(const std::vector<ReportRun>& runs,
                           const std::map<std::string, std::string>& defaults) {
  if (std::none_of(runs.begin(), runs.end(),
                   [](const ReportRun& run) { return run.file.has_value(); }))
    return "";
  std::set<std::string> keys;
  for (const ReportRun& run : runs)
    if (run.file)
      for (const auto& [key, value] : run.file->config) keys.insert(key);
  TableRows different, set, all;
  for (const std::string& key : keys) {
    std::vector<std::string> row = {key};
    std::set<std::string> values;
    for (const ReportRun& run : runs) {
      row.push_back(value_of(run, key));
      if (run.file) values.insert(row.back());
    }
    const auto usual = defaults.find(key);
    if (values.size() > 1)
      different.push_back(row);
    else if (usual == defaults.end() || *values.begin() != usual->second)
      set.push_back({key, *values.begin()});
    all.push_back(std::move(row));
  }
  std::string content;
  if (!different.empty())
    content +=
        element("h3", "What differs") + "\n" + html_table(head_with_runs("key", runs), different);
  if (!set.empty())
    content += element("h3", "What is set") + "\n" + html_table({"key", "value"}, set);
  content += "<details>\n" + element("summary", "every key") + "\n" +
             html_table(head_with_runs("key", runs), all) + "</details>\n";
  return section_of("Config", content);
}

std::string converters_section(const std::vector<ReportRun>& runs) {
  TableRows rows;
  for (const ReportRun& run : runs)
    if (run.file)
      for (const auto& record : run.file->converters)
        rows.push_back({run.name, record.instance, record.converter,
                        record.plugin.empty() ? "built in" : record.plugin, record.version,
                        record.sha256});
  if (rows.empty()) return "";
  return section_of("Converters and plugins", html_table({"run", "instance", "converter", "plugin",
                                                          "version", "sha256 of the file"},
                                                         rows));
}

std::string sessions_section(const std::vector<ReportRun>& runs) {
  TableRows sessions, systems;
  std::string notes;
  for (const ReportRun& run : runs) {
    if (!run.file) continue;
    const auto& of_run = run.file->sessions;
    for (size_t i = 0; i < of_run.size(); ++i) {
      const auto end = end_of(of_run[i], run, i + 1 == of_run.size());
      // What is known of a session that did not end is in the metrics.
      int64_t last = of_run[i].last_step;
      if (const auto loss = run.log.series.find("loss");
          !of_run[i].ended && i + 1 == of_run.size() && loss != run.log.series.end())
        last = std::max(last, loss->second.back().step);
      sessions.push_back({run.name, local_time(of_run[i].began),
                          end ? duration_text(*end - of_run[i].began) : "not known",
                          last < of_run[i].first_step ? "none"
                                                      : std::to_string(of_run[i].first_step) +
                                                            " to " + std::to_string(last),
                          of_run[i].ended ? of_run[i].outcome : "did not end"});
    }
    systems.push_back({run.name, run.file->device, gib(run.file->device_memory_bytes),
                       std::to_string(run.file->processors), run.file->system, run.file->made_by});
    std::string lines;
    for (const std::string& note : run.file->notes) lines += escaped(note) + "\n";
    if (!lines.empty())
      notes +=
          (runs.size() > 1 ? element("h3", run.name) + "\n" : "") + "<pre>" + lines + "</pre>\n";
  }
  if (sessions.empty()) return "";
  return section_of(
      "System and time",
      html_table({"run", "began", "took", "steps", "ended"}, sessions) +
          html_table({"run", "device", "memory", "processors", "system", "made by"}, systems) +
          notes);
}

}  // namespace titan::observe
