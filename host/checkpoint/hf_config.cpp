#include "checkpoint/hf_config.h"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/regular_file.h"

namespace titan::checkpoint {
namespace {

using Json = nlohmann::ordered_json;
using Scaling = model::RopeScaling;

constexpr int64_t kMostConfigBytes = int64_t{4} << 20;

Json parse_config(const std::string& text, const std::string& file) {
  // A config is three levels deep; a deeper one would only exhaust the stack of what walks it.
  constexpr int kMostDepth = 16;
  const auto watch = [&](int depth, Json::parse_event_t, Json&) {
    if (depth > kMostDepth)
      throw data_error("it is nested more than " + std::to_string(kMostDepth) + " levels deep",
                       file, "fetch config.json again, or name the folder of a Hugging Face model");
    return true;
  };
  Json config = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (!config.is_object())
    throw data_error("it is no JSON object", file,
                     "fetch config.json again, or name the folder of a Hugging Face model");
  return config;
}

Json read_config(const std::filesystem::path& path) {
  const RegularFile file =
      RegularFile::open(path, "Hugging Face config", "name a folder that holds a config.json");
  if (file.size() > kMostConfigBytes)
    throw data_error("it has " + std::to_string(file.size()) + " bytes, at most " +
                         std::to_string(kMostConfigBytes) + " are accepted",
                     path.string(), "name the config.json of a model");
  return parse_config(file.text(), path.string());
}

/// Typed access; every failure names the file and the key.
class ConfigReader {
 public:
  ConfigReader(const Json& json, std::string file, std::string prefix = "")
      : json_(json), file_(std::move(file)), prefix_(std::move(prefix)) {}

  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  /// The value as JSON, shortened, for messages; "absent".
  std::string found(const char* key) const {
    if (!json_.contains(key)) return "absent";
    return printable(
        json_.at(key).dump(-1, ' ', false, Json::error_handler_t::replace).substr(0, 80));
  }
  std::string place(const char* key) const { return file_ + ": " + prefix_ + key; }

  int64_t count(const char* key) const {
    if (!has(key)) throw wrong(key, "a positive whole number");
    return count(key, 0);
  }
  int64_t count(const char* key, int64_t absent) const {
    if (!has(key)) return absent;
    const Json& value = json_.at(key);
    if (!value.is_number_integer() || value.get<double>() < 1 ||
        value.get<double>() > std::numeric_limits<int32_t>::max())
      throw wrong(key, "a positive whole number");
    return value.get<int64_t>();
  }
  double number(const char* key) const {
    if (!has(key)) throw wrong(key, "a positive number");
    return number(key, 0);
  }
  double number(const char* key, double absent) const {
    if (!has(key)) return absent;
    const Json& value = json_.at(key);
    if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>()))
      throw wrong(key, "a positive number");
    return value.get<double>();
  }
  bool flag(const char* key) const {
    if (!has(key)) return false;
    if (!json_.at(key).is_boolean()) throw wrong(key, "true or false");
    return json_.at(key).get<bool>();
  }
  std::string text(const char* key, const char* absent) const {
    if (!has(key)) return absent;
    if (!json_.at(key).is_string()) throw wrong(key, "a string");
    return json_.at(key).get<std::string>();
  }
  /// The object under `key`; empty if it is absent.
  ConfigReader object(const char* key) const {
    static const Json none = Json::object();
    if (!has(key)) return {none, file_, prefix_};
    if (!json_.at(key).is_object()) throw wrong(key, "an object");
    return {json_.at(key), file_, prefix_ + key + "."};
  }
  bool nested() const {
    for (const auto& [key, value] : json_.items())
      if (value.is_object()) return true;
    return false;
  }

  Error wrong(const char* key, const std::string& needed) const {
    return data_error(std::string(key) + " is " + found(key) + ", needed is " + needed, place(key),
                      "fetch config.json again, or choose another model");
  }
  void refuse(const char* key, const std::string& why) const {
    throw data_error(std::string(key) + " is " + found(key) + ": " + why, place(key),
                     "choose a model without it");
  }

 private:
  const Json& json_;
  std::string file_;
  std::string prefix_;
};

