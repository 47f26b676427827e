#include "data/tokenizers/tokenizer_json_stages.h"

#include <memory>

namespace titan::data {
namespace {

/// Of OpenAI's GPT-2, with which tokenizers' ByteLevel cuts.
constexpr const char* kByteLevelPattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr const char* kOtherTokenizer =
    "use a byte-level BPE tokenizer (Llama 3, Qwen, DeepSeek, GPT-2), a tiktoken file, or tokenize "
    "with the tokenizer's own program into a file of token ids (training.dataset: tokens)";
/// A step inside a Sequence inside a Sequence ...: nobody writes more than two.
constexpr int kDeepest = 16;

/// Calls `each` for the node, or for the members if it is a Sequence.
template <class Each>
void for_each_step(const JsonView& node, const char* members, const Each& each, int depth = 0) {
  if (node.value().is_null()) return;
  if (node.at("type").text() != "Sequence") return each(node);
  if (depth == kDeepest)
    node.wrong("Sequence inside Sequence more than " + std::to_string(kDeepest) + " times");
  const JsonView list = node.at(members);
  for (size_t i = 0; i < list.list_size(); ++i)
    for_each_step(list.item(i), members, each, depth + 1);
}

[[noreturn]] void refuse_type(const JsonView& node, const std::string& what,
                              const std::string& supported) {
  node.wrong("the " + what + " '" + printable(node.at("type").text(), 80) + "' is not supported (" +
                 supported + " are)",
             kOtherTokenizer);
}

SplitBehavior behavior_of(const JsonView& split) {
  const JsonView behavior = split.at("behavior");
  const std::string name = behavior.text();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  behavior.wrong("'" + printable(name, 80) +
                 "' is none of Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous");
}

std::shared_ptr<const Pattern> pattern_at(const std::string& text, const JsonView& node) {
  return std::make_shared<Pattern>(text, PatternDialect::kOniguruma,
                                   node.where() + ", " + printable(node.path(), 200));
}

SplitStage split_stage(const JsonView& node) {
  const JsonView pattern = node.at("pattern");
  SplitStage stage;
  stage.behavior = behavior_of(node);
  stage.invert = node.flag_or("invert", false);
  if (pattern.has("Regex")) {
    stage.pattern = pattern_at(pattern.at("Regex").text(), pattern.at("Regex"));
  } else {
    const JsonView literal = pattern.at("String");
    if (literal.text().empty()) literal.wrong("an empty text cannot be looked for");
    stage.pattern = pattern_at(literal_pattern(literal.text()), literal);
  }
  return stage;
}

/// The one special token id of an entry of TemplateProcessing's `special_tokens`.
std::optional<int64_t> template_id(const JsonView& processor, const JsonView& item) {
  const std::string name = item.at("SpecialToken").at("id").text();
  const JsonView tokens = processor.at("special_tokens");
  if (!tokens.value().is_object() || !tokens.value().contains(name))
    tokens.wrong("there is no '" + printable(name, 80) + "', which the template uses");
  const JsonView ids(tokens.value().at(name), processor.where(), tokens.child(name));
  if (ids.at("ids").list_size() != 1) return std::nullopt;
  return ids.at("ids").item(0).count(INT32_MAX);
}

void read_template(const JsonView& processor, BpeTokenizerParts& parts) {
  const JsonView single = processor.at("single");
  std::optional<int64_t> before, behind;
  size_t specials_before = 0, specials_behind = 0;
  bool text_seen = false;
  for (size_t i = 0; i < single.list_size(); ++i) {
    const JsonView item = single.item(i);
    if (item.has("Sequence")) {
      text_seen = true;
      continue;
    }
    (text_seen ? behind : before) = template_id(processor, item);
    ++(text_seen ? specials_behind : specials_before);
  }
  if (!text_seen) single.wrong("the template has no place for the text");
  // Several of them are part of a chat or of a pair, not the mark of a document.
  if (specials_before == 1) parts.bos = before;
  if (specials_behind == 1) parts.eos = behind;
}

}  // namespace

void read_normalizer(const JsonView& file, BpeTokenizerParts& parts) {
  if (!file.has("normalizer")) return;
  for_each_step(file.at("normalizer"), "normalizers", [&](const JsonView& node) {
    if (node.at("type").text() != "NFC") refuse_type(node, "normalizer", "NFC and Sequence");
    parts.nfc = true;
  });
}

void read_pre_tokenizer(const JsonView& file, BpeTokenizerParts& parts) {
  if (!file.has("pre_tokenizer"))
    file.wrong("there is no 'pre_tokenizer': this is no byte-level tokenizer", kOtherTokenizer);
  bool byte_level = false;
  for_each_step(file.at("pre_tokenizer"), "pretokenizers", [&](const JsonView& node) {
    const std::string type = node.at("type").text();
    if (byte_level)
      node.wrong("a pre-tokenizer behind ByteLevel would see bytes, not text", kOtherTokenizer);
    if (type == "Split") {
      parts.stages.push_back(split_stage(node));
    } else if (type == "Digits") {
      SplitStage stage;
      stage.pattern = pattern_at("\\p{N}", node);
      stage.behavior = node.flag_or("individual_digits", false) ? SplitBehavior::kIsolated
                                                                : SplitBehavior::kContiguous;
      parts.stages.push_back(stage);
    } else if (type == "ByteLevel") {
      SplitStage stage;
      stage.prefix_space = node.flag_or("add_prefix_space", true);
      if (node.flag_or("use_regex", true)) stage.pattern = pattern_at(kByteLevelPattern, node);
      if (stage.pattern || stage.prefix_space) parts.stages.push_back(stage);
      byte_level = true;
    } else {
      refuse_type(node, "pre-tokenizer", "Split, Digits, ByteLevel and Sequence");
    }
  });
  if (!byte_level)
    file.at("pre_tokenizer")
        .wrong("there is no ByteLevel: this is no byte-level tokenizer", kOtherTokenizer);
}

void read_post_processor(const JsonView& file, BpeTokenizerParts& parts) {
  if (!file.has("post_processor")) return;
  for_each_step(file.at("post_processor"), "processors", [&](const JsonView& node) {
    const std::string type = node.at("type").text();
    if (type == "ByteLevel") return;  // moves offsets, not ids
    if (type == "TemplateProcessing") return read_template(node, parts);
    if (type == "RobertaProcessing" || type == "BertProcessing") {
      const JsonView begin = node.at("cls"), end = node.at("sep");
      if (begin.list_size() != 2 || end.list_size() != 2)
        node.wrong("'cls' and 'sep' are pairs of text and id");
      parts.bos = begin.item(1).count(INT32_MAX);
      parts.eos = end.item(1).count(INT32_MAX);
      return;
    }
    refuse_type(node, "post-processor",
                "TemplateProcessing, RobertaProcessing, BertProcessing, ByteLevel and Sequence");
  });
}

}  // namespace titan::data
