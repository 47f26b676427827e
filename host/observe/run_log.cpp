#include "observe/run_log.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"

namespace titan::observe {
namespace {

using LineJson = nlohmann::json;

/// A number, or one that JSON lacks as a string; nothing for anything else.
std::optional<double> number_in(const LineJson& value) {
  if (value.is_number()) return value.get<double>();
  if (!value.is_string()) return std::nullopt;
  const auto& text = value.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

std::string text_in(const LineJson& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

bool add_line(const std::string& text, RunLog& log) {
  const LineJson line = LineJson::parse(text, nullptr, false);
  if (!line.is_object()) return false;
  const auto step = line.find("step");
  if (step == line.end() || !step->is_number_integer()) return false;
  const auto number = step->get<int64_t>();
  if (const auto sample = line.find("sample"); sample != line.end() && sample->is_object()) {
    const auto time = line.find("time");
    log.samples.push_back({number, time != line.end() ? number_in(*time).value_or(0) : 0,
                           text_in(*sample, "name"), text_in(*sample, "prompt"),
                           text_in(*sample, "text")});
    return true;
  }
  for (const auto& [key, value] : line.items())
    if (const auto found = number_in(value); found && key != "step")
      log.series[key].push_back({number, *found});
  return true;
}

/// Files that were put together by hand may go back in steps.
void put_in_order(Series& series) {
  const auto earlier = [](const SeriesPoint& a, const SeriesPoint& b) { return a.step < b.step; };
  std::stable_sort(series.begin(), series.end(), earlier);
  Series once;
  for (const SeriesPoint& point : series)
    if (!once.empty() && once.back().step == point.step)
      once.back() = point;
    else
      once.push_back(point);
  series = std::move(once);
}

}  // namespace

RunLog read_run_log(const std::filesystem::path& metrics_file) {
  std::error_code error;
  std::ifstream file(metrics_file, std::ios::binary);
  if (!std::filesystem::is_regular_file(metrics_file, error) || !file)
    throw data_error("there is no metrics file " + metrics_file.string(), metrics_file.string(),
                     "name the dump folder of a run (job.dump_folder), or a metrics.jsonl");
  RunLog log;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    ++log.lines;
    if (!add_line(line, log)) ++log.bad_lines;
  }
  for (auto& [name, series] : log.series) put_in_order(series);
  return log;
}

}  // namespace titan::observe
