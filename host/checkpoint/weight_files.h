/// The tensors of a safetensors file, or of a folder of them, under one roof.
#pragma once

#include <ATen/core/TensorBody.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"

namespace titan::checkpoint {

/// Whether there is a folder with a *.safetensors in it.
bool holds_weights(const std::filesystem::path& folder);

/// A folder is read by its model.safetensors.index.json if it has one, which must agree with the
/// files; else model.safetensors is all that counts, so that a step of a run can be named as it is;
/// without that every *.safetensors does. Throws data errors.
class WeightFiles {
 public:
  explicit WeightFiles(const std::filesystem::path& file_or_folder);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<std::string>& names() const { return names_; }  ///< sorted
  bool has(const std::string& name) const { return places_.count(name) > 0; }
  const TensorEntry& entry(const std::string& name) const { return *places_.at(name).entry; }
  at::Tensor tensor(const std::string& name) const { return places_.at(name).reader->tensor(name); }

 private:
  struct Place {
    const SafetensorsReader* reader;
    const TensorEntry* entry;
  };
  const SafetensorsReader& open(const std::filesystem::path& file);
  void add(const SafetensorsReader& reader, const TensorEntry& entry);
  void add_all(const std::filesystem::path& file);
  void add_by_index(const std::filesystem::path& index);

  std::filesystem::path path_;
  std::vector<std::unique_ptr<SafetensorsReader>> readers_;
  std::map<std::string, Place> places_;
  std::vector<std::string> names_;
};

}  // namespace titan::checkpoint
