#include "data/tokenizers/tokenizer_json.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>

#include "data/tokenizers/json_view.h"
#include "data/tokenizers/tokenizer_json_stages.h"
#include "data/tokenizers/utf8.h"

namespace titan::data {
namespace {

/// Byte-level vocabularies write each byte as a printable character: those that are printable in
/// Latin-1 as themselves, the others as U+0100 and on (bytes_to_unicode of OpenAI's GPT-2).
std::array<char32_t, 256> byte_characters() {
  std::array<char32_t, 256> characters{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable_byte =
        (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    characters[byte] = printable_byte ? byte : next++;
  }
  return characters;
}

/// The bytes that a token's text stands for; nothing if a character of it is not of the alphabet.
class ByteAlphabet {
 public:
  ByteAlphabet() {
    const auto characters = byte_characters();
    for (size_t byte = 0; byte < 256; ++byte) bytes_[characters[byte]] = static_cast<char>(byte);
  }
  std::optional<std::string> bytes_of(std::string_view token) const {
    std::string bytes;
    for (size_t at = 0; at < token.size();) {
      const auto byte = bytes_.find(next_character(token, at));
      if (byte == bytes_.end()) return std::nullopt;
      bytes.push_back(byte->second);
    }
    return bytes;
  }

 private:
  std::unordered_map<char32_t, char> bytes_;
};

constexpr const char* kUnsupportedHint =
    "the file may be whole, titan reads byte-level BPE alone: use such a tokenizer, or tokenize "
    "with "
    "the tokenizer's own program into a file of token ids (training.dataset: tokens)";

JsonView model_of(const JsonView& file) {
  if (file.value().is_object() && !file.value().contains("model"))
    file.wrong("there is no 'model': this is no tokenizer.json of Hugging Face tokenizers",
               kUnsupportedHint);
  return file.at("model");
}

class TokenizerJson {
 public:
  explicit TokenizerJson(const JsonView& file) : file_(file), model_(model_of(file)) {}

  BpeTokenizerParts read() {
    check_model();
    read_normalizer(file_, parts_);
    read_pre_tokenizer(file_, parts_);
    read_vocab();
    read_merges();
    read_added_tokens();
    read_post_processor(file_, parts_);
    for (const auto& id : {parts_.bos, parts_.eos})
      if (id && *id >= parts_.vocab_size)
        file_.at("post_processor")
            .wrong("the id " + std::to_string(*id) + " is no token of the file");
    learn_from_names();
    parts_.bpe = std::make_shared<Bpe>(std::move(bpe_));
    return std::move(parts_);
  }

 private:
  void check_model() const {
    const std::string type = model_.has("type") ? model_.at("type").text() : "BPE";
    if (type != "BPE")
      model_.wrong("the model '" + printable(type, 80) + "' is not supported, only BPE is",
                   kUnsupportedHint);
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (model_.has(key) && !model_.at(key).text().empty())
        model_.at(key).wrong("is not supported: byte-level tokenizers have none", kUnsupportedHint);
    if (model_.flag_or("byte_fallback", false))
      model_.at("byte_fallback")
          .wrong("true is not supported: in a byte-level tokenizer every byte has a token",
                 kUnsupportedHint);
    if (model_.has("dropout") && !(model_.value().at("dropout").is_number() &&
                                   model_.value().at("dropout").get<double>() == 0))
      model_.at("dropout").wrong("is not supported: the same text has to give the same ids",
                                 "titan has no dropout of merges: set it to null in a copy of the "
                                 "file to get the ids without it");
  }

  int64_t checked_id(const JsonView& value) const {
    const int64_t id = value.count(INT32_MAX);
    // A mistyped id must not cost gigabytes for the ids that lie between.
    if (id >= 2 * static_cast<int64_t>(entries_) + 65536)
      value.wrong("the id " + std::to_string(id) + " is far beyond the " +
                  std::to_string(entries_) + " tokens of the file");
    return id;
  }

  void make_room(int64_t id) {
    if (id >= parts_.vocab_size) parts_.vocab_size = id + 1;
  }

  void read_vocab() {
    const JsonView vocab = model_.at("vocab");
    if (!vocab.value().is_object()) vocab.wrong("an object of tokens and ids is needed");
    entries_ = vocab.value().size();
    if (file_.has("added_tokens")) entries_ += file_.at("added_tokens").list_size();
    std::map<int64_t, std::string> by_id;
    for (const auto& [token, value] : vocab.value().items()) {
      const JsonView view(value, vocab.where(), vocab.child(token));
      const int64_t id = checked_id(view);
      if (const auto [other, added] = by_id.emplace(id, token); !added)
        view.wrong("has the id " + std::to_string(id) + ", and so has '" +
                   printable(other->second, 80) + "'");
      ids_[token] = static_cast<int32_t>(id);
      make_room(id);
    }
    bpe_.bytes.resize(static_cast<size_t>(parts_.vocab_size));
    bpe_.byte_ids.fill(-1);
    for (const auto& [id, token] : by_id) {
      const std::optional<std::string> bytes = alphabet_.bytes_of(token);
      if (!bytes) {
        parts_.other_bytes[id] = token;
        continue;
      }
      bpe_.bytes[static_cast<size_t>(id)] = *bytes;
      if (bytes->size() == 1)
        bpe_.byte_ids[static_cast<unsigned char>(bytes->front())] = static_cast<int32_t>(id);
    }
    for (size_t byte = 0; byte < 256; ++byte)
      if (bpe_.byte_ids[byte] < 0)
        vocab.wrong("there is no token for the byte " + std::to_string(byte) +
                    ": text would be lost");
    bpe_.whole_pieces_first = model_.flag_or("ignore_merges", false);
  }

  /// "a b" or ["a", "b"].
  std::pair<std::string, std::string> merge_of(const JsonView& item) const {
    if (item.value().is_array()) {
      if (item.list_size() != 2) item.wrong("a merge has two parts");
      return {item.item(0).text(), item.item(1).text()};
    }
    const std::string text = item.text();
    const size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos)
      item.wrong("'" + printable(text, 80) + "' is not two tokens with one space between");
    return {text.substr(0, space), text.substr(space + 1)};
  }

  int32_t id_in_merge(const JsonView& item, const std::string& token) const {
    const auto id = ids_.find(token);
    if (id == ids_.end())
      item.wrong("the token '" + printable(token, 80) + "' is not in model.vocab");
    return id->second;
  }

  void read_merges() {
    const JsonView merges = model_.at("merges");
    const size_t count = merges.list_size();
    bpe_.merges = MergeTable(count);
    for (size_t rank = 0; rank < count; ++rank) {
      const JsonView item = merges.item(rank);
      const auto [left, right] = merge_of(item);
      const int32_t left_id = id_in_merge(item, left), right_id = id_in_merge(item, right);
      bpe_.merges.insert(left_id, right_id,
                         {static_cast<int32_t>(rank), id_in_merge(item, left + right)});
    }
  }

  void read_added_tokens() {
    if (!file_.has("added_tokens")) return;
    const JsonView list = file_.at("added_tokens");
    std::map<std::string, int64_t> added;
    int64_t next_free = static_cast<int64_t>(ids_.size());
    for (size_t i = 0; i < list.list_size(); ++i) {
      const JsonView item = list.item(i);
      AddedToken token;
      token.content = item.at("content").text();
      token.id = checked_id(item.at("id"));
      if (token.content.empty()) item.wrong("an added token without text");
      token.special = item.flag_or("special", false);
      token.lstrip = item.flag_or("lstrip", false);
      token.rstrip = item.flag_or("rstrip", false);
      token.single_word = item.flag_or("single_word", false);
      token.normalized = item.flag_or("normalized", !token.special);
      // tokenizers gives it the id of the vocabulary, or the next one that is free.
      int64_t expected = next_free;
      if (const auto known = added.find(token.content); known != added.end())
        expected = known->second;
      else if (const auto found = ids_.find(token.content); found != ids_.end())
        expected = found->second;
      if (token.id != expected)
        item.wrong(
            "'" + printable(token.content, 80) + "' says id " + std::to_string(token.id) +
                ", Hugging Face tokenizers gives it " + std::to_string(expected),
            "renumber the added tokens: those that model.vocab lacks follow it without a gap");
      if (!added.emplace(token.content, token.id).second) continue;
      next_free = std::max(next_free, token.id + 1);
      make_room(token.id);
      parts_.other_bytes.erase(token.id);
      parts_.added.push_back(std::move(token));
    }
  }

  /// As far as the post-processor did not tell.
  void learn_from_names() {
    const auto find = [&](std::initializer_list<const char*> names) -> std::optional<int64_t> {
      for (const char* name : names)
        for (const AddedToken& token : parts_.added)
          if (token.special && token.content == name) return token.id;
      return std::nullopt;
    };
    // What no post-processor puts there is not put there.
    parts_.adds_bos = parts_.bos.has_value();
    if (!parts_.bos)
      parts_.bos = find({"<|begin_of_text|>", "<｜begin▁of▁sentence｜>", "<s>", "<bos>"});
    if (!parts_.eos)
      parts_.eos =
          find({"<|end_of_text|>", "<|endoftext|>", "<｜end▁of▁sentence｜>", "</s>", "<eos>"});
  }

  JsonView file_, model_;
  ByteAlphabet alphabet_;
  size_t entries_ = 0;
  std::unordered_map<std::string, int32_t> ids_;
  BpeParts bpe_;
  BpeTokenizerParts parts_;
};

JsonView::Json parse_json(std::string_view text, const std::string& where) {
  try {
    return JsonView::Json::parse(text);
  } catch (const JsonView::Json::parse_error& error) {
    throw data_error("this is no JSON (byte " + std::to_string(error.byte) + ")", where,
                     "copy the file again; it may be cut off, or a Git LFS pointer");
  }
}

/// "<s>", or an object whose content it is.
std::string token_text(const JsonView& token) {
  return token.value().is_object() ? token.at("content").text() : token.text();
}

}  // namespace

BpeTokenizerParts read_tokenizer_json(std::string_view text, const std::string& where) {
  const JsonView::Json json = parse_json(text, where);
  return TokenizerJson(JsonView(json, where)).read();
}

void read_tokenizer_config(std::string_view text, const std::string& where,
                           BpeTokenizerParts& parts) {
  const JsonView::Json json = parse_json(text, where);
  const JsonView config(json, where);
  if (!json.is_object()) config.wrong("an object is needed");
  if (config.has("add_bos_token")) parts.adds_bos = config.flag_or("add_bos_token", false);
  for (const bool begins : {true, false}) {
    const char* key = begins ? "bos_token" : "eos_token";
    if (!json.contains(key)) continue;
    std::optional<int64_t>& id = begins ? parts.bos : parts.eos;
    id.reset();
    if (!config.has(key)) continue;
    const std::string content = token_text(config.at(key));
    for (const AddedToken& token : parts.added)
      if (token.content == content) id = token.id;
    if (!id)
      config.at(key).wrong("'" + printable(content, 80) + "' is no added token of tokenizer.json",
                           "take both files from the same model");
  }
}

}  // namespace titan::data
