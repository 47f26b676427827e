/// Tensors in and out of safetensors files.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/atomic_file.h"
#include "checkpoint/safetensors_header.h"

namespace titan::checkpoint {

at::ScalarType to_torch(TensorType type);

/// One open file. Its data is mapped: only what is used is read, and tensors share the map, which
/// lives as long as any of them. Keep the file unchanged while it is in use.
class SafetensorsReader {
 public:
  /// Throws a data error if the file is missing, no regular file, or malformed.
  explicit SafetensorsReader(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<TensorEntry>& tensors() const { return header_.tensors; }  ///< by name
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  /// Null if there is no tensor of that name.
  const TensorEntry* find(std::string_view name) const;

  /// A contiguous CPU tensor over the map (a copy where the data is not aligned). Changing it in
  /// place does not change the file. Throws a data error if the name is not there.
  at::Tensor tensor(std::string_view name) const;

 private:
  std::filesystem::path path_;
  std::shared_ptr<char> map_;
  SafetensorsHeader header_;
};

/// A tensor of a file to write. `value` is called once, when its turn comes; what it gives must
/// have this type and shape.
struct TensorSource {
  std::string name;
  at::ScalarType type;
  std::vector<int64_t> shape;
  std::function<at::Tensor()> value;
};

/// Writes the tensors one after the other: at no time is more than one of them in memory.
FileSum write_safetensors(const std::filesystem::path& path,
                          const std::vector<TensorSource>& tensors,
                          const std::map<std::string, std::string>& metadata);

/// Writes the tensors, from any device, in a fixed order: wide types first, then by name. The same
/// tensors and metadata give the same bytes. The file is complete or not there (see AtomicFile).
/// Returns what was written.
FileSum write_safetensors(const std::filesystem::path& path,
                          const std::map<std::string, at::Tensor>& tensors,
                          const std::map<std::string, std::string>& metadata = {});

}  // namespace titan::checkpoint
