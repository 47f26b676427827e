#include "checkpoint/hf_export.h"

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <utility>

#include <c10/util/accumulate.h>

#include "base/error.h"
#include "base/regular_file.h"
#include "base/text_list.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/lora_merge.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/temporary_folder.h"
#include "checkpoint/weight_match.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

/// torch's names, as config.json has them.
std::string dtype_name(at::ScalarType type) {
  return type == at::kFloat ? "float32" : type == at::kHalf ? "float16" : "bfloat16";
}

std::string instance_of(const std::string& added) { return added.substr(0, added.find('/')); }

/// Removes what the user leaves out; refuses what is left and cannot be expressed.
void settle_added_state(AddedState& state, const HfExport& request) {
  std::set<std::string> present, left_out(request.leave_out.begin(), request.leave_out.end());
  for (const auto& [weight, adapters] : state.adapters)
    for (const LowRankAdapter& adapter : adapters) present.insert(adapter.instance);
  for (const std::string& name : state.others) present.insert(instance_of(name));
  for (const std::string& instance : left_out)
    if (!present.count(instance))
      throw usage_error(
          "no converter '" + instance + "' has state in these weights" +
              (present.empty() ? ""
                               : "; there is state of " + joined({present.begin(), present.end()})),
          "--leave-out", "name an instance that has, or leave the option out");
  for (auto& [weight, adapters] : state.adapters)
    std::erase_if(adapters, [&](const LowRankAdapter& adapter) {
      return left_out.count(adapter.instance) > 0;
    });
  std::erase_if(state.adapters, [](const auto& entry) { return entry.second.empty(); });
  std::erase_if(state.others,
                [&](const std::string& name) { return left_out.count(instance_of(name)) > 0; });

  const auto refuse = [&](const std::vector<std::string>& names, const std::string& hint) {
    constexpr size_t kShown = 5;
    std::string text = "converters added state that the Hugging Face form does not have (" +
                       std::to_string(names.size()) + "):";
    for (size_t i = 0; i < names.size() && i < kShown; ++i) text += "\n    " + shown_name(names[i]);
    if (names.size() > kShown)
      text += "\n    and " + std::to_string(names.size() - kShown) + " more";
    throw usage_error(text, request.weights.string(), hint);
  };
  const auto leave = [](const std::string& name) {
    return "--leave-out=" + instance_of(name) + " exports without it";
  };
  if (!state.others.empty()) refuse(state.others, leave(state.others.front()));
  if (state.adapters.empty() || request.merge_lora) return;
  std::vector<std::string> names;
  for (const auto& [weight, adapters] : state.adapters)
    for (const LowRankAdapter& adapter : adapters)
      names.insert(names.end(), {adapter.a, adapter.b});
  refuse(names, "--merge-lora adds the adapters to the weights; " + leave(names.front()));
}

/// The tensors of one file, by Hugging Face name.
struct Shard {
  std::vector<TensorSource> tensors;
  int64_t bytes = 0;
};

int64_t bytes_of(const TensorSource& tensor) {
  return c10::multiply_integers(tensor.shape) * static_cast<int64_t>(c10::elementSize(tensor.type));
}

/// In the order of the model; a tensor that is larger than a shard has one of its own.
std::vector<Shard> cut_into_shards(std::vector<TensorSource> tensors, int64_t most_bytes) {
  std::vector<Shard> shards(1);
  for (TensorSource& tensor : tensors) {
    const int64_t bytes = bytes_of(tensor);
    if (!shards.back().tensors.empty() && shards.back().bytes + bytes > most_bytes)
      shards.emplace_back();
    shards.back().bytes += bytes;
    shards.back().tensors.push_back(std::move(tensor));
  }
  return shards;
}

std::string shard_name(size_t index, size_t count) {
  if (count == 1) return "model.safetensors";
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "model-%05zu-of-%05zu.safetensors", index + 1, count);
  return text.data();
}

void write_shards(const fs::path& folder, const std::vector<Shard>& shards) {
  nlohmann::json places = nlohmann::json::object();
  int64_t bytes = 0;
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string name = shard_name(i, shards.size());
    // transformers refuses files that do not say which framework's layout they have.
    write_safetensors(folder / name, shards[i].tensors, {{"format", "pt"}});
    for (const TensorSource& tensor : shards[i].tensors) places[tensor.name] = name;
    bytes += shards[i].bytes;
  }
  if (shards.size() == 1) return;
  const nlohmann::json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", places}};
  write_text(folder / "model.safetensors.index.json", index.dump(2) + "\n");
}

std::string text_of(const fs::path& path) {
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return {};
  const RegularFile file =
      RegularFile::open(path, "Hugging Face config", "name a folder that holds a config.json");
  return file.text();
}

void require_stock_weights(const WeightFiles& files) {
  for (const std::string& name : files.names())
    if (name.find('/') == std::string::npos) return;
  throw data_error(
      "the file holds only what converters added (checkpoint.adapter_only), not the weights that "
      "it belongs to",
      files.path().string(),
      "train one step from both (checkpoint.initial_load_path, checkpoint.adapter_load_path; "
      "optimizer.lr=0 keeps the values), and export that step");
}

}  // namespace

HfExportReport export_hf(const HfExport& request, const model::TrainSpec& spec,
                         const fs::path& output, const WeightProgress& progress) {
  const std::string config =
      hf_config_text(request.args, spec, dtype_name(request.dtype),
                     text_of(request.assets.empty() ? fs::path() : request.assets / kHfConfigFile));
  const WeightFiles files(request.weights);
  require_stock_weights(files);
  AddedState added = added_state(files, request.settings);
  settle_added_state(added, request);
  const std::vector<MatchedWeight> weights = match_weights(files, spec, request.args, nullptr);
  const std::unique_ptr<model::HfNaming> naming = spec.hf_naming(request.args);

  HfExportReport report;
  std::vector<TensorSource> tensors;
  const auto total = static_cast<int64_t>(weights.size());
  for (const MatchedWeight& weight : weights) {
    const auto adapters = added.adapters.find(weight.name);
    const bool merges = adapters != added.adapters.end();
    const auto name = naming->to_hf(weight.name);
    if (!name) throw internal_error("'" + weight.name + "' has no Hugging Face name");
    report.merged += merges;
    tensors.push_back({*name, request.dtype, weight.shape, [&, merges, adapters] {
                         progress(report.tensors++, total);
                         const at::Tensor stored = files.tensor(weight.source);
                         const at::Tensor value =
                             merges ? merged_weight(stored, adapters->second, files) : stored;
                         return naming->value_to_hf(
                             weight.name, cast_exactly_finite(weight.name, value, request.dtype,
                                                              request.weights.string()));
                       }});
  }

  NewFolder folder(output);
  const std::vector<Shard> shards = cut_into_shards(std::move(tensors), request.max_shard_bytes);
  write_shards(folder.path(), shards);
  if (!request.assets.empty())
    report.copied = copy_hf_assets(request.assets, folder.path(), true, request.tokenizer.empty());
  if (!request.tokenizer.empty())
    report.copied.tokenizer =
        copy_hf_assets(request.tokenizer, folder.path(), false, true).tokenizer;
  write_text(folder.path() / kHfConfigFile, config);
  folder.publish();
  report.files = static_cast<int64_t>(shards.size());
  for (const Shard& shard : shards) report.bytes += shard.bytes;
  return report;
}

}  // namespace titan::checkpoint
