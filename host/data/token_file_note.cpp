#include "data/token_file_note.h"

#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/regular_file.h"

namespace titan::data {
namespace {

using NoteJson = nlohmann::ordered_json;
constexpr const char* kNoteKind = "titan token ids";
constexpr int64_t kNoteFormat = 1;
constexpr int64_t kMostNoteBytes = int64_t{1} << 20;

NoteJson id_json(const std::optional<int64_t>& id) {
  return id ? NoteJson(*id) : NoteJson(nullptr);
}

[[noreturn]] void damaged_note(const std::string& what, const std::string& where) {
  throw data_error("the note of a token file is damaged: " + what, where,
                   "make the file again with `titan data tokenize`, or remove the note to go "
                   "without its checks");
}

const NoteJson& note_value(const NoteJson& json, const char* key, const std::string& where) {
  if (!json.contains(key)) damaged_note("there is no '" + std::string(key) + "'", where);
  return json.at(key);
}

std::string note_text(const NoteJson& json, const char* key, const std::string& where) {
  const NoteJson& value = note_value(json, key, where);
  if (!value.is_string()) damaged_note("'" + std::string(key) + "' is no text", where);
  return value.get<std::string>();
}

int64_t note_count(const NoteJson& json, const char* key, const std::string& where) {
  const NoteJson& value = note_value(json, key, where);
  if (!value.is_number_integer() || value.get<int64_t>() < 0)
    damaged_note("'" + std::string(key) + "' is no whole number of 0 or more", where);
  return value.get<int64_t>();
}

std::optional<int64_t> note_id(const NoteJson& json, const char* key, const std::string& where) {
  if (note_value(json, key, where).is_null()) return std::nullopt;
  return note_count(json, key, where);
}

}  // namespace

std::filesystem::path note_path(const std::filesystem::path& token_file) {
  return std::filesystem::path(token_file.string() + ".json");
}

std::string format_token_note(const TokenFileNote& note) {
  NoteJson json;
  json["kind"] = kNoteKind;
  json["format"] = kNoteFormat;
  json["made_by"] = note.made_by;
  json["token_dtype"] = note.token_dtype;
  json["tokens"] = note.tokens;
  json["documents"] = note.documents;
  json["text_bytes"] = note.text_bytes;
  json["vocab_size"] = note.vocab_size;
  json["tokenizer"] = note.tokenizer;
  json["tokenizer_sha256"] = note.tokenizer_sha256;
  json["bos"] = id_json(note.bos);
  json["eos"] = id_json(note.eos);
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  return json.dump(2, ' ', false, NoteJson::error_handler_t::replace) + "\n";
}

std::optional<TokenFileNote> parse_token_note(std::string_view text, const std::string& where) {
  const NoteJson json = NoteJson::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) damaged_note("it is no JSON", where);
  if (!json.is_object() || json.empty()) damaged_note("it is no JSON object with keys", where);
  if (!json.contains("kind")) {
    // What no other program writes.
    if (json.contains("tokenizer_sha256")) damaged_note("there is no 'kind'", where);
    return std::nullopt;
  }
  if (json.at("kind") != kNoteKind) return std::nullopt;
  if (const int64_t format = note_count(json, "format", where); format != kNoteFormat)
    throw data_error("the note has format " + std::to_string(format) +
                         ", this titan reads format " + std::to_string(kNoteFormat),
                     where, "use the titan that made it, or make the file again");
  TokenFileNote note;
  note.made_by = note_text(json, "made_by", where);
  note.token_dtype = note_text(json, "token_dtype", where);
  note.tokens = note_count(json, "tokens", where);
  note.documents = note_count(json, "documents", where);
  note.text_bytes = note_count(json, "text_bytes", where);
  note.vocab_size = note_count(json, "vocab_size", where);
  note.tokenizer = note_text(json, "tokenizer", where);
  note.tokenizer_sha256 = note_text(json, "tokenizer_sha256", where);
  note.bos = note_id(json, "bos", where);
  note.eos = note_id(json, "eos", where);
  return note;
}

std::optional<TokenFileNote> read_token_note(const std::filesystem::path& token_file) {
  const std::filesystem::path path = note_path(token_file);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::nullopt;
  const RegularFile file =
      RegularFile::open(path, "note of the token file", "remove it, or make it readable");
  std::optional<TokenFileNote> note;
  if (file.size() <= kMostNoteBytes) note = parse_token_note(file.text(), path.string());
  if (!note)
    log_info(path.string() + " is no note of titan: the tokens are used without its checks");
  return note;
}

void check_note_replaceable(const std::filesystem::path& note, const std::string& where) {
  if (!check_output_path(note, where)) return;
  const RegularFile file = RegularFile::open(note, "file in the place of the note", "remove it");
  if (file.size() <= kMostNoteBytes) {
    const NoteJson json = NoteJson::parse(file.text(), nullptr, /*allow_exceptions=*/false);
    if (json.is_object() && json.contains("kind") && json.at("kind") == kNoteKind) return;
  }
  throw usage_error(
      "the note of the ids goes to '" + note.string() + "', and the file there is no note of titan",
      where, "name another output, or move that file away");
}

void check_token_note(const TokenFileNote& note, const std::filesystem::path& token_file,
                      const std::string& token_dtype, int64_t tokens, int64_t vocab_size,
                      const std::string& tokenizer_sha256) {
  const std::string where = note_path(token_file).string();
  if (note.token_dtype != token_dtype)
    throw usage_error("the token file holds " + note.token_dtype +
                          " by its note, training.token_dtype is " + token_dtype,
                      where, "set training.token_dtype: " + note.token_dtype);
  if (note.tokens != tokens)
    throw data_error("the token file has " + std::to_string(tokens) + " tokens, its note says " +
                         std::to_string(note.tokens),
                     where, "copy the file again, or make it again with `titan data tokenize`");
  if (note.vocab_size > vocab_size)
    throw usage_error("the tokens were made with a vocabulary of " +
                          std::to_string(note.vocab_size) + " ids, the model's vocab_size is " +
                          std::to_string(vocab_size),
                      where,
                      "choose a model with a vocab_size of " + std::to_string(note.vocab_size) +
                          " or more (model.args.vocab_size)");
  if (!tokenizer_sha256.empty() && note.tokenizer_sha256 != tokenizer_sha256)
    throw usage_error(
        "the tokens were made with another tokenizer than model.tokenizer_path: " +
            (note.tokenizer.empty() ? std::string("bytes") : "'" + note.tokenizer + "'") +
            ", sha256 " + note.tokenizer_sha256.substr(0, 12) + " against " +
            tokenizer_sha256.substr(0, 12),
        where, "set model.tokenizer_path to that one, or tokenize again");
}

}  // namespace titan::data
