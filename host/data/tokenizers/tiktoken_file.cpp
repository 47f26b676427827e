#include "data/tokenizers/tiktoken_file.h"

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "data/tokenizers/tiktoken_presets.h"

namespace titan::data {
namespace {

/// A rank must not cost gigabytes for those that lie between.
constexpr int64_t kMostRanks = int64_t{1} << 24;

std::optional<std::string> decode_base64(std::string_view text) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  static constexpr std::array<signed char, 256> kValues = [] {
    std::array<signed char, 256> values{};
    values.fill(-1);
    for (size_t i = 0; i < kAlphabet.size(); ++i)
      values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<signed char>(i);
    return values;
  }();
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  std::string bytes;
  uint32_t bits = 0;
  for (size_t i = 0; i < text.size() - padding; ++i) {
    const signed char value = kValues[static_cast<unsigned char>(text[i])];
    if (value < 0) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(value);
    if (i % 4 == 3) {
      for (const int shift : {16, 8, 0}) bytes.push_back(static_cast<char>(bits >> shift & 0xFFu));
      bits = 0;
    }
  }
  if (padding == 1) {
    bytes.push_back(static_cast<char>(bits >> 10 & 0xFFu));
    bytes.push_back(static_cast<char>(bits >> 2 & 0xFFu));
  } else if (padding == 2) {
    bytes.push_back(static_cast<char>(bits >> 4 & 0xFFu));
  }
  return bytes;
}

[[noreturn]] void wrong_line(const std::string& where, int64_t line, const std::string& what) {
  throw data_error(
      what, where + ":" + std::to_string(line),
      "each line holds BASE64 RANK; compare the file with the original, it may be cut off "
      "or a Git LFS pointer");
}

/// Calls `each` with the line's number, from 1, and its text; empty lines are passed over.
template <class Each>
void for_each_line(std::string_view text, const Each& each) {
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty()) each(number, line);
  }
}

std::vector<std::string> read_ranks(std::string_view text, const std::string& where) {
  std::vector<std::string> bytes;
  std::unordered_map<std::string, int64_t> lines;
  for_each_line(text, [&](int64_t number, std::string_view line) {
    const size_t space = line.find(' ');
    const std::optional<std::string> token = decode_base64(line.substr(0, space));
    int64_t rank = -1;
    if (space != std::string_view::npos) {
      const auto [end, error] =
          std::from_chars(line.data() + space + 1, line.data() + line.size(), rank);
      if (error != std::errc() || end != line.data() + line.size()) rank = -1;
    }
    if (!token || rank < 0)
      wrong_line(where, number, "'" + printable(line, 80) + "' is no base64 text with a rank");
    if (rank >= kMostRanks)
      wrong_line(
          where, number,
          "the rank " + std::to_string(rank) + " is above " + std::to_string(kMostRanks - 1));
    if (const auto [other, added] = lines.emplace(*token, number); !added)
      wrong_line(where, number,
                 "the token is in line " + std::to_string(other->second) + " already");
    if (rank >= static_cast<int64_t>(bytes.size())) bytes.resize(static_cast<size_t>(rank) + 1);
    std::string& place = bytes[static_cast<size_t>(rank)];
    if (!place.empty())
      wrong_line(where, number, "the rank " + std::to_string(rank) + " is given twice");
    place = *token;
  });
  return bytes;
}

/// Any two tokens whose bytes together are a token merge, the lowest rank first.
MergeTable merges_of(const std::vector<std::string>& bytes) {
  std::unordered_map<std::string_view, int32_t> ids;
  size_t cuts = 0;
  for (size_t id = 0; id < bytes.size(); ++id) {
    if (bytes[id].empty()) continue;
    ids.emplace(bytes[id], static_cast<int32_t>(id));
    cuts += bytes[id].size() - 1;
  }
  struct Pair {
    int32_t left, right, id;
  };
  std::vector<Pair> pairs;
  pairs.reserve(cuts / 2);
  for (const auto& [token, id] : ids)
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ids.find(token.substr(0, cut));
      if (left == ids.end()) continue;
      const auto right = ids.find(token.substr(cut));
      if (right != ids.end()) pairs.push_back({left->second, right->second, id});
    }
  MergeTable merges(pairs.size());
  for (const Pair& pair : pairs) merges.insert(pair.left, pair.right, {pair.id, pair.id});
  return merges;
}

}  // namespace

int64_t count_tiktoken_lines(std::string_view text) {
  int64_t count = 0;
  for_each_line(text, [&](int64_t, std::string_view) { ++count; });
  return count;
}

BpeTokenizerParts read_tiktoken(std::string_view text, const std::string& where,
                                const TiktokenPreset& preset) {
  BpeParts bpe;
  bpe.bytes = read_ranks(text, where);
  if (bpe.bytes.empty())
    throw data_error("the tiktoken file holds no token", where,
                     "compare the file with the original");
  bpe.byte_ids.fill(-1);
  for (size_t id = 0; id < bpe.bytes.size(); ++id)
    if (bpe.bytes[id].size() == 1)
      bpe.byte_ids[static_cast<unsigned char>(bpe.bytes[id].front())] = static_cast<int32_t>(id);
  for (size_t byte = 0; byte < 256; ++byte)
    if (bpe.byte_ids[byte] < 0)
      throw data_error(
          "there is no token for the byte " + std::to_string(byte) + ": text would be lost", where,
          "compare the file with the original; it may be cut off");
  bpe.merges = merges_of(bpe.bytes);
  bpe.whole_pieces_first = true;

  const TiktokenDefinition definition = tiktoken_definition(preset.name);
  BpeTokenizerParts parts;
  parts.invalid = InvalidUtf8::kRestIsOnePiece;
  parts.nfc = definition.nfc;
  SplitStage stage;
  stage.pattern = std::make_shared<Pattern>(definition.pattern, PatternDialect::kRust,
                                            "pattern of the preset " + preset.name);
  parts.stages.push_back(stage);
  const auto ranks = static_cast<int64_t>(bpe.bytes.size());
  parts.vocab_size = ranks;
  for (const auto& [offset, content] : definition.specials) {
    AddedToken token;
    token.id = ranks + offset;
    token.content = content;
    token.special = true;
    if (content == definition.bos) parts.bos = token.id;
    if (content == definition.eos) parts.eos = token.id;
    parts.vocab_size = std::max(parts.vocab_size, token.id + 1);
    parts.added.push_back(std::move(token));
  }
  parts.bpe = std::make_shared<Bpe>(std::move(bpe));
  return parts;
}

}  // namespace titan::data
