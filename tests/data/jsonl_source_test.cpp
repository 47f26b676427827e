/// JSON lines: texts by key, order, ranks, places, and what is wrong in which line.
#include "data/jsonl_source.h"

#include <gtest/gtest.h>

#include <set>

#include "data/zstd_bytes.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

std::string text_of(JsonlSource& source) {
  std::string text(1 << 12, '\0');
  text.resize(static_cast<size_t>(source.read(0, text.data(), static_cast<int64_t>(text.size()))));
  return text;
}

std::vector<std::string> texts_of(JsonlSource& source, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i, source.next()) texts.push_back(text_of(source));
  return texts;
}

JsonlSource open_lines(const std::filesystem::path& path, const DocumentOrder& order = {},
                       int64_t buffer = 4, const std::string& key = "text") {
  return JsonlSource(JsonlLines(path, order, buffer), key);
}

/// Files 0 .. files - 1 with `lines` lines each; text "file.line".
void write_files(const ScratchFolder& folder, int files, int lines, bool compressed = false) {
  for (int file = 0; file < files; ++file) {
    std::string text;
    for (int line = 0; line < lines; ++line)
      text +=
          "{\"id\": 1, \"text\": \"" + std::to_string(file) + "." + std::to_string(line) + "\"}\n";
    const std::string name = "part" + std::to_string(file) + ".jsonl";
    folder.write(compressed ? name + ".zst" : name, compressed ? test::zstd_bytes(text) : text);
  }
}

TEST(JsonlSourceTest, LinesFollowEachOtherThroughAllFiles) {
  ScratchFolder folder;
  folder.write("a.jsonl",
               "{\"text\":\"one\"}\n\n  \r\n{\"text\":\"\"}\n{\"text\":\"tw\\u00f6\\n\"}");
  folder.write("b.jsonl", "{\"text\":\"three\",\"more\":[1]}\r\n");
  folder.write("c.jsonl", "");
  JsonlSource source = open_lines(folder.path());
  EXPECT_EQ(texts_of(source, 5),
            (std::vector<std::string>{"one", "tw\u00f6\n", "three", "one", "tw\u00f6\n"}));
  EXPECT_EQ(source.place().epoch, 1);
}

TEST(JsonlSourceTest, KeysMayGoIntoObjects) {
  ScratchFolder folder;
  const auto path = folder.write("a.jsonl", R"({"meta": {"body": "inner"}, "meta.body": "outer"})"
                                            "\n"
                                            R"({"meta": {"body": "x"}})");
  JsonlSource source = open_lines(path, {}, 4, "meta.body");
  EXPECT_EQ(texts_of(source, 2), (std::vector<std::string>{"outer", "x"}));
}

TEST(JsonlSourceTest, CompressionChangesNothing) {
  ScratchFolder plain, compressed;
  write_files(plain, 3, 10);
  write_files(compressed, 3, 10, true);
  for (const bool shuffle : {false, true}) {
    JsonlSource one = open_lines(plain.path(), {shuffle, 3, {}}),
                other = open_lines(compressed.path(), {shuffle, 3, {}});
    EXPECT_EQ(texts_of(one, 70), texts_of(other, 70));
    other.seek(one.place());
    EXPECT_EQ(texts_of(one, 20), texts_of(other, 20));
  }
}

TEST(JsonlSourceTest, ShufflingIsAPermutationOfItsOwnInEveryEpoch) {
  ScratchFolder folder;
  write_files(folder, 4, 9);
  JsonlSource source = open_lines(folder.path(), {true, 1, {}}),
              again = open_lines(folder.path(), {true, 1, {}});
  const auto first = texts_of(source, 36), second = texts_of(source, 36);
  EXPECT_EQ(std::set(first.begin(), first.end()).size(), 36u);
  EXPECT_EQ(std::set(second.begin(), second.end()).size(), 36u);
  EXPECT_NE(first, second);
  EXPECT_EQ(texts_of(again, 36), first);
  JsonlSource other = open_lines(folder.path(), {true, 2, {}});
  EXPECT_NE(texts_of(other, 36), first);
}

