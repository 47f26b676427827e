/// Schemas of made-up converters, as the notes of plugins would give them.
#pragma once

#include <string>
#include <vector>

#include "config/option_schema.h"

namespace titan::config {

inline OptionSchema option(std::string name, OptionType type, std::optional<OptionValue> value) {
  OptionSchema schema;
  schema.name = std::move(name);
  schema.type = type;
  schema.default_value = std::move(value);
  schema.help = "what " + schema.name + " does";
  return schema;
}

inline OptionValue one(Scalar value) { return {false, {std::move(value)}}; }

inline ConverterSchema float8_schema() {
  ConverterSchema schema{"float8", "float8 linears", "/plugins/libfloat8.so", {}};
  OptionSchema recipe = option("recipe", OptionType::kEnum, one("tensorwise"));
  recipe.values = {"tensorwise", "rowwise", "delayed"};
  recipe.aliases = {"recipe_name"};
  OptionSchema history = option("history", OptionType::kInt, one(int64_t{16}));
  history.min = 1;
  history.max = 1024;
  OptionSchema margin = option("margin", OptionType::kFloat, one(1.0));
  margin.min = 0;
  margin.above_min = true;
  OptionSchema tags = option("tags", OptionType::kString, OptionValue{true, {}});
  tags.is_list = true;
  schema.options = {recipe, history, margin, tags,
                    option("emulate", OptionType::kBool, one(false))};
  return schema;
}

/// `rank` is required: it has no default.
inline ConverterSchema lora_schema() {
  ConverterSchema schema{"lora", "low-rank adapters", "/plugins/liblora.so", {}};
  OptionSchema rank = option("rank", OptionType::kInt, std::nullopt);
  rank.min = 1;
  schema.options = {rank, option("target", OptionType::kPath, one("all"))};
  return schema;
}

inline std::vector<ConverterSchema> schemas() { return {float8_schema(), lora_schema()}; }

}  // namespace titan::config
