/// Reads metrics.jsonl back.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "observe/series.h"
#include "observe/step_metrics.h"

namespace titan::observe {

struct RunLog {
  /// "loss", "validation_metrics/loss", "<instance>/<fqn>.<name>", ... over the steps. A step that
  /// is there twice has its last value.
  std::map<std::string, Series> series;
  std::vector<TextSample> samples;
  int64_t lines = 0;      ///< that were read
  int64_t bad_lines = 0;  ///< cut, or none of titan's: left out
  bool reports_steps() const { return series.count("loss") > 0; }
};

/// Throws a data error naming the path if there is no such file.
RunLog read_run_log(const std::filesystem::path& metrics_file);

}  // namespace titan::observe
