/// What a run is, as far as an exact resume depends on it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"
#include "config/config.h"
#include "config/option_schema.h"

namespace titan::train {

struct RunRecord {
  /// "optimizer.lr" to "0.0008", "float8.recipe" to "rowwise", ...
  std::map<std::string, std::string> settings;
  std::vector<checkpoint::ConverterRecord> converters;  ///< in the order of model.converters
};

/// `plugins`: where each converter comes from, by its name; what is absent is built in.
RunRecord make_run_record(const config::Config& config,
                          const std::vector<config::ConverterRequest>& requests,
                          const std::map<std::string, checkpoint::ConverterRecord>& plugins,
                          bool cuda);

/// One line for each difference: "optimizer.lr was 0.0008, is 0.0004".
std::vector<std::string> differences(const checkpoint::Manifest& then, const RunRecord& now);

}  // namespace titan::train
