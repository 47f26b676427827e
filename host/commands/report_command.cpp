#include "commands/report_command.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "base/error.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/regular_file.h"
#include "checkpoint/atomic_file.h"
#include "config/fields.h"
#include "config/option_text.h"
#include "observe/report_page.h"

namespace titan::commands {
namespace {

namespace fs = std::filesystem;

fs::path metrics_file_of(const std::string& run) {
  std::error_code error;
  return fs::is_directory(run, error) ? fs::path(run) / "metrics.jsonl" : fs::path(run);
}

observe::ReportRun read_report_run(const std::string& run) {
  const fs::path metrics = metrics_file_of(run);
  observe::ReportRun out;
  out.name = run;
  while (out.name.size() > 1 && out.name.back() == '/') out.name.pop_back();
  out.log = observe::read_run_log(metrics);
  try {
    out.file = observe::read_run_file(metrics.parent_path());
  } catch (const Error& error) {
    log_warning(error.where() + ": " + error.what() + "; the report goes without it");
  }
  return out;
}

/// Keys of the config and their values unless set.
std::map<std::string, std::string> default_values() {
  std::map<std::string, std::string> values;
  const config::Config defaults;
  for (const config::Field& field : config::fields()) {
    const auto value = field.get(defaults);
    values[field.full_name()] = value ? config::to_yaml(*value) : "null";
  }
  return values;
}

void refuse_other_files(const fs::path& output) {
  if (!check_output_path(output, "titan report")) return;
  const RegularFile file = RegularFile::open(output, "output", "name another file with -o");
  std::string begin(static_cast<size_t>(std::min<int64_t>(file.size(), 512)), '\0');
  file.read(0, begin.data(), static_cast<int64_t>(begin.size()));
  if (begin.empty() || begin.find(observe::kReportMark) != std::string::npos) return;
  throw usage_error(output.string() + " is there and is no report of titan", "titan report",
                    "name another file with -o, or remove that one");
}

}  // namespace

void report(const std::vector<std::string>& runs, const std::string& output) {
  if (runs.empty())
    throw usage_error("no run was named", "titan report",
                      "titan report RUN [RUN ...] [-o FILE]; a RUN is the dump folder of a run");
  const bool to_file = output != "-";
  const fs::path path = output.empty() ? metrics_file_of(runs.front()).parent_path() / "report.html"
                                       : fs::path(output);
  if (to_file) refuse_other_files(path);
  std::vector<observe::ReportRun> read;
  for (const std::string& run : runs) read.push_back(read_report_run(run));
  const std::string page = observe::report_page(read, default_values());
  if (!to_file) {
    std::cout << page;
    return;
  }
  checkpoint::AtomicFile file(path);
  file.write(page.data(), static_cast<int64_t>(page.size()));
  refuse_other_files(path);  // once more: reading long runs takes a while
  file.commit();
  std::cout << path.string() << "\n";
}

}  // namespace titan::commands
