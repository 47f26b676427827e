/// Keeps run.json up to date while a run goes on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/log.h"
#include "observe/run_file.h"

namespace titan::observe {

/// Collects warnings from when it is made; writes run.json when the run begins, at each warning
/// after that, and at the end. The file is replaced as a whole each time. One at a time in a
/// process.
class RunKeeper {
 public:
  RunKeeper();
  ~RunKeeper();
  RunKeeper(const RunKeeper&) = delete;
  RunKeeper& operator=(const RunKeeper&) = delete;

  /// `steps_done`: the steps that this process goes on from; 0: the run begins, and what an earlier
  /// run left in `folder` is forgotten. Throws an environment error if the file cannot be written.
  void begin(const std::filesystem::path& folder, RunFile run, int64_t steps_done);
  /// The session is over: "completed", "stopped by SIGINT", "failed: ...". What was done is done,
  /// so a file that cannot be written is a warning.
  void end(int64_t last_step, std::string_view outcome) noexcept;

 private:
  void add_warning(std::string_view text) noexcept;
  void write();  ///< with lock_ held

  std::mutex lock_;
  std::filesystem::path path_;  ///< empty until the run begins
  RunFile run_;
  std::unique_ptr<LogCopy> copy_;  ///< null once the session is over
};

}  // namespace titan::observe
