#include "data/token_source.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"
#include "data/shuffle.h"

namespace titan::data {
namespace {

static_assert(std::endian::native == std::endian::little, "token files are read without swapping");

constexpr std::string_view kPathHint =
    "set training.dataset_path to a file of token ids (training.token_dtype names their type)";

std::string token_type_name(TokenType type) {
  switch (type) {
    case TokenType::kUint16: return "uint16";
    case TokenType::kInt32: return "int32";
    case TokenType::kUint32: return "uint32";
  }
  return "?";
}

template <class T>
void widen_tokens(const unsigned char* bytes, std::span<int64_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T value;
    std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(value);
  }
}

}  // namespace

int64_t token_bytes(TokenType type) { return type == TokenType::kUint16 ? 2 : 4; }

TokenType parse_token_type(std::string_view name) {
  for (const TokenType type : {TokenType::kUint16, TokenType::kInt32, TokenType::kUint32})
    if (name == token_type_name(type)) return type;
  throw usage_error("'" + std::string(name) + "' is not a type of token ids",
                    "training.token_dtype", "use uint16, int32 or uint32");
}

TokenFile::TokenFile(const std::filesystem::path& path, TokenType type, int64_t vocab_size,
                     const TokenOrder& order)
    : file_(RegularFile::open(path, "token file", kPathHint)),
      type_(type),
      vocab_size_(vocab_size),
      order_(order) {
  const int64_t width = token_bytes(type);
  if (file_.size() == 0)
    throw data_error("the token file '" + where() + "' is empty", where(), std::string(kPathHint));
  if (file_.size() % width != 0)
    throw data_error("the token file has " + std::to_string(file_.size()) +
                         " bytes, which is no multiple of the " + std::to_string(width) +
                         " bytes of " + token_type_name(type),
                     where(),
                     "set training.token_dtype to the type in the file, or write the file again if "
                     "it was cut off");
  count_ = file_.size() / width;
  end_ = order_.shuffle ? count_ - count_ % order_.sample_tokens : count_;
  if (file_.size() > kCheckedBytes) return;
  std::vector<int64_t> chunk(1 << 16);
  for (int64_t begin = 0; begin < count_; begin += static_cast<int64_t>(chunk.size()))
    read_at(begin, std::span(chunk).first(static_cast<size_t>(
                       std::min(count_ - begin, static_cast<int64_t>(chunk.size())))));
}

void TokenFile::read(std::span<int64_t> out) {
  while (!out.empty()) {
    if (position_.token == end_) {
      position_.token = 0;
      ++position_.epoch;
    }
    int64_t from = position_.token, most = end_ - position_.token;
    if (order_.shuffle) {
      const int64_t length = order_.sample_tokens, inside = position_.token % length;
      const uint64_t seed =
          mixed(static_cast<uint64_t>(order_.seed), static_cast<uint64_t>(position_.epoch));
      from = permuted(position_.token / length, end_ / length, seed) * length + inside;
      most = length - inside;
    }
    const int64_t count = std::min(most, static_cast<int64_t>(out.size()));
    read_at(from, out.first(static_cast<size_t>(count)));
    out = out.subspan(static_cast<size_t>(count));
    position_.token += count;
  }
}

void TokenFile::skip(int64_t count) {
  if (count == 0) return;
  // A position at the very end counts to the epoch that ends there, as after read().
  const int64_t last = position_.token + count - 1;
  position_.epoch += last / end_;
  position_.token = last % end_ + 1;
}

void TokenFile::read_at(int64_t begin, std::span<int64_t> out) {
  const int64_t width = token_bytes(type_);
  bytes_.resize(out.size() * static_cast<size_t>(width));
  file_.read(begin * width, bytes_.data(), static_cast<int64_t>(bytes_.size()));
  switch (type_) {
    case TokenType::kUint16: widen_tokens<uint16_t>(bytes_.data(), out); break;
    case TokenType::kInt32: widen_tokens<int32_t>(bytes_.data(), out); break;
    case TokenType::kUint32: widen_tokens<uint32_t>(bytes_.data(), out); break;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] >= 0 && out[i] < vocab_size_) continue;
    const int64_t index = begin + static_cast<int64_t>(i);
    throw data_error("token " + std::to_string(index) + " (at byte " +
                         std::to_string(index * width) + ") is " + std::to_string(out[i]) +
                         ", but the model's vocabulary has ids 0 to " +
                         std::to_string(vocab_size_ - 1),
                     where(),
                     "train a model of a larger vocab_size, or check training.token_dtype (" +
                         token_type_name(type_) + ")");
  }
}

void TokenFile::seek(const StreamPosition& position) {
  if (position.epoch < 0 || position.document != 0 || position.byte != 0 || position.token < 0 ||
      position.token > end_)
    throw data_error("the saved place in the data (token " + std::to_string(position.token) +
                         ") does not exist in this file of " + std::to_string(count_) + " tokens",
                     where(), "resume with the data that the checkpoint was made with");
  position_ = position;
}

}  // namespace titan::data
