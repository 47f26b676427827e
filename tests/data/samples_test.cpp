/// Samples: shares of ranks, shuffled token files, mixtures, and states that bring each of them
/// back.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "data/dataset.h"
#include "data/mixed_samples.h"
#include "data/shifted_samples.h"
#include "data/token_source.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

/// Token ids first, first + 1, ..., first + count - 1.
std::filesystem::path counting_file(const ScratchFolder& folder, const std::string& name,
                                    uint16_t first, uint16_t count) {
  std::string bytes;
  for (uint16_t i = first; i < first + count; ++i) {
    bytes.push_back(static_cast<char>(i & 0xff));
    bytes.push_back(static_cast<char>(i >> 8));
  }
  return folder.write(name, bytes);
}

DatasetOptions token_options(const std::filesystem::path& path) {
  DatasetOptions options;
  options.dataset = "tokens";
  options.path = path;
  options.seq_len = 4;
  options.batch_size = 1;
  options.vocab_size = 65536;
  return options;
}

TEST(TokenFileTest, SkippingEqualsReading) {
  ScratchFolder folder;
  const auto path = counting_file(folder, "t.bin", 0, 13);
  for (int64_t count = 0; count < 40; ++count) {
    TokenFile read(path, TokenType::kUint16, 100), skipped(path, TokenType::kUint16, 100);
    std::vector<int64_t> unused(3 + static_cast<size_t>(count));
    read.read(unused);
    unused.resize(3);
    skipped.read(unused);
    skipped.skip(count);
    EXPECT_EQ(skipped.position(), read.position()) << count;
  }
}

TEST(SamplesTest, RanksShareTokensOutWithoutOverlap) {
  ScratchFolder folder;
  DatasetOptions options = token_options(counting_file(folder, "t.bin", 0, 60));
  for (const bool shuffle : {false, true}) {
    options.shuffle = shuffle;
    std::multiset<int64_t> seen;
    for (int64_t rank = 0; rank < 3; ++rank) {
      options.share = {rank, 3};
      const auto loader = make_loader(options);
      for (int i = 0; i < 4; ++i)
        seen.merge([&] {
          const Batch batch = loader->next();
          std::multiset<int64_t> tokens(batch.tokens.begin(), batch.tokens.end());
          tokens.insert(batch.labels.back());
          return tokens;
        }());
    }
    EXPECT_EQ(seen.size(), 60u);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 60u) << "all tokens once in an epoch";
  }
}

TEST(SamplesTest, OneDocumentIsSharedOutBySample) {
  ScratchFolder folder;
  DatasetOptions options = token_options(folder.write("a.txt", "abcdefghijklmnopqrstuvwxyz"));
  options.dataset = "text";
  options.add_bos = options.add_eos = false;
  options.vocab_size = 259;
  std::string seen;
  for (int64_t rank = 0; rank < 2; ++rank) {
    options.share = {rank, 2};
    const auto loader = make_loader(options);
    for (int i = 0; i < 2; ++i) {
      const Batch batch = loader->next();
      seen += std::string(batch.tokens.begin(), batch.tokens.end()) +
              static_cast<char>(batch.labels.back()) + " ";
    }
  }
  EXPECT_EQ(seen, "abcde klmno fghij pqrst ");
}

TEST(SamplesTest, ShuffledTokenFilesPermuteSamples) {
  ScratchFolder folder;
  DatasetOptions options = token_options(counting_file(folder, "t.bin", 0, 53));
  options.shuffle = true;
  const auto loader = make_loader(options);
  std::vector<int64_t> first, second;
  for (int i = 0; i < 10; ++i) first.push_back(loader->next().tokens.front());
  for (int i = 0; i < 10; ++i) second.push_back(loader->next().tokens.front());
  const std::set<int64_t> starts = {0, 5, 10, 15, 20, 25, 30, 35, 40, 45};
  EXPECT_EQ(std::set(first.begin(), first.end()), starts) << "three tokens do not make a sample";
  EXPECT_EQ(std::set(second.begin(), second.end()), starts);
  EXPECT_NE(first, second);
  options.seq_len = 60;
  expect_error(ExitStatus::kData, {"has 53 tokens", "= 61"}, [&] { make_loader(options); });
}

DatasetOptions mixture_options(const ScratchFolder& folder) {
  DatasetOptions options = token_options({});
  options.dataset = "mixture";
  folder.write(
      "lines/a.jsonl",
      "{\"text\":\"some text of a line\"}\n{\"text\":\"and another one\"}\n{\"text\":\"three\"}\n");
  options.mixture = {{"low", 3, "tokens", counting_file(folder, "low.bin", 1000, 40)},
                     {"high", 1, "tokens", counting_file(folder, "high.bin", 2000, 40)},
                     {"lines", 1, "jsonl", folder / "lines"}};
  options.shuffle = true;
  options.shuffle_buffer = 2;
  return options;
}

