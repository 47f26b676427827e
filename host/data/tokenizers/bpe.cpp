#include "data/tokenizers/bpe.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>

#include "base/error.h"

namespace titan::data {
namespace {

/// Up to here a scan over all pairs is faster than a heap.
constexpr size_t kShortPiece = 48;
constexpr size_t kCachedPiece = 48;
constexpr size_t kCachedPieces = 1 << 17;

}  // namespace

MergeTable::MergeTable(size_t merges) {
  const size_t slots = std::bit_ceil(std::max<size_t>(2 * merges, 16));
  entries_.resize(slots);
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
}

void MergeTable::insert(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  while (entries_[at].key != kFree && entries_[at].key != key) at = (at + 1) & mask_;
  entries_[at] = {key, merge};
}

Bpe::Bpe(BpeParts parts) : parts_(std::move(parts)) {
  ids_.reserve(parts_.bytes.size());
  for (size_t id = 0; id < parts_.bytes.size(); ++id)
    if (!parts_.bytes[id].empty()) ids_.emplace(parts_.bytes[id], static_cast<int32_t>(id));
}

void Bpe::encode(std::string_view piece, std::vector<int32_t>& ids) const {
  if (parts_.whole_pieces_first) {
    if (const auto whole = ids_.find(piece); whole != ids_.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  if (piece.size() <= kShortPiece)
    merge_short(piece, ids);
  else
    merge_long(piece, ids);
}

void Bpe::merge_short(std::string_view piece, std::vector<int32_t>& ids) const {
  int32_t parts[kShortPiece];
  MergeTable::Merge merges[kShortPiece];  // of parts i and i + 1
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i)
    parts[i] = parts_.byte_ids[static_cast<unsigned char>(piece[i])];
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = parts_.merges.find(parts[i], parts[i + 1]);
  while (count > 1) {
    size_t best = count;
    int32_t best_rank = std::numeric_limits<int32_t>::max();
    for (size_t i = 0; i + 1 < count; ++i)
      if (merges[i].rank >= 0 && merges[i].rank < best_rank) best = i, best_rank = merges[i].rank;
    if (best == count) break;
    parts[best] = merges[best].id;
    std::copy(parts + best + 2, parts + count, parts + best + 1);
    if (best + 2 < count) std::copy(merges + best + 2, merges + count - 1, merges + best + 1);
    --count;
    if (best + 1 < count) merges[best] = parts_.merges.find(parts[best], parts[best + 1]);
    if (best > 0) merges[best - 1] = parts_.merges.find(parts[best - 1], parts[best]);
  }
  ids.insert(ids.end(), parts, parts + count);
}

void Bpe::merge_long(std::string_view piece, std::vector<int32_t>& ids) const {
  if (piece.size() >= std::numeric_limits<uint32_t>::max())
    throw data_error("a run of " + std::to_string(piece.size()) +
                         " bytes has no place where the tokenizer's pattern cuts it",
                     "tokenizer", "cut the text into documents of less than 4 GiB");
  const auto size = static_cast<uint32_t>(piece.size());
  constexpr uint32_t kEnd = std::numeric_limits<uint32_t>::max();
  struct Part {
    int32_t id;  // -1: merged into a part before it
    uint32_t before, after;
  };
  std::vector<Part> parts(size);
  for (uint32_t i = 0; i < size; ++i)
    parts[i] = {parts_.byte_ids[static_cast<unsigned char>(piece[i])], i == 0 ? kEnd : i - 1,
                i + 1 == size ? kEnd : i + 1};

  // Rank above, place below: the smallest number is the pair that merges next.
  std::vector<uint64_t> waiting;
  const auto merge_at = [&](uint32_t at) {
    const uint32_t next = parts[at].after;
    return next == kEnd ? MergeTable::Merge{} : parts_.merges.find(parts[at].id, parts[next].id);
  };
  const auto entry_of = [](int32_t rank, uint32_t at) {
    return static_cast<uint64_t>(rank) << 32 | at;
  };
  for (uint32_t i = 0; i + 1 < size; ++i)
    if (const auto merge = merge_at(i); merge.rank >= 0) waiting.push_back(entry_of(merge.rank, i));
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> queue(std::greater<>(),
                                                                             std::move(waiting));
  while (!queue.empty()) {
    const uint64_t entry = queue.top();
    queue.pop();
    const auto at = static_cast<uint32_t>(entry);
    if (parts[at].id < 0) continue;
    const auto merge = merge_at(at);
    if (merge.rank != static_cast<int32_t>(entry >> 32)) continue;  // a neighbour has changed since
    Part& left = parts[at];
    Part& right = parts[left.after];
    left.id = merge.id;
    right.id = -1;
    left.after = right.after;
    if (left.after != kEnd) parts[left.after].before = at;
    if (const auto next = merge_at(at); next.rank >= 0) queue.push(entry_of(next.rank, at));
    if (left.before == kEnd) continue;
    if (const auto next = merge_at(left.before); next.rank >= 0)
      queue.push(entry_of(next.rank, left.before));
  }
  for (uint32_t at = 0; at != kEnd; at = parts[at].after) ids.push_back(parts[at].id);
}

void CachedBpe::encode(std::string_view piece, std::vector<int64_t>& ids) {
  if (piece.size() > kCachedPiece) {
    scratch_.clear();
    bpe_->encode(piece, scratch_);
    ids.insert(ids.end(), scratch_.begin(), scratch_.end());
    return;
  }
  auto known = known_.find(piece);
  if (known == known_.end()) {
    if (known_.size() >= kCachedPieces) known_.clear();
    std::vector<int32_t> found;
    bpe_->encode(piece, found);
    known = known_.emplace(std::string(piece), std::move(found)).first;
  }
  ids.insert(ids.end(), known->second.begin(), known->second.end());
}

}  // namespace titan::data
