/// Reads golden folders: JSON, safetensors, tokens. Every size and rate comes from their files.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "model/model_args.h"

namespace titan::test {

/// One folder below tests/golden, or below TITAN_GOLDEN_DIR if that is set.
class GoldenFolder {
 public:
  explicit GoldenFolder(const std::string& name) {
    const char* other = std::getenv("TITAN_GOLDEN_DIR");
    path_ =
        std::filesystem::path(other && *other ? other : TITAN_SOURCE_DIR "/tests/golden") / name;
  }

  const std::filesystem::path& path() const { return path_; }

  std::string bytes(const std::string& file) const {
    std::ifstream in(path_ / file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + (path_ / file).string());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  nlohmann::json json(const std::string& file) const { return nlohmann::json::parse(bytes(file)); }

  /// One value a line.
  std::vector<nlohmann::json> json_lines(const std::string& file) const {
    std::ifstream in(path_ / file);
    if (!in) throw std::runtime_error("cannot read " + (path_ / file).string());
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }

  /// All tensors of a safetensors file.
  std::map<std::string, at::Tensor> tensors(const std::string& file) const {
    const checkpoint::SafetensorsReader reader(path_ / file);
    std::map<std::string, at::Tensor> result;
    for (const auto& entry : reader.tensors()) result[entry.name] = reader.tensor(entry.name);
    return result;
  }

  /// The section "model" of config.json.
  model::ModelArgs model_args() const {
    const auto config = json("config.json").at("model");
    model::ModelArgs args;
    args.dim = config.at("dim");
    args.n_layers = config.at("n_layers");
    args.n_heads = config.at("n_heads");
    if (!config.at("n_kv_heads").is_null())
      args.n_kv_heads = config.at("n_kv_heads").get<int64_t>();
    args.vocab_size = config.at("vocab_size");
    args.multiple_of = config.at("multiple_of");
    if (!config.at("ffn_dim_multiplier").is_null())
      args.ffn_dim_multiplier = config.at("ffn_dim_multiplier").get<double>();
    args.norm_eps = config.at("norm_eps");
    args.rope_theta = config.at("rope_theta");
    const auto& rope = config.at("rope_scaling_args");
    args.rope_scaling.factor = rope.at("scaling_factor");
    args.rope_scaling.low_freq_factor = rope.at("low_freq_factor");
    args.rope_scaling.high_freq_factor = rope.at("high_freq_factor");
    args.rope_scaling.original_max_position_embeddings =
        rope.at("original_max_position_embeddings");
    return args;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace titan::test
