/// The ids of the Python originals, tokenizers and tiktoken, for the texts of
/// tests/golden/tokenizers.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/stream_decoder.h"
#include "data/tokenizers/utf8.h"
#include "support/golden_file.h"

namespace titan::data {
namespace {

using Ids = std::vector<int64_t>;

std::string from_base64(const std::string& text) {
  const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<uint32_t>(alphabet.find(c));
    count += 6;
    if (count >= 8) bytes.push_back(static_cast<char>(bits >> (count -= 8)));
  }
  return bytes;
}

struct GoldenCases {
  std::vector<std::string> texts, bytes;
  std::map<std::string, std::vector<Ids>> ids;  ///< by tokenizer and mode

  GoldenCases() {
    const nlohmann::json cases = test::golden_json("tokenizers/cases.json");
    for (const auto& [name, value] : cases.items()) {
      if (name == "texts")
        texts = value.get<std::vector<std::string>>();
      else if (name == "bytes")
        for (const std::string& text : value.get<std::vector<std::string>>())
          bytes.push_back(from_base64(text));
      else
        ids[name] = value.get<std::vector<Ids>>();
    }
  }
};

/// "odd.json", "odd.json specials are text", "tiktoken llama3", "tiktoken llama3 bytes".
std::unique_ptr<Tokenizer> tokenizer_of(const std::string& name) {
  TokenizerOptions options;
  options.parse_special_tokens = name.find("specials are text") == std::string::npos;
  if (name.starts_with("tiktoken ")) {
    const std::string preset = name.substr(9);
    options.format = preset.substr(0, preset.find(' '));
    options.path = test::golden_path("tokenizers/small.tiktoken");
    options.parse_special_tokens = false;
  } else {
    options.path = test::golden_path("tokenizers/" + name.substr(0, name.find(' ')));
  }
  return open_tokenizer(options);
}

TEST(GoldenTokenizerTest, IdsAreThoseOfTheOriginals) {
  const GoldenCases cases;
  ASSERT_EQ(cases.ids.size(), 18u);
  for (const auto& [name, expected] : cases.ids) {
    const auto tokenizer = tokenizer_of(name);
    const auto& texts = name.ends_with(" bytes") ? cases.bytes : cases.texts;
    ASSERT_EQ(expected.size(), texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      Ids ids;
      tokenizer->encode(texts[i], ids);
      EXPECT_EQ(ids, expected[i]) << name << ": " << texts[i];
    }
  }
}

/// Hands out the text in windows of `size` bytes that grow as long as nothing is sure.
Ids encoded_in_windows(Tokenizer& tokenizer, std::string_view text, size_t size) {
  Ids ids;
  while (!text.empty()) {
    size_t window = std::min(size, text.size()), used = 0;
    for (;; window = std::min(2 * window, text.size())) {
      used = tokenizer.encode_some(text.substr(0, window), window == text.size(), ids);
      if (used > 0 || window == text.size()) break;
    }
    EXPECT_GT(used, 0u);
    text.remove_prefix(used);
  }
  return ids;
}

TEST(GoldenTokenizerTest, TextInWindowsGivesTheSameIds) {
  const GoldenCases cases;
  // All of them behind each other: tokens, pieces and broken characters meet the windows' ends.
  std::string text, bytes;
  for (const std::string& one : cases.texts) text += one;
  for (int i = 0; i < 5; ++i)
    for (const std::string& one : cases.bytes) bytes += one + "the trainer\n  said 123 ";
  for (const auto& [name, unused] : cases.ids) {
    const auto tokenizer = tokenizer_of(name);
    for (const std::string& all : {text, bytes}) {
      Ids expected;
      tokenizer->encode(all, expected);
      for (const size_t size : {1u, 2u, 3u, 7u, 50u, 333u})
        EXPECT_EQ(encoded_in_windows(*tokenizer, all, size), expected)
            << name << ", windows of " << size;
    }
  }
}

TEST(GoldenTokenizerTest, NoByteIsLost) {
  const GoldenCases cases;
  for (const std::string name : {"gpt2.json specials are text", "llama3.json specials are text",
                                 "deepseek.json specials are text", "tiktoken o200k"}) {
    const auto tokenizer = tokenizer_of(name);
    for (const auto* texts : {&cases.texts, &cases.bytes})
      for (const std::string& text : *texts) {
        Ids ids;
        tokenizer->encode(text, ids);
        EXPECT_EQ(tokenizer->decode(ids), text) << name;
        StreamDecoder decoder(*tokenizer);
        std::string streamed;
        for (const int64_t id : ids) streamed += decoder.push(id);
        EXPECT_EQ(streamed + decoder.finish(), with_replacements(text)) << name;
      }
  }
}

TEST(GoldenTokenizerTest, ThreadsShareTheVocabulary) {
  const GoldenCases cases;
  const std::string name = "llama3.json";
  const auto tokenizer = tokenizer_of(name);
  std::vector<std::vector<Ids>> found(4);
  std::vector<std::thread> threads;
  for (auto& ids : found)
    threads.emplace_back([&ids, &cases, own = tokenizer->another()] {
      for (const std::string& text : cases.texts) own->encode(text, ids.emplace_back());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& ids : found) EXPECT_EQ(ids, cases.ids.at(name));
}

TEST(GoldenTokenizerTest, SpecialTokensAreKnownByName) {
  const auto llama = tokenizer_of("llama3.json");
  ASSERT_TRUE(llama->bos());
  EXPECT_EQ(llama->bos(), llama->special_id("<|begin_of_text|>")) << "from the template";
  EXPECT_EQ(llama->eos(), llama->special_id("<|endoftext|>")) << "by its name";
  EXPECT_EQ(llama->vocab_size(), *llama->eos() + 1);
  EXPECT_EQ(llama->bytes_of(*llama->bos()), "");
  EXPECT_EQ(llama->bytes_of(llama->vocab_size()), std::nullopt);
  const auto qwen = tokenizer_of("qwen.json");
  EXPECT_EQ(qwen->bos(), std::nullopt);
  EXPECT_EQ(qwen->special_id("<|im_end|>"), qwen->vocab_size() - 1);
  EXPECT_EQ(qwen->special_id("the"), std::nullopt);
}

}  // namespace
}  // namespace titan::data
