#include "data/tokenizers/open_tokenizer.h"

#include <algorithm>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/regular_file.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "data/tokenizers/bpe_tokenizer.h"
#include "data/tokenizers/tiktoken_file.h"
#include "data/tokenizers/tokenizer_json.h"

namespace titan::data {
namespace fs = std::filesystem;

namespace {

constexpr const char* kTokenizerKey = "model.tokenizer_path";
constexpr const char* kTokenizerHint =
    "set model.tokenizer_path to a tokenizer.json, a tiktoken file (tokenizer.model), or a folder "
    "with one";
constexpr int64_t kMostTokenizerBytes = int64_t{256} << 20;

std::string read_whole(const fs::path& path) {
  const RegularFile file = RegularFile::open(path, "tokenizer file", kTokenizerHint);
  if (file.size() > kMostTokenizerBytes)
    throw data_error("the tokenizer file has " + std::to_string(file.size()) + " bytes, at most " +
                         std::to_string(kMostTokenizerBytes) + " are accepted",
                     path.string(), kTokenizerHint);
  return file.text();
}

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The tokenizer inside a folder, or all of several that may be meant.
std::vector<fs::path> files_in(const fs::path& folder, std::error_code& error) {
  for (const char* name : {"tokenizer.json", "tokenizer.model"})
    if (is_there(folder / name)) return {folder / name};
  std::vector<fs::path> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (it->path().extension() == ".tiktoken") found.push_back(it->path());
  return found;
}

fs::path file_in(const fs::path& folder) {
  std::error_code error;
  const std::vector<fs::path> found = files_in(folder, error);
  if (error)
    throw data_error("the folder of the tokenizer cannot be listed: " + error.message(),
                     folder.string(), "give this user read permission for the folder");
  if (found.size() == 1) return found.front();
  throw data_error(
      "the folder holds " + std::string(found.empty()
                                            ? "no tokenizer.json, tokenizer.model or *.tiktoken"
                                            : "several *.tiktoken files"),
      folder.string(), found.empty() ? kTokenizerHint : "set model.tokenizer_path to one of them");
}

fs::path resolved_file(const TokenizerOptions& options) {
  std::error_code ignored;
  return fs::is_directory(options.path, ignored) ? file_in(options.path) : options.path;
}

bool looks_like_json(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

const TiktokenPreset& preset_for(const TokenizerOptions& options, std::string_view text,
                                 const std::string& where) {
  std::string names;
  for (const TiktokenPreset& preset : tiktoken_presets()) {
    if (preset.name == options.format) return preset;
    names += (names.empty() ? "" : ", ") + preset.name;
  }
  const int64_t lines = count_tiktoken_lines(text);
  if (const TiktokenPreset* preset = preset_of_ranks(lines)) return *preset;
  throw usage_error(
      "a file of " + std::to_string(lines) +
          " lines is no tiktoken vocabulary that titan knows by its size",
      where,
      "set model.tokenizer_format to the pattern and special tokens that belong to it (" + names +
          "), or model.tokenizer_path to a tokenizer.json");
}

/// A ModelProto begins with a piece (field 1), the piece with its text (field 1), and its score
/// follows (field 2, fixed32): sentencepiece_model.proto of google/sentencepiece.
bool looks_like_sentencepiece(std::string_view text) {
  if (text.size() < 4 || text[0] != '\x0a' || text[2] != '\x0a') return false;
  const auto score = 4 + static_cast<size_t>(static_cast<unsigned char>(text[3]));
  return score < text.size() && text[score] == '\x15';
}

BpeTokenizerParts read_parts(const TokenizerOptions& options, const fs::path& path) {
  const std::string text = read_whole(path);
  if (looks_like_sentencepiece(text))
    throw data_error("the file is a SentencePiece model, which is not supported", path.string(),
                     "use the tokenizer.json of a byte-level BPE tokenizer, or tokenize with the "
                     "tokenizer's own program into a file of token ids (training.dataset: tokens)");
  const bool json = looks_like_json(text);
  const bool wants_json = options.format == "huggingface";
  if (options.format != "auto" && json != wants_json)
    throw usage_error("the file is " + std::string(json ? "JSON" : "no JSON") +
                          ", which does not go with model.tokenizer_format: " + options.format,
                      path.string(), "set model.tokenizer_format: auto, or name another file");
  if (!json) return read_tiktoken(text, path.string(), preset_for(options, text, path.string()));
  BpeTokenizerParts parts = read_tokenizer_json(text, path.string());
  const fs::path config = path.parent_path() / "tokenizer_config.json";
  if (is_there(config)) read_tokenizer_config(read_whole(config), config.string(), parts);
  return parts;
}

void check_format(const TokenizerOptions& options) {
  const std::vector<std::string> formats = tokenizer_formats();
  if (std::find(formats.begin(), formats.end(), options.format) == formats.end())
    throw usage_error("there is no tokenizer format '" + options.format + "'",
                      "model.tokenizer_format",
                      did_you_mean(options.format, formats) + "use one of " + joined(formats));
  if (options.path.empty() && options.format != "auto" && options.format != "bytes")
    throw usage_error("model.tokenizer_format: " + options.format + " needs a file", kTokenizerKey,
                      kTokenizerHint);
  if (!options.path.empty() && options.format == "bytes")
    throw usage_error(
        "model.tokenizer_format: bytes takes no file, '" + options.path.string() + "' was given",
        kTokenizerKey, "set model.tokenizer_format: auto to use the file");
}

}  // namespace

std::vector<std::string> tokenizer_formats() {
  std::vector<std::string> names = {"auto", "bytes", "huggingface"};
  for (const TiktokenPreset& preset : tiktoken_presets()) names.push_back(preset.name);
  return names;
}

std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerOptions& options) {
  check_format(options);
  if (options.path.empty()) return std::make_unique<ByteTokenizer>();
  BpeTokenizerParts parts = read_parts(options, resolved_file(options));
  parts.specials_are_text = !options.parse_special_tokens;
  return std::make_unique<BpeTokenizer>(std::make_shared<BpeTokenizerParts>(std::move(parts)));
}

bool holds_tokenizer(const fs::path& folder) {
  std::error_code ignored;
  return fs::is_directory(folder, ignored) && !files_in(folder, ignored).empty();
}

std::vector<fs::path> tokenizer_files(const TokenizerOptions& options) {
  if (options.path.empty()) return {};
  const fs::path file = resolved_file(options),
                 config = file.parent_path() / "tokenizer_config.json";
  if (is_there(config)) return {file, config};
  return {file};
}

std::string tokenizer_sha256(const TokenizerOptions& options) {
  if (options.path.empty()) return "bytes";
  const std::string text = read_whole(resolved_file(options));
  return sha256_hex(std::as_bytes(std::span(text)));
}

}  // namespace titan::data