void require_family(const ConfigReader& config, const Json& json, const model::TrainSpec& spec) {
  const model::HfFamily& family = *spec.hf;
  if (const std::string type = config.text("model_type", ""); type != family.model_type)
    throw data_error("model_type is " + config.found("model_type") + ", model.name is " +
                         spec.name + ", which is '" + family.model_type + "' there",
                     config.place("model_type"),
                     "set model.name to the family of the folder, or choose another folder");
  if (!config.has("architectures")) return;
  const Json& architectures = json.at("architectures");
  for (const Json& one : architectures)
    if (one == family.architecture) return;
  if (!architectures.empty())
    config.refuse("architectures", "only " + family.architecture + " is known");
}

/// Whatever would make the model compute something else than the family's decoder does here.
void refuse_variants(const ConfigReader& config, const Json& json) {
  for (const char* key : {"attention_bias", "mlp_bias"})
    if (config.flag(key)) config.refuse(key, "linear layers have no biases here");
  if (config.flag("use_sliding_window"))
    config.refuse("use_sliding_window", "attention reaches back to the first token");
  if (const std::string act = config.text("hidden_act", "silu"); act != "silu" && act != "swish")
    config.refuse("hidden_act", "the feed-forward part is gated by silu");
  for (const char* key : {"attention_dropout", "partial_rotary_factor"}) {
    const double neutral = std::string_view(key) == "attention_dropout" ? 0.0 : 1.0;
    if (config.has(key) && json.at(key) != neutral)
      config.refuse(key, "only " + std::to_string(static_cast<int>(neutral)) + " is known");
  }
  if (config.has("quantization_config"))
    config.refuse("quantization_config", "weights must be float32, float16 or bfloat16");
  if (config.has("layer_types"))
    for (const Json& type : json.at("layer_types"))
      if (type != "full_attention") config.refuse("layer_types", "every layer has full attention");
}

/// transformers 4 has rope_theta and rope_scaling, 5 has both in rope_parameters.
void read_rope(const ConfigReader& config, model::ModelArgs& args) {
  args.rope_theta = config.number("rope_theta", 10000.0);
  const char* key = config.has("rope_parameters") ? "rope_parameters" : "rope_scaling";
  const ConfigReader rope = config.object(key);
  if (rope.nested()) config.refuse(key, "all layers turn alike");
  args.rope_theta = rope.number("rope_theta", args.rope_theta);
  const std::string type = rope.text("rope_type", rope.text("type", "default").c_str());
  Scaling& scaling = args.rope_scaling;
  scaling = Scaling();
  if (type == "default") {
    scaling.kind = Scaling::Kind::kNone;
  } else if (type == "linear") {
    scaling.kind = Scaling::Kind::kLinear;
    scaling.factor = rope.number("factor");
  } else if (type == "llama3") {
    scaling.kind = Scaling::Kind::kLlama3;
    scaling.factor = rope.number("factor");
    scaling.low_freq_factor = rope.number("low_freq_factor");
    scaling.high_freq_factor = rope.number("high_freq_factor");
    scaling.original_max_position_embeddings = rope.count("original_max_position_embeddings");
  } else {
    throw data_error("rotary frequencies are scaled by '" + printable(type.substr(0, 80)) +
                         "'; known are default, linear and llama3",
                     rope.place("rope_type"), "choose a model with one of these");
  }
}

/// Both spellings, so that every version of transformers finds its own.
void write_rope(const model::ModelArgs& args, Json& config) {
  const Scaling& scaling = args.rope_scaling;
  Json rope = {{"rope_type", "default"}};
  if (scaling.kind == Scaling::Kind::kLinear) {
    rope = {{"rope_type", "linear"}, {"factor", scaling.factor}};
  } else if (scaling.kind == Scaling::Kind::kLlama3) {
    rope = {{"rope_type", "llama3"},
            {"factor", scaling.factor},
            {"low_freq_factor", scaling.low_freq_factor},
            {"high_freq_factor", scaling.high_freq_factor},
            {"original_max_position_embeddings", scaling.original_max_position_embeddings}};
  }
  config["rope_theta"] = args.rope_theta;
  config["rope_scaling"] = scaling.kind == Scaling::Kind::kNone ? Json() : rope;
  rope["rope_theta"] = args.rope_theta;
  config["rope_parameters"] = rope;
}

}  // namespace

