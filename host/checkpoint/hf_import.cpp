#include "checkpoint/hf_import.h"

#include <fstream>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/atomic_file.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/temporary_folder.h"
#include "checkpoint/weight_match.h"

namespace titan::checkpoint {
namespace fs = std::filesystem;

namespace {

constexpr const char* kConfigs[] = {"config.json", "generation_config.json"};
constexpr const char* kTokenizer[] = {"tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "merges.txt",
                                      "tokenizer.model",
                                      "chat_template.jinja",
                                      "chat_template.json"};

/// Links are followed, as folders of a download cache hold nothing else; so a file that is to be
/// JSON must be: a link to something private must not end in a folder that is given away.
void require_json(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !nlohmann::json::accept(file))
    throw data_error("it is no JSON, so it does not belong to the model", path.string(),
                     "remove it from the folder, or copy it from the model again");
}

/// False if there is no such file.
bool copy_if_there(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (!fs::is_regular_file(from, error)) {
    if (fs::exists(fs::symlink_status(from, error)))
      log_warning(
          from.string() +
          " is no file that can be copied (a broken link, a pipe, a folder): it is left out");
    return false;
  }
  if (from.extension() == ".json") require_json(from);
  fs::copy_file(from, to, error);
  if (error) throw cannot_write_file(to, error.value());
  return true;
}

}  // namespace

int64_t import_hf_weights(const fs::path& folder, const fs::path& file,
                          const model::TrainSpec& spec, const model::ModelArgs& args,
                          std::optional<at::ScalarType> dtype, const WeightProgress& progress) {
  const WeightFiles files(folder);
  const std::unique_ptr<model::HfNaming> naming = spec.hf_naming(args);
  const std::vector<MatchedWeight> weights = match_weights(files, spec, args, naming.get());
  const auto total = static_cast<int64_t>(weights.size());
  int64_t done = 0;
  std::vector<TensorSource> sources;
  for (const MatchedWeight& weight : weights) {
    const at::ScalarType type = dtype.value_or(to_torch(files.entry(weight.source).type));
    sources.push_back({weight.name, type, weight.shape, [&, type] {
                         progress(done++, total);
                         const at::Tensor value = cast_exactly_finite(
                             weight.source, files.tensor(weight.source), type, folder.string());
                         return naming->value_to_native(weight.name, value);
                       }});
  }
  write_safetensors(file, sources, {});
  return total;
}

CopiedAssets copy_hf_assets(const fs::path& from, const fs::path& to, bool configs,
                            bool tokenizer) {
  CopiedAssets copied;
  if (configs)
    for (const char* name : kConfigs) copied.configs += copy_if_there(from / name, to / name);
  if (tokenizer)
    for (const char* name : kTokenizer) copied.tokenizer += copy_if_there(from / name, to / name);
  return copied;
}

}  // namespace titan::checkpoint
