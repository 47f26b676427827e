#include "observe/run_keeper.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "checkpoint/atomic_file.h"

namespace titan::observe {
namespace {

constexpr size_t kMostWarnings = 100;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// What earlier sessions left; nothing that cannot be read is worth ending a run.
RunFile earlier_sessions(const std::filesystem::path& folder) {
  try {
    return read_run_file(folder).value_or(RunFile());
  } catch (const Error& error) {
    log_warning(error.where() + " cannot be read and is written anew: " + error.what());
    return {};
  }
}

}  // namespace

RunKeeper::RunKeeper()
    : copy_(std::make_unique<LogCopy>(
          LogLevel::kWarning, [this](LogLevel, std::string_view text) { add_warning(text); })) {}

RunKeeper::~RunKeeper() = default;

void RunKeeper::begin(const std::filesystem::path& folder, RunFile run, int64_t steps_done) {
  RunFile before = steps_done > 0 ? earlier_sessions(folder) : RunFile();
  const std::lock_guard guard(lock_);
  for (const std::string& warning : run_.warnings)
    if (std::find(before.warnings.begin(), before.warnings.end(), warning) == before.warnings.end())
      before.warnings.push_back(warning);
  before.more_warnings += run_.more_warnings;
  path_ = folder / kRunFileName;
  run_ = std::move(run);
  run_.sessions = std::move(before.sessions);
  run_.warnings = std::move(before.warnings);
  run_.more_warnings = before.more_warnings;
  run_.sessions.push_back({seconds_since_1970(), std::nullopt, steps_done + 1, steps_done, ""});
  write();
}

void RunKeeper::end(int64_t last_step, std::string_view outcome) noexcept {
  copy_.reset();
  try {
    const std::lock_guard guard(lock_);
    if (run_.sessions.empty()) return;  // it never began
    RunSession& session = run_.sessions.back();
    session.ended = seconds_since_1970();
    session.last_step = last_step;
    session.outcome = printable(outcome.substr(0, outcome.find('\n')), 500);
    write();
  } catch (const std::exception& error) {
    log_warning(path_.string() + " does not tell how the run ended: " + error.what());
  }
}

void RunKeeper::add_warning(std::string_view text) noexcept {
  try {
    const std::lock_guard guard(lock_);
    const std::string line = printable(text, 1000);
    if (std::find(run_.warnings.begin(), run_.warnings.end(), line) != run_.warnings.end()) return;
    if (run_.warnings.size() < kMostWarnings)
      run_.warnings.push_back(line);
    else
      ++run_.more_warnings;
    if (!path_.empty()) write();
  } catch (const std::exception&) {
    return;  // a warning must not end a run; that the file cannot be written is told at the end
  }
}

void RunKeeper::write() {
  const std::string text = format_run_file(run_);
  checkpoint::AtomicFile file(path_);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  file.commit();
}

}  // namespace titan::observe
