/// state.json of a checkpoint: what it holds, where its run stood, and what made it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "checkpoint/atomic_file.h"
#include "data/loader.h"

namespace titan::checkpoint {

/// Where a run stands between two steps.
struct RunPosition {
  int64_t step = 0;           ///< steps done, skipped ones included
  int64_t tokens_seen = 0;    ///< input tokens of all steps
  int64_t schedule_step = 0;  ///< 0-based step of the learning rate schedule that comes next
  int64_t skipped_steps = 0;
  int64_t skipped_in_a_row = 0;
  bool operator==(const RunPosition&) const = default;
};

/// A converter that was applied, and the plugin it came from (empty: built in).
/// The checkpoint is whole, but of a titan that writes another format.
class OtherFormatError : public Error {
 public:
  using Error::Error;
};

struct ConverterRecord {
  std::string instance;
  std::string converter;
  std::string plugin;
  std::string version;
  std::string file;    ///< path of the .so
  std::string sha256;  ///< of that file
  bool operator==(const ConverterRecord&) const = default;

  /// "'ema' (plugin stats 1.0.0, /opt/plugins/stats.so, sha256 12ab34...)".
  std::string text() const;
};

struct Manifest {
  static constexpr int64_t kFormat = 1;

  bool model_only = false;  ///< weights alone: no run can resume from it
  RunPosition position;
  data::LoaderState loader;
  int64_t seed = 0;
  /// States of the random number generators by device ("cpu"), as hexadecimal digits.
  std::map<std::string, std::string> generators;
  /// What has to be equal for an exact resume: keys and options with their values as text.
  std::map<std::string, std::string> settings;
  std::vector<ConverterRecord> converters;
  std::string made_by;                   ///< "titan 0.1.0, LibTorch 2.11.0"
  std::map<std::string, FileSum> files;  ///< the other files of the folder
  bool operator==(const Manifest&) const = default;

  /// Who the stored tensor "<instance>/..." belongs to, as ConverterRecord::text() says it.
  std::string owner_of(const std::string& stored_name) const;
};

std::string format_manifest(const Manifest& manifest);

/// Throws a data error that names `where` if the text is anything but a manifest that this program
/// understands.
Manifest parse_manifest(std::string_view text, const std::string& where);

/// Reads state.json of the folder of one checkpoint.
Manifest read_manifest(const std::filesystem::path& folder);

/// Reads the whole file; a data error if it is not the one that was saved.
void verify_file(const std::filesystem::path& path, const FileSum& saved);

/// The manifest beside weights that are those of a checkpoint (its folder, or the model file in it)
/// after checking their file; nothing for any other weights.
std::optional<Manifest> verify_weights(const std::filesystem::path& file_or_folder);

inline constexpr const char* kManifestFile = "state.json";
inline constexpr const char* kModelFile = "model.safetensors";
inline constexpr const char* kOptimizerFile = "optimizer.safetensors";

}  // namespace titan::checkpoint
