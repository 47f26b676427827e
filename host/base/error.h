/// The one exception type of titan: says what happened, where, and how to fix it.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace titan {

/// Exit statuses of the program. They are documented in the README and never renumbered.
enum class ExitStatus : int {
  kDone = 0,
  kInternal = 1,     ///< a defect in titan itself
  kUsage = 2,        ///< command line, config, plugin refused, device unsupported
  kEnvironment = 3,  ///< something the machine lacks (a library, disk space, permissions)
  kData = 4,         ///< a dataset or checkpoint is missing, empty or malformed
  kDiverged = 5,     ///< the loss or the gradient norm is no longer finite
  kPlugin = 6,       ///< a plugin failed while running
};

/// Thrown for everything a user can cause and cure. Programmer errors use assertions instead.
///
/// `where` names the file, key, layer or plugin ("debug.yaml:12:3", "plugin 'float8' (/x/f.so)");
/// `hint` says how to fix it and is required to be non-empty for every status but kInternal.
class Error : public std::runtime_error {
 public:
  Error(ExitStatus status, std::string what, std::string where, std::string hint)
      : std::runtime_error(std::move(what)),
        status_(status),
        where_(std::move(where)),
        hint_(std::move(hint)) {}

  ExitStatus status() const { return status_; }
  const std::string& where() const { return where_; }
  const std::string& hint() const { return hint_; }

  /// "error: WHAT\n  at: WHERE\n  fix: HINT\n", leaving out the parts that are empty.
  std::string render() const;

 private:
  ExitStatus status_;
  std::string where_;
  std::string hint_;
};

/// Shorthands for the common kinds; each returns the error so that call sites read `throw
/// usage_error(...)`.
Error usage_error(std::string what, std::string where, std::string hint);
Error data_error(std::string what, std::string where, std::string hint);
Error environment_error(std::string what, std::string where, std::string hint);
Error plugin_error(std::string what, std::string where, std::string hint);
Error internal_error(std::string what, std::string where = {});

}  // namespace titan
