/// Input made to hang, crash or mislead: always an error, and soon.
#include <chrono>
#include <random>

#include "config/fields.h"
#include "config/yaml_reader.h"
#include "config_files.h"

namespace titan::config {
namespace {

std::string repeated(const std::string& part, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += part;
  return text.substr(0, bytes);
}

TEST(HostileYaml, NestingAliasesAndSizeAreLimited) {
  expect_load_error("a: " + repeated("[", 1000), "nested more than 32", "", "");
  expect_load_error("a: " + repeated("{a: ", 4000), "nested more than 32", "", "");
  expect_load_error(repeated("- ", 2000), "nested more than 32", "", "");
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string name = std::to_string(i), before = "*a" + std::to_string(i - 1);
    bomb += "a" + name + ": &a" + name + " [" + before;
    for (int k = 0; k < 9; ++k) bomb += ", " + before;
    bomb += "]\n";
  }
  expect_load_error(bomb, "more than 20000 values", "", "alias");
  expect_load_error("a: &x [1, *x]\n", "alias inside its own anchor", "debug.yaml:1:11", "");
  expect_load_error("a: [" + repeated("b, ", 100000) + "]\n", "more than 20000 values", "", "");
  expect_load_error("job: {}\n" + repeated("#\n", kMaxConfigBytes), "larger than 1 MiB",
                    "debug.yaml", "");
}

TEST(HostileYaml, NothingIsIgnoredInSilence) {
  expect_load_error("job: {}\n---\ntraining: {}\n", "goes on after the end", "debug.yaml:2:1", "");
  expect_load_error("job: {}\n...\njunk\n", "goes on after the end", "debug.yaml:3:1", "");
  expect_load_error("{job: {}} training\n", "goes on after the end", "debug.yaml:1:11", "");
  expect_load_error("training: {steps: !!int 3}\n", "tags", "debug.yaml:1:19", "");
  expect_load_error("training: !mine {steps: 3}\n", "tags", "debug.yaml:1:11", "");
  expect_load_error("a: &b {x: 1}\nc:\n  <<: *b\n", "merge keys", "debug.yaml:3:3", "");
  expect_load_error("? [a, b]\n: 1\n", "a key must be a name, found a list", "debug.yaml:1:3", "");
  expect_load_error("training:\n  steps: 3\n  seq_len\n", "'key: value' was expected",
                    "debug.yaml:3:3", "");
  expect_load_error("training: {steps: 3, seq_len}\n", "training.seq_len has no value",
                    "debug.yaml:1:22", "");
}

TEST(HostileYaml, OnlyTextIsText) {
  expect_load_error(std::string("job: {}\n\0training: {}\n", 22), "byte that is no text",
                    "debug.yaml:2:1", "UTF-8");
  expect_load_error(
      "job:\n  description: a\x04"
      "b\n",
      "byte that is no text", "debug.yaml:2:17", "");
  for (const char* bad :
       {"\xff", "\xc3", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\x80", "\xe2\x82"})
    expect_load_error("job: {description: " + std::string(bad) + "}\n", "byte that is no text",
                      "debug.yaml:1:20", "");
  const std::string good = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80";
  EXPECT_EQ(load_text("job: {description: \"" + good + "\"}\n").values.job.description, good);
}

TEST(HostileYaml, LargeInputsTakeLittleTime) {
  for (const char* part :
       {"[",     "{",  "- ", "a: ",    "? ", "[a,", "{a: ", "&a [",   "\"",   "'",  "|\n",
        "a:\n ", "[]", "a,", "x: y\n", "\n", ": ",  "-\n",  "--- \n", "%a\n", "a ", "*a "}) {
    SCOPED_TRACE(part);
    const auto start = std::chrono::steady_clock::now();
    usage_error_of([&] { load_text(repeated(part, kMaxConfigBytes)); });
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  }
}

TEST(HostileYaml, RandomEditsOfAConfigLoadOrFailCleanly) {
  const std::string base =
      "model:\n  flavor: 8B\n  converters: [float8, {use: a, as: b, include: [\"x.*\"]}]\n"
      "training: {steps: &n 3, seq_len: *n, max_norm: 1.5}\n# comment\njob:\n"
      "  description: \"text \\n\"\nfloat8:\n  recipe: 'row'\n  list:\n    - 1\n    - |\n      y\n";
  const std::string alphabet = "\n\t :-[]{}\"'#&*!|>%@,?.0aA~<\\\x01\xc3\xff";
  std::mt19937 random(7);
  const auto pick = [&random](size_t below) { return static_cast<size_t>(random() % below); };
  int loaded = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string text = base;
    for (size_t edits = 1 + pick(4); edits > 0; --edits) {
      const size_t at = pick(text.size());
      switch (pick(3)) {
        case 0: text[at] = alphabet[pick(alphabet.size())]; break;
        case 1: text.insert(at, 1, alphabet[pick(alphabet.size())]); break;
        default: text.erase(at, 1 + pick(5));
      }
    }
    try {
      const LoadedConfig config = [&] {
        LoadedConfig result;
        read_yaml(text, "edited.yaml");
        return load_text(text);
      }();
      ++loaded;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage) << text;
      EXPECT_FALSE(error.hint().empty()) << text;
    }
  }
  EXPECT_GT(loaded, 50) << "edits that all fail test only the first check";
}

}  // namespace
}  // namespace titan::config
