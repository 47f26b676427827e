#include "data/jsonl_lines.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "data/data_files.h"
#include "data/shuffle.h"

namespace titan::data {
namespace {

constexpr size_t kReadBytes = size_t{1} << 18;
constexpr size_t kMostHeldBytes = size_t{256} << 20;

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

JsonlLines::JsonlLines(const std::filesystem::path& path, const DocumentOrder& order,
                       int64_t shuffle_buffer)
    : JsonlLines(data_files(path, {".jsonl"}, kJsonlHint), path, order, shuffle_buffer) {}

JsonlLines::JsonlLines(std::vector<std::filesystem::path> files, const std::filesystem::path& path,
                       const DocumentOrder& order, int64_t shuffle_buffer)
    : path_(path), order_(order), shuffle_buffer_(shuffle_buffer), files_(std::move(files)) {
  for (const std::filesystem::path& file : files_) {
    const InputFile opened(file, "JSON lines file", kJsonlHint);
    stored_bytes_.push_back(opened.stored_bytes());
    total_bytes_ += opened.stored_bytes();
    content_bytes_ = opened.compressed() || content_bytes_ == kUnknownSize
                         ? kUnknownSize
                         : content_bytes_ + opened.stored_bytes();
  }
  begin_epoch(0);
  held_from_ = reading_;
  if (!hold_lines())
    throw data_error(
        (order_.share.ranks == 1 ? std::string("there is")
                                 : "rank " + std::to_string(order_.share.rank) + " of " +
                                       std::to_string(order_.share.ranks) + " finds") +
            " no line in the data",
        path_.string(), "use files with at least one JSON object for each rank");
}

size_t JsonlLines::file_index(int64_t file) const {
  return static_cast<size_t>(order_.shuffle ? file_order_[static_cast<size_t>(file)] : file);
}

void JsonlLines::begin_epoch(int64_t epoch) {
  reading_ = {epoch, 0, 0, 0};
  if (order_.shuffle)
    file_order_ =
        permutation(static_cast<int64_t>(files_.size()),
                    mixed(static_cast<uint64_t>(order_.seed), static_cast<uint64_t>(epoch)));
}

void JsonlLines::open_file() {
  const size_t index = file_index(reading_.file);
  if (open_file_ != static_cast<int64_t>(index)) {
    open_.emplace(files_[index], "JSON lines file",
                  "it was there when the run began: keep the data in place");
    open_file_ = static_cast<int64_t>(index);
    buffer_.clear();
    buffer_from_ = 0;
  }
  // Keeps what of the buffer is still ahead.
  const int64_t ahead = reading_.offset - buffer_from_;
  if (ahead >= 0 && ahead <= static_cast<int64_t>(buffer_.size()))
    buffer_.erase(0, static_cast<size_t>(ahead));
  else
    buffer_.clear();
  buffer_from_ = reading_.offset;
}

bool JsonlLines::read_line(std::string& line, int64_t& offset) {
  open_file();
  offset = reading_.offset;
  for (size_t searched = 0;;) {
    const size_t end = buffer_.find('\n', searched);
    if (end != std::string::npos) {
      line.assign(buffer_, 0, end);
      reading_.offset += static_cast<int64_t>(end) + 1;
      return true;
    }
    searched = buffer_.size();
    // Doubled for long lines, so that their bytes are not copied over and over.
    const size_t more = std::max(kReadBytes, buffer_.size());
    buffer_.resize(searched + more);
    const int64_t got = open_->read(buffer_from_ + static_cast<int64_t>(searched),
                                    buffer_.data() + searched, static_cast<int64_t>(more));
    buffer_.resize(searched + static_cast<size_t>(got));
    if (got > 0) continue;
    line = buffer_;
    reading_.offset += static_cast<int64_t>(line.size());
    return !line.empty();
  }
}

bool JsonlLines::hold_lines() {
  held_.clear();
  at_ = 0;
  size_t bytes = 0;
  const int64_t wanted = order_.shuffle ? shuffle_buffer_ : 1;
  std::string line;
  while (reading_.file < static_cast<int64_t>(files_.size())) {
    int64_t offset = 0;
    if (!read_line(line, offset)) {
      ++reading_.file;
      reading_.offset = 0;
      continue;
    }
    if (is_blank(line)) continue;
    if (reading_.ordinal++ % order_.share.ranks != order_.share.rank) continue;
    bytes += line.size();
    held_.push_back({std::move(line), file_index(reading_.file), offset});
    if (static_cast<int64_t>(held_.size()) == wanted || bytes > kMostHeldBytes) break;
  }
  if (order_.shuffle)
    shuffled_ = permutation(
        static_cast<int64_t>(held_.size()),
        mixed(static_cast<uint64_t>(order_.seed), static_cast<uint64_t>(held_from_.epoch),
              static_cast<uint64_t>(held_from_.ordinal), 1));
  return !held_.empty();
}

void JsonlLines::next() {
  if (++at_ < static_cast<int64_t>(held_.size())) return;
  held_from_ = reading_;
  if (hold_lines()) return;
  begin_epoch(held_from_.epoch + 1);
  held_from_ = reading_;
  if (hold_lines()) return;
  throw data_error("the data has no line any more", path_.string(),
                   "keep the files unchanged while titan reads them");
}

StreamPosition JsonlLines::place() const {
  StreamPosition place;
  place.epoch = held_from_.epoch;
  place.document = at_;
  place.file = held_from_.file;
  place.offset = held_from_.offset;
  place.ordinal = held_from_.ordinal;
  return place;
}

bool JsonlLines::seek(const StreamPosition& place) {
  if (place.epoch < 0 || place.file < 0 || place.file > static_cast<int64_t>(files_.size()) ||
      place.offset < 0 || place.ordinal < 0 || place.document < 0)
    return false;
  const StreamPosition before = this->place();
  const auto go = [this](const StreamPosition& to) {
    begin_epoch(to.epoch);
    held_from_ = reading_ = {to.epoch, to.file, to.offset, to.ordinal};
    if (!hold_lines() || to.document >= static_cast<int64_t>(held_.size())) return false;
    at_ = to.document;
    return true;
  };
  if (go(place)) return true;
  go(before);
  return false;
}

int64_t JsonlLines::bytes_read() const {
  int64_t bytes = open_ ? open_->bytes_read() : 0;
  for (int64_t file = 0; file < reading_.file && file < static_cast<int64_t>(files_.size()); ++file)
    bytes += stored_bytes_[file_index(file)];
  return std::min(bytes, total_bytes_);
}

std::string JsonlLines::where_line() const {
  const HeldLine& held = held_[index()];
  const std::filesystem::path& path = files_[held.file];
  InputFile file(path, "JSON lines file",
                 "it was there when the run began: keep the data in place");
  std::vector<char> chunk(kReadBytes);
  int64_t number = 1;
  for (int64_t at = 0; at < held.offset;) {
    const int64_t got =
        file.read(at, chunk.data(), std::min(held.offset - at, static_cast<int64_t>(chunk.size())));
    if (got == 0) break;
    number += std::count(chunk.begin(), chunk.begin() + got, '\n');
    at += got;
  }
  return path.string() + ":" + std::to_string(number);
}

}  // namespace titan::data
