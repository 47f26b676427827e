/// The reference model with float8 in it, through the plugin's real file.
#pragma once

#include <titan/host.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "converters/container.h"
#include "converters/plugin_converter.h"
#include "model/transformer.h"
#include "plugins/load_requested.h"
#include "support/golden_file.h"

namespace titan::test {

/// Converters of a file, as a run that names float8 gets them.
inline converters::Registry registry_of(const std::string& file) {
  plugins::SearchOptions search;
  search.paths = {file};
  const plugins::Catalog catalog = plugins::scan(search);
  converters::Registry made;
  for (const auto& plugin :
       plugins::load_requested(catalog, {"float8"}, {}, converters::host_table()))
    for (const titan_converter& table : plugin.converters)
      made.register_model_converter(plugin.description.converters.at(0),
                                    converters::plugin_converter_factory("float8", file, table));
  made.freeze();
  return made;
}

inline config::ConverterRequest request(bool emulate,
                                        std::vector<std::string> exclude = {"output"}) {
  config::ConverterRequest wanted;
  wanted.converter = wanted.instance = "float8";
  wanted.exclude = std::move(exclude);
  wanted.options["recipe"] = {false, {std::string("tensorwise")}};
  wanted.options["emulate"] = {false, {emulate}};
  // The defaults of the note, which the config would fill in.
  for (const char* name : {"auto_filter_small_kn", "pad_inner_dim", "strict"})
    wanted.options[name] = {false, {false}};
  wanted.options["power_of_two_scales"] = {false, {std::string("auto")}};
  wanted.options["amax_compute_algo"] = {false, {std::string("max")}};
  wanted.options["amax_history_len"] = {false, {int64_t{1024}}};
  for (const char* name : {"fast_accum_output", "fast_accum_grad_input", "fast_accum_grad_weight"})
    wanted.options[name] = {false, {std::string("auto")}};
  wanted.options["grad_weight_fp32"] = {false, {false}};
  for (const char* name : {"margin", "metrics_freq"}) wanted.options[name] = {false, {int64_t{0}}};
  return wanted;
}

inline model::ModelArgs golden_args() {
  const auto config = golden_json("llama/config.json");
  const auto& sizes = config.at("model");
  model::ModelArgs args;
  args.dim = sizes.at("dim");
  args.n_layers = sizes.at("n_layers");
  args.n_heads = sizes.at("n_heads");
  args.n_kv_heads = sizes.at("n_kv_heads").get<int64_t>();
  args.vocab_size = sizes.at("vocab_size");
  args.multiple_of = sizes.at("multiple_of");
  if (!sizes.at("ffn_dim_multiplier").is_null())
    args.ffn_dim_multiplier = sizes.at("ffn_dim_multiplier").get<double>();
  args.norm_eps = sizes.at("norm_eps");
  args.rope_theta = sizes.at("rope_theta");
  const auto& scaling = sizes.at("rope_scaling_args");
  args.rope_scaling.factor = scaling.at("scaling_factor");
  args.rope_scaling.low_freq_factor = scaling.at("low_freq_factor");
  args.rope_scaling.high_freq_factor = scaling.at("high_freq_factor");
  args.rope_scaling.original_max_position_embeddings =
      scaling.at("original_max_position_embeddings");
  args.max_seq_len = config.at("training").at("seq_len");
  return args;
}

}  // namespace titan::test
