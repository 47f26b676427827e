#include "data/tokenizers/tiktoken_presets.h"

#include "base/error.h"
#include "data/tokenizers/tiktoken_file.h"

namespace titan::data {
namespace {

/// Meta's llama-models, models/llama3/tokenizer.py.
constexpr const char* kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Alibaba's Qwen, tokenization_qwen.py.
constexpr const char* kQwenPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// OpenAI's tiktoken, tiktoken_ext/openai_public.py.
constexpr const char* kGpt2Pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";
constexpr const char* kCl100kPattern =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
constexpr const char* kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

void add_numbered(TiktokenDefinition& definition, const std::string& before, int64_t first,
                  int64_t count, const std::string& behind) {
  for (int64_t i = 0; i < count; ++i)
    definition.specials.emplace_back(static_cast<int64_t>(definition.specials.size()),
                                     before + std::to_string(first + i) + behind);
}

/// As Llama 3.1 names them; the ids are those of Llama 3 as well.
TiktokenDefinition llama3() {
  TiktokenDefinition definition{kLlama3Pattern, false, {}, "<|begin_of_text|>", "<|end_of_text|>"};
  const auto add = [&](const char* text) {
    definition.specials.emplace_back(static_cast<int64_t>(definition.specials.size()), text);
  };
  for (const char* text :
       {"<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>",
        "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>", "<|reserved_special_token_2|>",
        "<|start_header_id|>", "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>", "<|python_tag|>"})
    add(text);
  add_numbered(definition, "<|reserved_special_token_", 3, 245, "|>");
  return definition;
}

TiktokenDefinition qwen() {
  TiktokenDefinition definition{kQwenPattern,
                                true,
                                {{0, "<|endoftext|>"}, {1, "<|im_start|>"}, {2, "<|im_end|>"}},
                                "",
                                "<|endoftext|>"};
  add_numbered(definition, "<|extra_", 0, 205, "|>");
  return definition;
}

}  // namespace

const std::vector<TiktokenPreset>& tiktoken_presets() {
  static const std::vector<TiktokenPreset> presets = {
      {"llama3", 128000}, {"qwen", 151643}, {"cl100k", 100256}, {"o200k", 199998}, {"gpt2", 50256}};
  return presets;
}

const TiktokenPreset* preset_of_ranks(int64_t ranks) {
  for (const TiktokenPreset& preset : tiktoken_presets())
    if (preset.ranks == ranks) return &preset;
  return nullptr;
}

TiktokenDefinition tiktoken_definition(const std::string& name) {
  if (name == "llama3") return llama3();
  if (name == "qwen") return qwen();
  if (name == "gpt2") return {kGpt2Pattern, false, {{0, "<|endoftext|>"}}, "", "<|endoftext|>"};
  if (name == "o200k")
    return {
        kO200kPattern, false, {{1, "<|endoftext|>"}, {20, "<|endofprompt|>"}}, "", "<|endoftext|>"};
  if (name == "cl100k")
    return {kCl100kPattern,
            false,
            {{1, "<|endoftext|>"},
             {2, "<|fim_prefix|>"},
             {3, "<|fim_middle|>"},
             {4, "<|fim_suffix|>"},
             {20, "<|endofprompt|>"}},
            "",
            "<|endoftext|>"};
  throw internal_error("there is no tiktoken preset '" + name + "'");
}

}  // namespace titan::data
