#include "base/error.h"

#include <utility>

#include "base/printable.h"

namespace titan {

std::string Error::render() const {
  // Names in files, options and plugins end up in messages; none may steer the terminal.
  constexpr size_t kMostBytes = 16384;
  std::string text = "error: " + printable(what(), kMostBytes) + '\n';
  if (!where_.empty()) text += "  at: " + printable(where_) + '\n';
  if (!hint_.empty()) text += "  fix: " + printable(hint_) + '\n';
  return text;
}

Error usage_error(std::string what, std::string where, std::string hint) {
  return Error(ExitStatus::kUsage, std::move(what), std::move(where), std::move(hint));
}

Error data_error(std::string what, std::string where, std::string hint) {
  return Error(ExitStatus::kData, std::move(what), std::move(where), std::move(hint));
}

Error environment_error(std::string what, std::string where, std::string hint) {
  return Error(ExitStatus::kEnvironment, std::move(what), std::move(where), std::move(hint));
}

Error plugin_error(std::string what, std::string where, std::string hint) {
  return Error(ExitStatus::kPlugin, std::move(what), std::move(where), std::move(hint));
}

Error internal_error(std::string what, std::string where) {
  return Error(ExitStatus::kInternal, std::move(what), std::move(where),
               "this is a defect in titan; please report it with the command line");
}

}  // namespace titan
