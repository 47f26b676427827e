/// Reads TensorBoard event files as far as titan writes them, checking every checksum.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace titan::test {

struct ReadEvent {
  double wall_time = 0;
  int64_t step = 0;
  std::string file_version;
  int64_t session_status = 0;
  std::map<std::string, float> scalars;
  std::map<std::string, std::string> texts;
};

/// All events of the bytes of a file. Throws std::runtime_error where a length, a checksum or a
/// field is not what the format says. A record that is cut at the end is left out.
std::vector<ReadEvent> read_events(const std::string& bytes);

}  // namespace titan::test
