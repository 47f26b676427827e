/// What the C and C++ runtimes of this process offer, as symbol versions.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace titan::plugins {

/// Symbol versions defined by the libraries that this process has mapped, read from their files.
/// One object per scan: the answers are remembered.
class MachineVersions {
 public:
  struct Missing {
    std::string newest;  ///< the newest version of the same family here: "GLIBC_2.36"; may be empty
  };
  /// Nothing if `library` ("libc.so.6") has `version` ("GLIBC_2.34") or is not mapped, in which
  /// case only loading can tell.
  std::optional<Missing> missing(std::string_view library, std::string_view version);

 private:
  const std::set<std::string>& versions_of(std::string_view library);
  std::map<std::string, std::set<std::string>, std::less<>> known_;
};

}  // namespace titan::plugins
