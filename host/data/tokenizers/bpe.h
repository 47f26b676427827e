/// Byte-level byte-pair encoding: a vocabulary of byte strings and the merges between them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace titan::data {

/// From a pair of neighbouring ids to the rank of their merge and the id it gives: a hash table
/// with open addressing, read by many threads at once.
class MergeTable {
 public:
  struct Merge {
    int32_t rank = -1;  ///< lower ranks merge first; -1: the pair does not merge
    int32_t id = -1;
  };

  explicit MergeTable(size_t merges);
  /// A pair that is there already gets the new merge.
  void insert(int32_t left, int32_t right, Merge merge);
  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t at = slot_of(key);; at = (at + 1) & mask_) {
      if (entries_[at].key == key) return entries_[at].merge;
      if (entries_[at].key == kFree) return {};
    }
  }

 private:
  struct Entry {
    uint64_t key = kFree;
    Merge merge;
  };
  static constexpr uint64_t kFree = ~uint64_t{0};  // ids are not negative, so no key equals it
  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const {
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> shift_) & mask_;
  }

  std::vector<Entry> entries_;
  size_t mask_ = 0;
  int shift_ = 0;
};

/// What an encoding is made of; the readers of tokenizer files build it.
struct BpeParts {
  std::vector<std::string> bytes;       ///< by id; empty for an id that no text gives
  std::array<int32_t, 256> byte_ids{};  ///< the ids of single bytes
  MergeTable merges{0};
  /// A piece that is in the vocabulary as a whole becomes that id, whatever the merges say.
  bool whole_pieces_first = false;
};

/// Immutable and shared by threads.
class Bpe {
 public:
  explicit Bpe(BpeParts parts);
  Bpe(const Bpe&) = delete;
  Bpe& operator=(const Bpe&) = delete;

  int64_t size() const { return static_cast<int64_t>(parts_.bytes.size()); }
  /// The bytes of an id below size().
  const std::string& bytes_of(int64_t id) const { return parts_.bytes[static_cast<size_t>(id)]; }

  /// Appends the ids of one piece: of all neighbours the pair of the lowest rank merges first, of
  /// equal ranks the leftmost. O(n log n) in the length of the piece.
  void encode(std::string_view piece, std::vector<int32_t>& ids) const;

 private:
  void merge_short(std::string_view piece, std::vector<int32_t>& ids) const;
  void merge_long(std::string_view piece, std::vector<int32_t>& ids) const;

  BpeParts parts_;
  std::unordered_map<std::string_view, int32_t> ids_;  ///< of parts_.bytes
};

/// Remembers the ids of short pieces, which most texts repeat; for one thread. Holds some tens of
/// megabytes at most.
class CachedBpe {
 public:
  explicit CachedBpe(std::shared_ptr<const Bpe> bpe) : bpe_(std::move(bpe)) {}

  /// Appends the ids of one piece.
  void encode(std::string_view piece, std::vector<int64_t>& ids);
  const Bpe& bpe() const { return *bpe_; }

 private:
  struct PieceHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::shared_ptr<const Bpe> bpe_;
  std::unordered_map<std::string, std::vector<int32_t>, PieceHash, std::equal_to<>> known_;
  std::vector<int32_t> scratch_;
};

}  // namespace titan::data
