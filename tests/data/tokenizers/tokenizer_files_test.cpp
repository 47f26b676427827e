/// Tokenizer files: what is refused, with which words, and which file of a folder is taken.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "data/tokenizers/open_tokenizer.h"
#include "data/tokenizers/tiktoken_file.h"
#include "data/tokenizers/tokenizer_json.h"
#include "support/golden_file.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using nlohmann::json;
using test::expect_error;
using test::read_file;
using test::ScratchFolder;

json good_json() { return test::golden_json("tokenizers/qwen.json"); }
std::string good_tiktoken() { return read_file(test::golden_path("tokenizers/small.tiktoken")); }

BpeTokenizerParts read_json(const json& file) {
  return read_tokenizer_json(file.dump(), "tokenizer.json");
}

/// The change makes the file one that is refused with these words.
template <class Change>
void expect_refused(std::initializer_list<std::string_view> words, const Change& change) {
  json file = good_json();
  change(file);
  expect_error(ExitStatus::kData, words, [&] { read_json(file); });
}

TEST(TokenizerJsonTest, NamesWhatIsNotSupported) {
  expect_refused({"Unigram", "only BPE"}, [](json& file) { file["model"]["type"] = "Unigram"; });
  expect_refused({"byte_fallback", "tokenizer.json"},
                 [](json& file) { file["model"]["byte_fallback"] = true; });
  expect_refused({"dropout"}, [](json& file) { file["model"]["dropout"] = 0.1; });
  expect_refused({"end_of_word_suffix"},
                 [](json& file) { file["model"]["end_of_word_suffix"] = "</w>"; });
  expect_refused({"normalizer", "'Lowercase'", "NFC"}, [](json& file) {
    file["normalizer"] = {{"type", "Lowercase"}};
  });
  expect_refused({"pre-tokenizer", "'Metaspace'", "Split"}, [](json& file) {
    file["pre_tokenizer"] = {{"type", "Metaspace"}, {"replacement", "_"}};
  });
  expect_refused({"ByteLevel"},
                 [](json& file) { file["pre_tokenizer"]["pretokenizers"].erase(1); });
  expect_refused({"behind ByteLevel"}, [](json& file) {
    auto& steps = file["pre_tokenizer"]["pretokenizers"];
    std::swap(steps[0], steps[1]);
  });
  expect_refused({"no 'pre_tokenizer'"}, [](json& file) { file["pre_tokenizer"] = nullptr; });
  expect_refused({"behavior", "'Sideways'"}, [](json& file) {
    file["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Sideways";
  });
  expect_refused({"pattern uses '\\b'", "pretokenizers[0].pattern.Regex"}, [](json& file) {
    file["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"] = "\\b";
  });
  expect_refused({"post-processor", "'Odd'"}, [](json& file) {
    file["post_processor"] = {{"type", "Odd"}};
  });
}

TEST(TokenizerJsonTest, NamesWhereTheMistakeIs) {
  expect_refused({"there is no 'model'"}, [](json& file) { file.erase("model"); });
  expect_refused({"byte 33", "lost"}, [](json& file) {
    file["model"]["vocab"].erase("!");
    file["model"]["merges"] = json::array();
  });
  expect_refused({"model.vocab.", "has the id 1", "'!'"},
                 [](json& file) { file["model"]["vocab"]["!"] = 1; });
  expect_refused({"model.vocab.!", "far beyond"},
                 [](json& file) { file["model"]["vocab"]["!"] = 2000000000; });
  expect_refused({"model.vocab.!", "whole number"},
                 [](json& file) { file["model"]["vocab"]["!"] = -1; });
  expect_refused({"model.merges[0]", "one space"},
                 [](json& file) { file["model"]["merges"][0] = "a b c"; });
  expect_refused({"model.merges[0]", "'zq'"}, [](json& file) {
    file["model"]["merges"][0] = {"zq", "a"};
  });
  expect_refused({"model.merges[0]", "two parts"},
                 [](json& file) { file["model"]["merges"][0] = json::array({"a"}); });
  expect_refused({"added_tokens[0]", "says id 9", "gives it"},
                 [](json& file) { file["added_tokens"][0]["id"] = 9; });
  expect_refused({"added_tokens[0]", "without text"},
                 [](json& file) { file["added_tokens"][0]["content"] = ""; });
  expect_refused({"special_tokens", "'<none>'"}, [](json& file) {
    file["post_processor"] = {{"type", "TemplateProcessing"},
                              {"single", {{{"SpecialToken", {{"id", "<none>"}, {"type_id", 0}}}}}},
                              {"special_tokens", json::object()}};
  });
  expect_error(ExitStatus::kData, {"no JSON", "tokenizer.json", "Git LFS"},
               [] { read_tokenizer_json("{\"model\": ", "tokenizer.json"); });
}

TEST(TokenizerJsonTest, LearnsBosAndEosFromProcessorsAndConfig) {
  json file = good_json();
  const int64_t end = file["added_tokens"][0]["id"], start = end + 1;
  file["post_processor"] = {{"type", "RobertaProcessing"},
                            {"sep", {"<|endoftext|>", end}},
                            {"cls", {"<|im_start|>", start}}};
  BpeTokenizerParts parts = read_json(file);
  EXPECT_EQ(parts.bos, start);
  EXPECT_EQ(parts.eos, end);
  read_tokenizer_config(R"({"bos_token": null, "eos_token": {"content": "<|im_end|>"}})", "config",
                        parts);
  EXPECT_EQ(parts.bos, std::nullopt);
  EXPECT_EQ(parts.eos, end + 2);
  read_tokenizer_config("{}", "config", parts);
  EXPECT_EQ(parts.eos, end + 2) << "what it does not say stays";
  expect_error(ExitStatus::kData, {"eos_token", "'<nope>'", "config"},
               [&] { read_tokenizer_config(R"({"eos_token": "<nope>"})", "config", parts); });
}

TEST(TiktokenFileTest, NamesTheLine) {
  const auto read = [](const std::string& text) {
    return read_tiktoken(text, "small.tiktoken", tiktoken_presets().front());
  };
  const std::string good = good_tiktoken();
  EXPECT_GT(read(good).vocab_size, 256 + 256);
  EXPECT_EQ(read("\r\n" + good + "\n").vocab_size, read(good).vocab_size);
  const auto lines = [&] { return std::to_string(count_tiktoken_lines(good) + 1); }();
  for (const std::string line :
       {"YQ==", "YQ== x", "YQ== -1", "YQ 5", "Y?== 5", "= 5", " 5", "YQ== 1 2", "YQ==  700"})
    expect_error(ExitStatus::kData, {"small.tiktoken:" + lines, "base64"},
                 [&] { read(good + line + "\n"); });
  expect_error(ExitStatus::kData, {"small.tiktoken:" + lines, "already"},
               [&] { read(good + "YQ== 9999\n"); });
  expect_error(ExitStatus::kData, {"rank 3", "twice"}, [&] { read(good + "YWFhYWFhYQ== 3\n"); });
  expect_error(ExitStatus::kData, {"rank 99999999"},
               [&] { read(good + "YWFhYWFhYQ== 99999999\n"); });
  expect_error(ExitStatus::kData, {"no token for the byte"}, [&] { read("YQ== 0\n"); });
  expect_error(ExitStatus::kData, {"holds no token"}, [&] { read(""); });
}

TEST(TiktokenFileTest, PresetsHaveTheIdsOfTheirModels) {
  const auto ids = [](const char* name, int64_t ranks, const char* special) {
    for (const TiktokenPreset& preset : tiktoken_presets()) {
      if (preset.name != name) continue;
      EXPECT_EQ(preset.ranks, ranks);
      const BpeTokenizerParts parts = read_tiktoken(good_tiktoken(), "small", preset);
      for (const AddedToken& token : parts.added)
        if (token.content == special)
          return token.id - count_tiktoken_lines(good_tiktoken()) + ranks;
    }
    return int64_t{-1};
  };
  EXPECT_EQ(ids("llama3", 128000, "<|begin_of_text|>"), 128000);
  EXPECT_EQ(ids("llama3", 128000, "<|end_of_text|>"), 128001);
  EXPECT_EQ(ids("llama3", 128000, "<|start_header_id|>"), 128006);
  EXPECT_EQ(ids("llama3", 128000, "<|eot_id|>"), 128009);
  EXPECT_EQ(ids("llama3", 128000, "<|python_tag|>"), 128010);
  EXPECT_EQ(ids("llama3", 128000, "<|reserved_special_token_247|>"), 128255);
  EXPECT_EQ(ids("qwen", 151643, "<|im_end|>"), 151645);
  EXPECT_EQ(ids("qwen", 151643, "<|extra_204|>"), 151850);
  EXPECT_EQ(ids("cl100k", 100256, "<|endoftext|>"), 100257);
  EXPECT_EQ(ids("cl100k", 100256, "<|endofprompt|>"), 100276);
  EXPECT_EQ(ids("o200k", 199998, "<|endoftext|>"), 199999);
  EXPECT_EQ(ids("o200k", 199998, "<|endofprompt|>"), 200018);
  EXPECT_EQ(ids("gpt2", 50256, "<|endoftext|>"), 50256);
}

TEST(OpenTokenizerTest, FindsTheFileOfAFolder) {
  ScratchFolder folder;
  expect_error(ExitStatus::kData, {"no tokenizer.json", "model.tokenizer_path"},
               [&] { open_tokenizer({folder.path()}); });
  folder.write("a.tiktoken", good_tiktoken());
  expect_error(ExitStatus::kUsage,
               {"no tiktoken vocabulary", "model.tokenizer_format", "llama3, qwen"},
               [&] { open_tokenizer({folder.path()}); });
  EXPECT_EQ(open_tokenizer({folder.path(), "gpt2"})->vocab_size(),
            count_tiktoken_lines(good_tiktoken()) + 1);
  folder.write("b.tiktoken", good_tiktoken());
  expect_error(ExitStatus::kData, {"several"}, [&] { open_tokenizer({folder.path(), "gpt2"}); });
  folder.write("tokenizer.json", good_json().dump());
  EXPECT_TRUE(open_tokenizer({folder.path()})->special_id("<|im_start|>"));
  folder.write("tokenizer_config.json", R"({"bos_token": "<|im_start|>"})");
  EXPECT_EQ(open_tokenizer({folder.path()})->bos(),
            open_tokenizer({folder.path()})->special_id("<|im_start|>"));
  EXPECT_EQ(tokenizer_sha256({folder.path()}), tokenizer_sha256({folder / "tokenizer.json"}));
  EXPECT_NE(tokenizer_sha256({folder.path()}), tokenizer_sha256({folder / "a.tiktoken"}));
  EXPECT_EQ(tokenizer_sha256({}), "bytes");
}

TEST(OpenTokenizerTest, FormatAndPathGoTogether) {
  ScratchFolder folder;
  const auto file = folder.write("tokenizer.json", good_json().dump());
  EXPECT_EQ(open_tokenizer({})->vocab_size(), ByteTokenizer::kVocabSize);
  EXPECT_EQ(open_tokenizer({{}, "bytes"})->vocab_size(), ByteTokenizer::kVocabSize);
  expect_error(ExitStatus::kUsage, {"'huggingfce'", "huggingface"}, [&] {
    open_tokenizer({file, "huggingfce"});
  });
  expect_error(ExitStatus::kUsage, {"llama3 needs a file"}, [] { open_tokenizer({{}, "llama3"}); });
  expect_error(ExitStatus::kUsage, {"bytes takes no file"}, [&] {
    open_tokenizer({file, "bytes"});
  });
  expect_error(ExitStatus::kUsage, {"is JSON", "llama3"}, [&] {
    open_tokenizer({file, "llama3"});
  });
  expect_error(ExitStatus::kData, {"none.json", "does not exist"},
               [&] { open_tokenizer({folder / "none.json"}); });
}

}  // namespace
}  // namespace titan::data
