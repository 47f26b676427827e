#include "checkpoint/weight_files.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/regular_file.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

constexpr int64_t kMaxIndexBytes = int64_t{100} << 20;

std::vector<fs::path> safetensors_files_of(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".safetensors") files.push_back(it->path());
  if (error)
    throw data_error("the folder '" + folder.string() + "' cannot be listed: " + error.message(),
                     folder.string(), "give this user read permission for the folder");
  std::sort(files.begin(), files.end());
  return files;
}

/// A folder of checkpoints, or of a run, was meant: its latest step.
std::string nearest_step(const fs::path& folder) {
  int64_t latest = -1;
  fs::path found;
  for (const fs::path& root : {folder, folder / "checkpoint"}) {
    std::error_code error;
    for (fs::directory_iterator it(root, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      int64_t step = -1;
      if (name.starts_with("step-"))
        std::from_chars(name.data() + 5, name.data() + name.size(), step);
      if (step <= latest) continue;
      latest = step;
      found = it->path();
    }
  }
  return latest < 0 ? "" : "did you mean '" + found.string() + "'? ";
}

/// Tensor name to file name, as the index has it.
std::map<std::string, std::string> read_index(const fs::path& path) {
  const auto wrong = [&](const std::string& what) {
    return data_error(what, path.string(),
                      "fetch or write the index again, or remove it: then every *.safetensors of "
                      "the folder is read");
  };
  const RegularFile file = RegularFile::open(path, "index of the weights", "check the folder");
  if (file.size() > kMaxIndexBytes)
    throw wrong("the index has " + std::to_string(file.size()) + " bytes, at most " +
                std::to_string(kMaxIndexBytes) + " are accepted");
  const std::string text = file.text();

  // An index is three levels deep; a deeper one would only fill memory. Names that occur twice
  // would be told apart by nobody.
  constexpr int kMostDepth = 4;
  std::set<std::string> names;
  bool in_map = false;
  const auto watch = [&](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (depth > kMostDepth)
      throw wrong("the index is nested more than " + std::to_string(kMostDepth) + " levels deep");
    if (event != Event::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (depth == 1) in_map = key == "weight_map";
    if (depth == 2 && in_map && !names.insert(key).second)
      throw wrong("the index names '" + shown_name(key) + "' twice");
    return true;
  };
  const nlohmann::json index = nlohmann::json::parse(text, watch, /*allow_exceptions=*/false);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    throw wrong("the index is no JSON object with a 'weight_map'");
  std::map<std::string, std::string> files;
  for (const auto& [name, value] : index["weight_map"].items()) {
    if (!value.is_string())
      throw wrong("the index gives no file name for '" + shown_name(name) + "'");
    const std::string file_name = value.get<std::string>();
    // Only names inside the folder: an index must not make titan open other files.
    if (file_name.empty() || file_name == ".." || file_name.find('/') != std::string::npos ||
        file_name.find('\0') != std::string::npos)
      throw wrong("the index places '" + shown_name(name) + "' in '" + shown_name(file_name) +
                  "', which is no file name");
    files[name] = file_name;
  }
  if (files.empty()) throw wrong("the index names no tensors");
  return files;
}

}  // namespace

WeightFiles::WeightFiles(const fs::path& file_or_folder) : path_(file_or_folder) {
  std::error_code error;
  if (!fs::is_directory(path_, error)) {
    add_all(path_);
  } else if (const fs::path index = path_ / "model.safetensors.index.json";
             fs::exists(fs::symlink_status(index, error))) {
    add_by_index(index);
  } else if (const fs::path whole = path_ / "model.safetensors";
             fs::exists(fs::symlink_status(whole, error))) {
    add_all(whole);  // the optimizer's state may lie beside it
  } else {
    const std::vector<fs::path> files = safetensors_files_of(path_);
    if (files.empty())
      throw data_error(
          "the folder '" + path_.string() + "' holds no *.safetensors file", path_.string(),
          nearest_step(path_) + "name a safetensors file or the folder that holds them");
    for (const fs::path& file : files) add_all(file);
  }
  for (const auto& [name, place] : places_) names_.push_back(name);
  if (names_.empty())
    throw data_error("'" + path_.string() + "' holds no tensors", path_.string(),
                     "name a safetensors file that holds the weights of a model");
}

const SafetensorsReader& WeightFiles::open(const fs::path& file) {
  readers_.push_back(std::make_unique<SafetensorsReader>(file));
  return *readers_.back();
}

void WeightFiles::add(const SafetensorsReader& reader, const TensorEntry& entry) {
  const auto [it, fresh] = places_.emplace(entry.name, Place{&reader, &entry});
  if (!fresh)
    throw data_error("the tensor '" + shown_name(entry.name) + "' is in two files, '" +
                         it->second.reader->path().filename().string() + "' and '" +
                         reader.path().filename().string() + "'",
                     path_.string(),
                     "keep the files of one model only in the folder, or name a single file");
}

void WeightFiles::add_all(const fs::path& file) {
  const SafetensorsReader& reader = open(file);
  for (const TensorEntry& entry : reader.tensors()) add(reader, entry);
}

void WeightFiles::add_by_index(const fs::path& index) {
  std::map<std::string, const SafetensorsReader*> opened;
  for (const auto& [name, file_name] : read_index(index)) {
    const SafetensorsReader*& reader = opened[file_name];
    if (!reader) reader = &open(path_ / file_name);
    const TensorEntry* entry = reader->find(name);
    if (!entry)
      throw data_error("the index places '" + shown_name(name) + "' in '" + file_name +
                           "', which does not hold it",
                       index.string(),
                       "fetch the files again, or remove the index: then every *.safetensors of "
                       "the folder is read");
    add(*reader, *entry);
  }
}

bool holds_weights(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->path().extension() == ".safetensors") return true;
  return false;
}

}  // namespace titan::checkpoint
