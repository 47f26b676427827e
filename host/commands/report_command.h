/// titan report: the runs in folders as one HTML page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace titan::commands {

/// `runs`: dump folders, or metrics.jsonl files in them. `output`: the file to write; empty:
/// report.html in the folder of the first run; "-": standard output. Prints the path. Replaces no
/// file that is not a report.
void report(const std::vector<std::string>& runs, const std::string& output);

}  // namespace titan::commands
