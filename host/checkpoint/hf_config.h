/// config.json of a Hugging Face folder: the sizes of a model, read and written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "model/train_spec.h"

namespace titan::checkpoint {

inline constexpr const char* kHfConfigFile = "config.json";

/// The sizes that `file` (a config.json, of transformers 4 or 5) states for a model of the family
/// of `spec`. Throws a data error that names the file and the key if it is of another family, lacks
/// a size, or asks for something that the family is not built with here (biases, sliding windows,
/// other scalings of rotary frequencies, quantised weights).
model::ModelArgs read_hf_config(const std::filesystem::path& file, const model::TrainSpec& spec);

/// Its "model_type"; empty if it has none, and so is no config of a Hugging Face model.
std::string hf_model_type(const std::filesystem::path& file);

/// eos_token_id of the folder's generation_config.json, else of its config.json: one id or a list.
/// Empty if neither is there or has one; a data error if a file is no such config.
std::vector<int64_t> hf_end_ids(const std::filesystem::path& folder);

/// A config.json with these sizes, which read_hf_config() and transformers 4 and 5 read. `dtype` is
/// torch's name for the type of the weights. `base`: text of the config.json that the model began
/// from, whose other keys (token ids, limits of generation) are kept, or empty. Throws a usage
/// error that names the argument if the family has no such form (norms of q and k in a Llama, for
/// one).
std::string hf_config_text(const model::ModelArgs& args, const model::TrainSpec& spec,
                           const std::string& dtype, const std::string& base);

}  // namespace titan::checkpoint
