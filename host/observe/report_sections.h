/// The sections of the report's page below the charts of a run; each is empty if there is nothing
/// to say.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "observe/report_page.h"

namespace titan::observe {

/// One chart and one table for each kind of metric of each converter: the layers with the largest
/// values of one run, or the mean over the layers of each of several runs.
std::string converter_metrics_section(const std::vector<ReportRun>& runs);

/// What is set, what differs between the runs, and, folded, every key.
std::string config_section(const std::vector<ReportRun>& runs,
                           const std::map<std::string, std::string>& defaults);

/// Converters in their order, with the plugin each comes from.
std::string converters_section(const std::vector<ReportRun>& runs);

/// Where and when each process of the runs ran.
std::string sessions_section(const std::vector<ReportRun>& runs);

/// Steps that were not finite or were skipped, warnings, lines that could not be read.
std::string problems_section(const std::vector<ReportRun>& runs);

/// What the model wrote last, by name of the sample.
std::string samples_section(const std::vector<ReportRun>& runs);

/// Time that the sessions took together, in seconds; 0: not known. A session that was killed lasted
/// until its last line.
double wall_seconds(const ReportRun& run);

/// `<svg>` with a short stroke in the style of line number `style`.
std::string line_key(size_t style);

}  // namespace titan::observe
