/// Merging: against the definition carried out step by step, for short and for long pieces.
#include "data/tokenizers/bpe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <random>

namespace titan::data {
namespace {

/// A vocabulary of the letters a to d and of random merges.
struct Vocabulary {
  std::vector<std::string> bytes;
  std::map<std::pair<int32_t, int32_t>, std::pair<int32_t, int32_t>> merges;  // to rank and id

  std::shared_ptr<Bpe> bpe(bool whole_pieces_first) const {
    BpeParts parts;
    parts.bytes = bytes;
    parts.byte_ids.fill(0);
    for (int32_t i = 0; i < 4; ++i) parts.byte_ids[static_cast<size_t>('a' + i)] = i;
    parts.merges = MergeTable(merges.size());
    for (const auto& [pair, merge] : merges)
      parts.merges.insert(pair.first, pair.second, {merge.first, merge.second});
    parts.whole_pieces_first = whole_pieces_first;
    return std::make_shared<Bpe>(std::move(parts));
  }
};

Vocabulary random_vocabulary(std::mt19937& random) {
  Vocabulary made{{"a", "b", "c", "d"}, {}};
  for (int32_t rank = 0; made.bytes.size() < 60; ++rank) {
    const auto left = static_cast<int32_t>(random() % made.bytes.size());
    const auto right = static_cast<int32_t>(random() % made.bytes.size());
    const std::string together =
        made.bytes[static_cast<size_t>(left)] + made.bytes[static_cast<size_t>(right)];
    if (std::find(made.bytes.begin(), made.bytes.end(), together) != made.bytes.end()) continue;
    if (!made.merges.try_emplace({left, right}, rank, static_cast<int32_t>(made.bytes.size()))
             .second)
      continue;
    made.bytes.push_back(together);
  }
  return made;
}

std::vector<int32_t> by_definition(const Vocabulary& vocabulary, std::string_view piece) {
  std::vector<int32_t> ids;
  for (const char c : piece) ids.push_back(c - 'a');
  for (;;) {
    size_t best = ids.size();
    std::pair<int32_t, int32_t> best_merge;
    for (size_t i = 0; i + 1 < ids.size(); ++i) {
      const auto merge = vocabulary.merges.find({ids[i], ids[i + 1]});
      if (merge == vocabulary.merges.end()) continue;
      if (best == ids.size() || merge->second.first < best_merge.first)
        best = i, best_merge = merge->second;
    }
    if (best == ids.size()) return ids;
    ids[best] = best_merge.second;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(BpeTest, MergesTheLowestRankFirstAndOfEqualOnesTheLeftmost) {
  std::mt19937 random(7);
  for (int round = 0; round < 40; ++round) {
    const Vocabulary vocabulary = random_vocabulary(random);
    const auto bpe = vocabulary.bpe(false);
    for (int i = 0; i < 30; ++i) {
      std::string piece(1 + random() % 120, 'a');
      const unsigned letters = 1 + random() % 4;
      for (char& c : piece) c = static_cast<char>('a' + random() % letters);
      std::vector<int32_t> ids;
      bpe->encode(piece, ids);
      ASSERT_EQ(ids, by_definition(vocabulary, piece)) << piece;
    }
  }
}

TEST(BpeTest, WholePiecesGoFirstOnlyIfAsked) {
  Vocabulary vocabulary{{"a", "b", "c", "d", "ab", "abc"}, {{{0, 1}, {0, 4}}}};
  std::vector<int32_t> ids;
  vocabulary.bpe(false)->encode("abc", ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{4, 2})) << "no merge leads to abc";
  ids.clear();
  vocabulary.bpe(true)->encode("abc", ids);
  EXPECT_EQ(ids, (std::vector<int32_t>{5}));
}

TEST(BpeTest, CachedPiecesAreTheSame) {
  std::mt19937 random(3);
  const Vocabulary vocabulary = random_vocabulary(random);
  CachedBpe cached(vocabulary.bpe(false));
  for (int i = 0; i < 2000; ++i) {
    std::string piece(1 + random() % 6, 'a');
    for (char& c : piece) c = static_cast<char>('a' + random() % 4);
    std::vector<int64_t> ids;
    cached.encode(piece, ids);
    const std::vector<int32_t> expected = by_definition(vocabulary, piece);
    ASSERT_EQ(ids, std::vector<int64_t>(expected.begin(), expected.end()));
  }
}

TEST(BpeTest, TimeGrowsHardlyFasterThanLength) {
  Vocabulary vocabulary{{"a", "b", "c", "d", "aa", "aaaa"}, {{{0, 0}, {0, 4}}, {{4, 4}, {1, 5}}}};
  const auto bpe = vocabulary.bpe(false);
  const auto seconds = [&](size_t size) {
    std::vector<int32_t> ids;
    const auto begin = std::chrono::steady_clock::now();
    bpe->encode(std::string(size, 'a'), ids);
    EXPECT_EQ(ids.size(), size / 4);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(1 << 14);
  const double small = std::max(seconds(1 << 16), 1e-3);
  // 16 times the length: quadratic time would be 256 times as long.
  EXPECT_LT(seconds(1 << 20), 100 * small);
}

}  // namespace
}  // namespace titan::data