TEST(MixedSamplesTest, WeightsAreSharesOfTheSamples) {
  ScratchFolder folder;
  const auto loader = make_loader(mixture_options(folder));
  std::map<int64_t, int> counts;
  for (int i = 0; i < 5000; ++i) {
    const Batch batch = loader->next();
    ++counts[batch.tokens.front() / 1000];
    EXPECT_EQ(batch.tokens.front() / 1000, batch.labels.back() / 1000)
        << "a sample is of one source";
  }
  // Standard deviations: 35, 28, 28.
  EXPECT_NEAR(counts[1], 3000, 180);
  EXPECT_NEAR(counts[2], 1000, 150);
  EXPECT_NEAR(counts[0], 1000, 150);
}

TEST(MixedSamplesTest, SeedAndRankDecideTheDraws) {
  ScratchFolder folder;
  DatasetOptions options = mixture_options(folder);
  const auto draws = [&] {
    const auto loader = make_loader(options);
    std::vector<int64_t> sources;
    for (int i = 0; i < 60; ++i) sources.push_back(loader->next().tokens.front() / 1000);
    return sources;
  };
  const auto first = draws();
  EXPECT_EQ(draws(), first);
  options.seed = 1;
  EXPECT_NE(draws(), first);
  options.seed = 0;
  options.share = {1, 2};
  EXPECT_NE(draws(), first);
}

/// Restores a loader of these options at every batch and compares what follows.
void expect_exact_resume(const DatasetOptions& options, int batches) {
  std::vector<LoaderState> states;
  std::vector<Batch> expected;
  const auto unbroken = make_loader(options);
  for (int i = 0; i < batches; ++i) {
    states.push_back(unbroken->state());
    expected.push_back(unbroken->next());
  }
  ASSERT_GE(unbroken->epoch(), 2) << "the test must cross the end of the data";
  for (int i = 0; i < batches; ++i) {
    const auto resumed = make_loader(options);
    resumed->next();
    resumed->restore(states[static_cast<size_t>(i)]);
    for (int k = i; k < std::min(batches, i + 4); ++k) {
      EXPECT_EQ(resumed->state(), states[static_cast<size_t>(k)]);
      const Batch batch = resumed->next();
      EXPECT_EQ(batch.tokens, expected[static_cast<size_t>(k)].tokens)
          << "resumed at " << i << ", batch " << k;
      EXPECT_EQ(batch.labels, expected[static_cast<size_t>(k)].labels)
          << "resumed at " << i << ", batch " << k;
    }
  }
}

TEST(SamplesTest, EverySourceResumesInTheMiddleOfAnEpoch) {
  ScratchFolder folder;
  std::string lines;
  for (int i = 0; i < 12; ++i) {
    const std::string text = "document " + std::to_string(i * i);
    folder.write("text/" + std::to_string(i) + ".txt", text);
    lines += "{\"text\":\"" + text + "\"}\n";
  }
  folder.write("a.jsonl", lines.substr(0, 100).substr(0, lines.substr(0, 100).rfind('\n') + 1));
  folder.write("b.jsonl", lines.substr(lines.substr(0, 100).rfind('\n') + 1));
  for (const bool shuffle : {false, true})
    for (int64_t rank = 0; rank < 2; ++rank) {
      DatasetOptions options = token_options(counting_file(folder, "t.bin", 0, 40));
      options.shuffle = shuffle;
      options.shuffle_buffer = 3;
      options.share = {rank, 2};
      expect_exact_resume(options, 20);
      options.dataset = "text";
      options.path = folder / "text";
      expect_exact_resume(options, 60);
      options.dataset = "jsonl";
      options.path = folder / "*.jsonl";
      expect_exact_resume(options, 60);
    }
  expect_exact_resume(mixture_options(folder), 80);
}

TEST(SamplesTest, StatesOfOtherDataAreRefused) {
  ScratchFolder folder;
  DatasetOptions options = mixture_options(folder);
  const LoaderState state = make_loader(options)->state();
  ASSERT_EQ(state.parts.size(), 3u);
  options.seed = 5;
  expect_error(ExitStatus::kData, {"other data", "order of documents"},
               [&] { make_loader(options)->restore(state); });
  options.seed = 0;
  LoaderState damaged = state;
  damaged.parts.pop_back();
  expect_error(ExitStatus::kData, {"not that of a mixture of 3 sources", "low ("},
               [&] { make_loader(options)->restore(damaged); });
  damaged = state;
  damaged.parts.back().document = 1000;
  const auto loader = make_loader(options);
  const Batch first = make_loader(options)->next();
  expect_error(ExitStatus::kData, {"does not exist"}, [&] { loader->restore(damaged); });
  EXPECT_EQ(loader->next().tokens, first.tokens)
      << "a refused state leaves the loader where it was";
}

}  // namespace
}  // namespace titan::data
