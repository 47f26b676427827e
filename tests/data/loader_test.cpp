/// The loader: which tokens a batch holds, and that a restored one goes on with the same ones.
#include "data/loader.h"

#include <gtest/gtest.h>

#include "data/packing.h"
#include "data/text_source.h"
#include "data/token_source.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

/// Token ids 0, 1, ..., count - 1.
std::filesystem::path counting_file(const ScratchFolder& folder, uint16_t count) {
  std::string bytes;
  for (uint16_t i = 0; i < count; ++i) {
    bytes.push_back(static_cast<char>(i & 0xff));
    bytes.push_back(static_cast<char>(i >> 8));
  }
  return folder.write("count.bin", bytes);
}

Loader count_loader(const std::filesystem::path& path, int64_t seq_len, int64_t batch_size) {
  return Loader(std::make_unique<TokenFile>(path, TokenType::kUint16, 65536), seq_len, batch_size);
}

TEST(LoaderTest, SamplesAreOneTokenLongerThanTheInputAndShareNone) {
  ScratchFolder folder;
  Loader loader = count_loader(counting_file(folder, 100), 4, 2);
  const Batch first = loader.next();
  EXPECT_EQ(first.batch, 2);
  EXPECT_EQ(first.seq, 4);
  EXPECT_EQ(first.tokens, (std::vector<int64_t>{0, 1, 2, 3, 5, 6, 7, 8}));
  EXPECT_EQ(first.labels, (std::vector<int64_t>{1, 2, 3, 4, 6, 7, 8, 9}));
  EXPECT_EQ(loader.next().tokens, (std::vector<int64_t>{10, 11, 12, 13, 15, 16, 17, 18}));
  EXPECT_EQ(loader.state().samples, 4);
}

TEST(LoaderTest, ASampleGoesOnAtTheBeginningOfTheData) {
  ScratchFolder folder;
  Loader loader = count_loader(counting_file(folder, 8), 4, 1);
  EXPECT_EQ(loader.next().tokens, (std::vector<int64_t>{0, 1, 2, 3}));
  EXPECT_EQ(loader.epoch(), 0);
  const Batch across = loader.next();
  EXPECT_EQ(across.tokens, (std::vector<int64_t>{5, 6, 7, 0}));
  EXPECT_EQ(across.labels, (std::vector<int64_t>{6, 7, 0, 1}));
  EXPECT_EQ(loader.epoch(), 1);
}

/// Restores `make()` at every batch of the first `batches` and compares what follows.
template <class Make>
void expect_exact_resume(Make make, int batches) {
  std::vector<LoaderState> states;
  std::vector<Batch> expected;
  Loader unbroken = make();
  for (int i = 0; i < batches; ++i) {
    states.push_back(unbroken.state());
    expected.push_back(unbroken.next());
  }
  ASSERT_GE(unbroken.epoch(), 2) << "the test must cross the end of the data";
  for (int i = 0; i < batches; ++i) {
    Loader resumed = make();
    resumed.next();  // a used loader must forget where it was
    resumed.restore(states[i]);
    for (int k = i; k < std::min(batches, i + 5); ++k) {
      EXPECT_EQ(resumed.state(), states[k]);
      const Batch batch = resumed.next();
      EXPECT_EQ(batch.tokens, expected[k].tokens) << "resumed at " << i << ", batch " << k;
      EXPECT_EQ(batch.labels, expected[k].labels) << "resumed at " << i << ", batch " << k;
    }
  }
}

TEST(LoaderTest, ResumesTokensExactlyAcrossEpochs) {
  ScratchFolder folder;
  const auto path = counting_file(folder, 37);
  expect_exact_resume([&] { return count_loader(path, 4, 2); }, 20);
}

TEST(LoaderTest, ResumesTextExactlyInsideDocumentsAndAcrossEpochs) {
  ScratchFolder folder;
  folder.write("a.txt", "It is a truth universally acknowledged,");
  folder.write("b.txt", "x");
  folder.write("c.txt", "that a single man in possession of a good fortune");
  expect_exact_resume(
      [&] {
        return Loader(std::make_unique<PackedText>(std::make_unique<TextSource>(folder.path()),
                                                   std::make_unique<ByteTokenizer>(),
                                                   PackingOptions{true, true, 16}),
                      6, 3);
      },
      40);
}

TEST(LoaderTest, DataMustHoldOneSample) {
  ScratchFolder folder;
  const auto path = counting_file(folder, 8);
  EXPECT_EQ(count_loader(path, 7, 1).next().labels.back(), 7);
  expect_error(ExitStatus::kData, {"count.bin", "has 8 tokens", "= 9", "training.seq_len"},
               [&] { count_loader(path, 8, 1); });
  expect_error(ExitStatus::kData, {"has 8 tokens"}, [&] { count_loader(path, INT64_MAX, 1); });
}

TEST(LoaderTest, RefusesImpossibleSizes) {
  ScratchFolder folder;
  const auto path = counting_file(folder, 8);
  expect_error(ExitStatus::kUsage, {"training.seq_len is 0"}, [&] { count_loader(path, 0, 1); });
  expect_error(ExitStatus::kUsage, {"training.local_batch_size is -1"},
               [&] { count_loader(path, 2, -1); });
  expect_error(ExitStatus::kUsage, {"does not fit"}, [&] { count_loader(path, 2, INT64_MAX); });
}

TEST(LoaderTest, RefusesAStateOfOtherData) {
  ScratchFolder folder;
  const LoaderState state = count_loader(counting_file(folder, 50), 4, 1).state();
  Loader other = count_loader(counting_file(folder, 40), 4, 1);
  expect_error(ExitStatus::kData, {"data of 100 bytes", "has 80", "resume with the data"},
               [&] { other.restore(state); });
  LoaderState damaged = other.state();
  damaged.samples = -1;
  expect_error(ExitStatus::kData, {"-1 samples"}, [&] { other.restore(damaged); });
}

TEST(BatchTest, CountsLabelsThatMatter) {
  EXPECT_EQ(kIgnoreIndex, -100);
  EXPECT_EQ(count_valid_labels(std::vector<int64_t>{1, -100, 0, -100, 5}), 3);
  EXPECT_EQ(count_valid_labels({}), 0);
}

}  // namespace
}  // namespace titan::data