TEST(JsonlSourceTest, RanksShareTheLinesOut) {
  ScratchFolder folder;
  write_files(folder, 3, 7);
  for (const bool shuffle : {false, true}) {
    std::multiset<std::string> seen;
    for (int64_t rank = 0; rank < 4; ++rank) {
      JsonlSource source = open_lines(folder.path(), {shuffle, 1, {rank, 4}});
      for (; source.place().epoch == 0; source.next()) seen.insert(text_of(source));
    }
    EXPECT_EQ(seen.size(), 21u);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 21u) << "no line twice";
  }
  expect_error(ExitStatus::kData, {"rank 21 of 22", "no line"}, [&] {
    open_lines(folder.path(), {false, 0, {21, 22}});
  });
}

TEST(JsonlSourceTest, EveryPlaceIsFoundAgain) {
  ScratchFolder folder;
  write_files(folder, 3, 6);
  for (const bool shuffle : {false, true})
    for (int64_t rank = 0; rank < 2; ++rank) {
      const DocumentOrder order{shuffle, 8, {rank, 2}};
      JsonlSource source = open_lines(folder.path(), order);
      for (int i = 0; i < 25; ++i) {
        const StreamPosition place = source.place();
        JsonlSource other = open_lines(folder.path(), order);
        other.next();
        ASSERT_TRUE(other.seek(place));
        EXPECT_EQ(other.place(), place);
        JsonlSource reference = open_lines(folder.path(), order);
        for (int k = 0; k < i; ++k) reference.next();
        EXPECT_EQ(texts_of(other, 10), texts_of(reference, 10)) << i;
        source.next();
      }
      EXPECT_FALSE(source.seek({0, 99, 0, 0, 0, 0, 0}));
      EXPECT_FALSE(source.seek({0, 0, 0, 0, 7, 0, 0}));
      EXPECT_FALSE(source.seek({-1, 0, 0, 0, 0, 0, 0}));
    }
}

TEST(JsonlSourceTest, LongLinesAreReadWhole) {
  ScratchFolder folder;
  const std::string text(3000000, 'x');
  JsonlSource source =
      open_lines(folder.write("a.jsonl", "{\"text\":\"" + text + "\"}\n{\"text\":\"y\"}\n"));
  std::string got(text.size() + 5, '\0');
  got.resize(static_cast<size_t>(source.read(0, got.data(), static_cast<int64_t>(got.size()))));
  EXPECT_EQ(got, text);
  source.next();
  EXPECT_EQ(text_of(source), "y");
}

TEST(JsonlSourceTest, NamesTheLine) {
  ScratchFolder folder;
  const auto refuse = [&](const std::string& second,
                          std::initializer_list<std::string_view> words) {
    for (const bool compressed : {false, true}) {
      const std::string text = "{\"text\":\"fine\"}\n\n" + second + "\n";
      const auto path = compressed ? folder.write("a.jsonl.zst", test::zstd_bytes(text))
                                   : folder.write("a.jsonl", text);
      JsonlSource source = open_lines(path);
      expect_error(ExitStatus::kData, words, [&] { source.next(); });
      expect_error(ExitStatus::kData, {path.string() + ":3"}, [&] { open_lines(path).next(); });
    }
  };
  refuse("{\"text\": \"a\"", {"no valid JSON", "one JSON object a line"});
  refuse("{\"text\": \"\xff\"}", {"no valid JSON", "UTF-8"});
  refuse("[1]", {"holds a list", "object is needed"});
  refuse("{\"txt\": \"a\"}", {"no key 'text'", "did you mean 'txt'", "training.dataset_key"});
  refuse("{\"text\": {\"a\": 1}}", {"'text' is an object", "a text is needed", "goes into"});
  refuse("{\"text\": 5}", {"'text' is a number"});
  expect_error(ExitStatus::kData, {"every line's 'text' is empty"},
               [&] { open_lines(folder.write("e.jsonl", "{\"text\":\"\"}\n")); });
  expect_error(ExitStatus::kData, {"no line in the data", "none.jsonl"},
               [&] { open_lines(folder.write("none.jsonl", "\n")); });
  std::filesystem::create_directory(folder / "bare");
  expect_error(ExitStatus::kData, {"bare", "no *.jsonl file", "training.dataset_path"},
               [&] { open_lines(folder / "bare"); });
}

}  // namespace
}  // namespace titan::data
