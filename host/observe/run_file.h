/// run.json in the dump folder: what a run is, where it ran and how it ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.h"

namespace titan::observe {

/// One process of a run; a run that was resumed has several.
struct RunSession {
  double began = 0;             ///< seconds since 1970
  std::optional<double> ended;  ///< absent: it was killed, or still runs
  int64_t first_step = 0;       ///< 1-based: the first that it was to do
  int64_t last_step = 0;        ///< the last that it did, as far as is known
  std::string outcome;  ///< "completed", "stopped by SIGINT", "failed: ..."; empty: did not end
};

struct RunFile {
  std::string made_by;  ///< "titan 0.1.0, LibTorch 2.11.0"
  std::map<std::string, std::string>
      config;  ///< "optimizer.lr" to "0.0008"; options of converters too
  std::vector<checkpoint::ConverterRecord> converters;  ///< in the order they were applied
  std::vector<std::string> notes;  ///< lines of the log about precision, recompute, converters, mfu
  int64_t parameters = 0;
  int64_t flops_per_token = 0;
  std::string device;  ///< name of the GPU or the CPU
  uint64_t device_memory_bytes = 0;
  std::string system;  ///< "Debian GNU/Linux 12 (bookworm), Linux 6.1.0 x86_64, glibc 2.36"
  int64_t processors = 0;
  std::vector<RunSession> sessions;
  std::vector<std::string> warnings;  ///< of all sessions, each text once
  int64_t more_warnings = 0;          ///< that are not in `warnings`, which has a limit
};

inline constexpr const char* kRunFileName = "run.json";

/// Text that parse_run_file() reads again.
std::string format_run_file(const RunFile& run);
/// What is missing stays empty; a data error naming `where` if the text is no JSON object.
RunFile parse_run_file(const std::string& text, const std::string& where);

/// Nothing if the folder has none. A data error if it is no run file.
std::optional<RunFile> read_run_file(const std::filesystem::path& folder);

}  // namespace titan::observe
