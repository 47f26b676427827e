/// Packing: documents become one stream with BOS and EOS; places in it are found again.
#include "data/packing.h"

#include <gtest/gtest.h>

#include <numeric>

#include "data/text_source.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

constexpr int64_t kBos = ByteTokenizer::kBos;
constexpr int64_t kEos = ByteTokenizer::kEos;

/// One id a word: shows that a tokenizer that cannot be cut gets whole documents.
class WordLengths final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return 102; }
  std::optional<int64_t> bos() const override { return 100; }
  std::optional<int64_t> eos() const override { return 101; }
  std::optional<int64_t> special_id(std::string_view) const override { return std::nullopt; }
  std::optional<std::string_view> bytes_of(int64_t) const override { return std::nullopt; }
  std::unique_ptr<Tokenizer> another() const override { return std::make_unique<WordLengths>(); }
  size_t encode_some(std::string_view text, bool last, std::vector<int64_t>& ids) override {
    if (!last) return 0;
    int64_t length = 0;
    for (const char c : text) {
      if (c != ' ') {
        ++length;
      } else {
        ids.push_back(length);
        length = 0;
      }
    }
    ids.push_back(length);
    return text.size();
  }
};

PackedText packed(const std::filesystem::path& path,
                  int64_t piece_bytes = PackingOptions().piece_bytes) {
  return PackedText(std::make_unique<TextSource>(path), std::make_unique<ByteTokenizer>(),
                    {true, true, piece_bytes});
}

std::vector<int64_t> take(TokenStream& stream, size_t count) {
  std::vector<int64_t> tokens(count);
  stream.read(tokens);
  return tokens;
}

TEST(PackedTextTest, DocumentsFollowWithBosAndEosAndBeginAgain) {
  ScratchFolder folder;
  folder.write("a.txt", "xy");
  folder.write("b.txt", "z");
  PackedText stream = packed(folder.path());
  EXPECT_EQ(stream.token_count(), 7);
  EXPECT_EQ(take(stream, 7), (std::vector<int64_t>{kBos, 'x', 'y', kEos, kBos, 'z', kEos}));
  EXPECT_EQ(stream.position().epoch, 0) << "the data begins again only when more is asked for";
  EXPECT_EQ(take(stream, 2), (std::vector<int64_t>{kBos, 'x'}));
  EXPECT_EQ(stream.position().epoch, 1);
}

TEST(PackedTextTest, PiecesOfADocumentChangeNothing) {
  ScratchFolder folder;
  std::string text(1000, '\0');
  std::iota(text.begin(), text.end(), '\0');
  folder.write("a.txt", text);
  folder.write("b.txt", "short");
  PackedText whole = packed(folder.path());
  const std::vector<int64_t> expected = take(whole, 3000);
  for (const int64_t piece_bytes : {1, 7, 500, 1000}) {
    PackedText stream = packed(folder.path(), piece_bytes);
    EXPECT_EQ(take(stream, 3000), expected) << piece_bytes;
  }
}

TEST(PackedTextTest, TokenizersThatCannotBeCutGetWholeDocuments) {
  ScratchFolder folder;
  PackedText stream(std::make_unique<TextSource>(folder.write("a.txt", "It is a truth")),
                    std::make_unique<WordLengths>(), {true, true, 3});
  EXPECT_EQ(take(stream, 7), (std::vector<int64_t>{100, 2, 2, 1, 5, 101, 100}));
}

TEST(PackedTextTest, EveryPlaceIsFoundAgain) {
  ScratchFolder folder;
  folder.write("a.txt", "abcdefg");
  folder.write("b.txt", "h");
  folder.write("c.txt", "ijklmnopq");
  for (size_t place = 0; place < 60; ++place) {
    PackedText stream = packed(folder.path(), 4);
    take(stream, place);
    const StreamPosition position = stream.position();
    const std::vector<int64_t> expected = take(stream, 50);
    const StreamPosition end = stream.position();

    PackedText other = packed(folder.path(), 4);
    other.seek(position);
    EXPECT_EQ(take(other, 50), expected) << place;
    EXPECT_EQ(other.position(), end) << place;
  }
}

TEST(PackedTextTest, BosAndEosCanBeLeftOut) {
  ScratchFolder folder;
  folder.write("a.txt", "xy");
  folder.write("b.txt", "z");
  for (const bool bos : {false, true})
    for (const bool eos : {false, true}) {
      PackedText stream(std::make_unique<TextSource>(folder.path()),
                        std::make_unique<ByteTokenizer>(), {bos, eos});
      std::vector<int64_t> expected;
      for (const std::string text : {"xy", "z"}) {
        if (bos) expected.push_back(kBos);
        expected.insert(expected.end(), text.begin(), text.end());
        if (eos) expected.push_back(kEos);
      }
      EXPECT_EQ(stream.token_count(), static_cast<int64_t>(expected.size()));
      EXPECT_EQ(take(stream, expected.size()), expected);
    }
}

/// Has no ids for anything.
class NoIds final : public Tokenizer {
 public:
  int64_t vocab_size() const override { return 1; }
  std::optional<int64_t> bos() const override { return std::nullopt; }
  std::optional<int64_t> eos() const override { return std::nullopt; }
  std::optional<int64_t> special_id(std::string_view) const override { return std::nullopt; }
  std::optional<std::string_view> bytes_of(int64_t) const override { return std::nullopt; }
  std::unique_ptr<Tokenizer> another() const override { return std::make_unique<NoIds>(); }
  size_t encode_some(std::string_view text, bool, std::vector<int64_t>&) override {
    return text.size();
  }
};

TEST(PackedTextTest, DataWithoutATokenIsNotReadForEver) {
  ScratchFolder folder;
  PackedText stream(std::make_unique<TextSource>(folder.write("a.txt", "text")),
                    std::make_unique<NoIds>());
  expect_error(ExitStatus::kData, {"a.txt", "no token for any document"}, [&] { take(stream, 1); });
}

TEST(PackedTextTest, RefusesPlacesThatDoNotExistAndStaysWhereItWas) {
  ScratchFolder folder;
  PackedText stream = packed(folder.write("a.txt", "abcdef"));
  take(stream, 3);
  for (const StreamPosition& position :
       {StreamPosition{0, 1, 0, 0}, StreamPosition{0, -1, 0, 0}, StreamPosition{0, 0, 6, 0},
        StreamPosition{0, 0, 0, 9}, StreamPosition{-1, 0, 0, 0}, StreamPosition{0, 0, -1, 0},
        StreamPosition{0, 0, 0, -1}}) {
    expect_error(ExitStatus::kData, {"a.txt", "does not exist in this text"},
                 [&] { stream.seek(position); });
  }
  EXPECT_EQ(take(stream, 2), (std::vector<int64_t>{'c', 'd'}));
}

}  // namespace
}  // namespace titan::data
