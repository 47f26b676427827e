#include "checkpoint/safetensors.h"

#include <ATen/Functions.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"
#include "base/suggest.h"

namespace titan::checkpoint {
namespace {

constexpr std::pair<TensorType, at::ScalarType> kTorchTypes[] = {
    {TensorType::kF64, at::kDouble},
    {TensorType::kF32, at::kFloat},
    {TensorType::kF16, at::kHalf},
    {TensorType::kBF16, at::kBFloat16},
    {TensorType::kI64, at::kLong},
    {TensorType::kI32, at::kInt},
    {TensorType::kI16, at::kShort},
    {TensorType::kI8, at::kChar},
    {TensorType::kU8, at::kByte},
    {TensorType::kBool, at::kBool},
    {TensorType::kF8E4M3, at::kFloat8_e4m3fn},
    {TensorType::kF8E5M2, at::kFloat8_e5m2}};

TensorType from_torch(const std::string& name, at::ScalarType type) {
  for (const auto& [ours, torchs] : kTorchTypes)
    if (torchs == type) return ours;
  throw internal_error("the tensor '" + name + "' has the type " + at::toString(type) +
                       ", which safetensors files cannot hold");
}

/// A bool that is neither 0 nor 1 is undefined behaviour in C++.
void check_truth_values(const char* data, const TensorEntry& entry, const std::string& file) {
  const int64_t size = entry.end - entry.begin;
  for (int64_t i = 0; i < size; ++i)
    if (static_cast<unsigned char>(data[i]) > 1)
      throw data_error("element " + std::to_string(i) + " of the BOOL tensor '" +
                           shown_name(entry.name) + "' is " +
                           std::to_string(static_cast<unsigned char>(data[i])) +
                           ", only 0 and 1 are allowed",
                       file, "the file is damaged: fetch or write it again");
}

}  // namespace

at::ScalarType to_torch(TensorType type) {
  for (const auto& [ours, torchs] : kTorchTypes)
    if (ours == type) return torchs;
  throw internal_error("a tensor type without a torch type");
}

SafetensorsReader::SafetensorsReader(const std::filesystem::path& path) : path_(path) {
  const RegularFile file =
      RegularFile::open(path, "safetensors file", "check the path of the checkpoint");
  map_ = file.map();
  header_ = parse_safetensors_header({map_.get(), static_cast<size_t>(file.size())}, path.string());
}

const TensorEntry* SafetensorsReader::find(std::string_view name) const {
  const auto it = std::lower_bound(
      header_.tensors.begin(), header_.tensors.end(), name,
      [](const TensorEntry& entry, std::string_view wanted) { return entry.name < wanted; });
  return it != header_.tensors.end() && it->name == name ? &*it : nullptr;
}

at::Tensor SafetensorsReader::tensor(std::string_view name) const {
  const TensorEntry* entry = find(name);
  if (!entry) {
    std::vector<std::string> names;
    for (const TensorEntry& other : header_.tensors) names.push_back(other.name);
    throw data_error(
        "there is no tensor '" + shown_name(name) + "' in the file", path_.string(),
        did_you_mean(name, names) + "the file holds " + std::to_string(names.size()) + " tensors");
  }
  char* data = map_.get() + entry->begin;
  if (entry->type == TensorType::kBool) check_truth_values(data, *entry, path_.string());
  const at::TensorOptions options = at::TensorOptions().dtype(to_torch(entry->type));
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(type_bytes(entry->type)) == 0)
    return at::from_blob(
        data, entry->shape, [map = map_](void*) {}, options);
  at::Tensor copy = at::empty(entry->shape, options);
  std::memcpy(copy.mutable_data_ptr(), data, static_cast<size_t>(entry->end - entry->begin));
  return copy;
}

FileSum write_safetensors(const std::filesystem::path& path,
                          const std::map<std::string, at::Tensor>& tensors,
                          const std::map<std::string, std::string>& metadata) {
  std::vector<TensorSource> sources;
  for (const auto& [name, tensor] : tensors)
    sources.push_back(
        {name, tensor.scalar_type(), tensor.sizes().vec(), [&tensor] { return tensor; }});
  return write_safetensors(path, sources, metadata);
}

FileSum write_safetensors(const std::filesystem::path& path,
                          const std::vector<TensorSource>& tensors,
                          const std::map<std::string, std::string>& metadata) {
  std::vector<TensorEntry> entries;
  std::map<std::string_view, const TensorSource*> sources;
  for (const TensorSource& tensor : tensors) {
    entries.push_back({tensor.name, from_torch(tensor.name, tensor.type), tensor.shape, 0, 0});
    sources[tensor.name] = &tensor;
  }
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    const int64_t wide = type_bytes(a.type), other = type_bytes(b.type);
    return wide != other ? wide > other : a.name < b.name;
  });

  AtomicFile file(path);
  const std::string header = format_safetensors_header(entries, metadata);
  file.write(header.data(), static_cast<int64_t>(header.size()));
  for (const TensorEntry& entry : entries) {
    const at::Tensor tensor = sources.at(entry.name)->value().detach().to(at::kCPU).contiguous();
    if (from_torch(entry.name, tensor.scalar_type()) != entry.type || tensor.sizes() != entry.shape)
      throw internal_error("the tensor '" + entry.name +
                           "' is not of the type and shape that were announced");
    file.write(tensor.const_data_ptr(), entry.end - entry.begin);
  }
  file.commit();
  return file.sum();
}

}  // namespace titan::checkpoint
