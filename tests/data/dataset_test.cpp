/// Datasets by name: what each needs and how it says so.
#include "data/dataset.h"

#include <gtest/gtest.h>

#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

DatasetOptions options_for(const std::string& dataset, const std::filesystem::path& path = {}) {
  DatasetOptions options;
  options.dataset = dataset;
  options.path = path;
  options.seq_len = 4;
  options.batch_size = 1;
  options.vocab_size = 259;
  return options;
}

TEST(DatasetTest, TextIsReadAsBytesBehindBos) {
  ScratchFolder folder;
  const Batch batch = make_loader(options_for("text", folder.write("a", "hello")))->next();
  EXPECT_EQ(batch.tokens, (std::vector<int64_t>{256, 'h', 'e', 'l'}));
  EXPECT_EQ(batch.labels, (std::vector<int64_t>{'h', 'e', 'l', 'l'}));
}

TEST(DatasetTest, TokensNeedNoByteVocabulary) {
  ScratchFolder folder;
  DatasetOptions options =
      options_for("tokens", folder.write("t", std::string("\1\0\2\0\3\0\4\0\5\0", 10)));
  options.vocab_size = 6;
  EXPECT_EQ(make_loader(options)->next().labels, (std::vector<int64_t>{2, 3, 4, 5}));
  options.token_dtype = "float";
  expect_error(ExitStatus::kUsage, {"float", "uint16, int32 or uint32"},
               [&] { make_loader(options); });
}

TEST(DatasetTest, BuiltInTextComesFromTheDataFolder) {
  ScratchFolder folder;
  DatasetOptions options = options_for("pride_and_prejudice");
  options.data_dir = folder.path();
  expect_error(ExitStatus::kData,
               {"pride_and_prejudice.txt", "does not exist",
                "run ./dev data (or ./dev train), or set TITAN_DATA_DIR"},
               [&] { make_loader(options); });
  folder.write("pride_and_prejudice.txt", "It is a truth");
  EXPECT_EQ(make_loader(options)->next().tokens, (std::vector<int64_t>{256, 'I', 't', ' '}));
  options.path = "/some/file";
  expect_error(ExitStatus::kUsage, {"takes no path", "/some/file"}, [&] { make_loader(options); });
}

TEST(DatasetTest, RefusesOptionsThatDoNotFit) {
  ScratchFolder folder;
  DatasetOptions options = options_for("text", folder.write("a", "hello"));
  options.vocab_size = 258;
  expect_error(ExitStatus::kUsage, {"259 ids", "vocab_size is 258"}, [&] { make_loader(options); });
  expect_error(ExitStatus::kUsage,
               {"'c4'", "pride_and_prejudice, text, jsonl, chat, tokens or mixture"},
               [] { make_loader(options_for("c4")); });
  expect_error(ExitStatus::kUsage, {"needs a path", "training.dataset_path"},
               [] { make_loader(options_for("text")); });
  expect_error(ExitStatus::kUsage, {"needs a path"}, [] { make_loader(options_for("tokens")); });
}

TEST(DatasetTest, ShortTextIsRefused) {
  ScratchFolder folder;
  DatasetOptions options = options_for("text", folder.write("a", "hi"));
  options.seq_len = 4;
  expect_error(ExitStatus::kData, {"has 4 tokens", "= 5"}, [&] { make_loader(options); });
}

}  // namespace
}  // namespace titan::data