std::string hf_model_type(const std::filesystem::path& file) {
  const Json json = read_config(file);
  return ConfigReader(json, file.string()).text("model_type", "");
}

model::ModelArgs read_hf_config(const std::filesystem::path& file, const model::TrainSpec& spec) {
  if (!spec.hf)
    throw usage_error("model " + spec.name + " has no Hugging Face form", "model.name",
                      "choose a family that has one");
  const Json json = read_config(file);
  const ConfigReader config(json, file.string());
  require_family(config, json, spec);
  refuse_variants(config, json);

  model::ModelArgs args;
  args.dim = config.count("hidden_size");
  args.n_layers = config.count("num_hidden_layers");
  args.n_heads = config.count("num_attention_heads");
  args.n_kv_heads = config.count("num_key_value_heads", args.n_heads);
  const int64_t head_dim = config.count("head_dim", spec.hf->default_head_dim);
  if (head_dim > 0 && (args.dim % args.n_heads != 0 || head_dim != args.dim / args.n_heads))
    args.given_head_dim = head_dim;
  args.vocab_size = config.count("vocab_size");
  args.given_hidden_dim = config.count("intermediate_size");
  args.norm_eps = config.number("rms_norm_eps", 1e-6);
  args.max_seq_len = config.count("max_position_embeddings", spec.hf->default_max_positions);
  args.qk_norm = spec.hf->qk_norm;
  args.enable_weight_tying = config.flag("tie_word_embeddings");
  read_rope(config, args);
  try {
    args.validate();
  } catch (const Error& error) {
    throw data_error(std::string("no model can be made of it: ") + error.what(), file.string(),
                     error.hint());
  }
  return args;
}

std::vector<int64_t> hf_end_ids(const std::filesystem::path& folder) {
  std::error_code error;
  for (const char* name : {"generation_config.json", kHfConfigFile}) {
    if (!std::filesystem::exists(folder / name, error)) continue;
    const Json config = read_config(folder / name);
    const auto found = config.find("eos_token_id");
    if (found == config.end()) continue;
    std::vector<int64_t> ids;
    for (const Json& id : found->is_array() ? *found : Json::array({*found}))
      if (id.is_number_integer()) ids.push_back(id.get<int64_t>());
    if (!ids.empty()) return ids;
  }
  return {};
}

std::string hf_config_text(const model::ModelArgs& args, const model::TrainSpec& spec,
                           const std::string& dtype, const std::string& base) {
  if (!spec.hf)
    throw usage_error("model " + spec.name + " has no Hugging Face form", "model.name",
                      "choose a family that has one");
  if (args.qk_norm != spec.hf->qk_norm)
    throw usage_error("model.args.qk_norm is " + std::string(args.qk_norm ? "true" : "false") +
                          ", " + spec.hf->architecture + " has " +
                          (spec.hf->qk_norm ? "norms" : "no norms") + " of q and k",
                      "model.args.qk_norm",
                      "such a model cannot be written in Hugging Face form as " + spec.name);
  Json config = base.empty() ? Json::object() : parse_config(base, "the config.json to go on from");
  config["architectures"] = {spec.hf->architecture};
  config["model_type"] = spec.hf->model_type;
  config["hidden_size"] = args.dim;
  config["num_hidden_layers"] = args.n_layers;
  config["num_attention_heads"] = args.n_heads;
  config["num_key_value_heads"] = args.kv_heads();
  config["head_dim"] = args.head_dim();
  config["intermediate_size"] = args.ffn_hidden_dim();
  config["vocab_size"] = args.vocab_size;
  config["max_position_embeddings"] = args.max_seq_len;
  config["rms_norm_eps"] = args.norm_eps;
  config["hidden_act"] = "silu";
  config["attention_bias"] = false;
  config["attention_dropout"] = 0.0;
  config["mlp_bias"] = false;
  config["tie_word_embeddings"] = args.enable_weight_tying;
  write_rope(args, config);
  config["torch_dtype"] = dtype;
  config["dtype"] = dtype;
  // A base of more layers would list too many.
  config.erase("layer_types");
  return config.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace titan::checkpoint
