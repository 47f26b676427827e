/// `titan report`: one HTML page about one run or several.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "observe/run_file.h"
#include "observe/run_log.h"

namespace titan::observe {

struct ReportRun {
  std::string name;  ///< tells it from the others
  RunLog log;
  std::optional<RunFile> file;  ///< absent: the run left none
};

/// A page that needs nothing else: charts are inline SVG, there is no script and no address. It is
/// well-formed XML. `defaults`: keys of the config with the values they have unless set.
std::string report_page(const std::vector<ReportRun>& runs,
                        const std::map<std::string, std::string>& defaults);

/// Begins every page; tells one from other files.
inline constexpr const char* kReportMark = "<meta name=\"generator\" content=\"titan report\"/>";

}  // namespace titan::observe
