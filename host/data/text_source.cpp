#include "data/text_source.h"

#include "base/error.h"
#include "data/data_files.h"
#include "data/shuffle.h"

namespace titan::data {
namespace fs = std::filesystem;

TextSource::TextSource(const fs::path& path, const DocumentOrder& order, std::string_view hint)
    : path_(path), order_(order) {
  const std::vector<fs::path> files = data_files(path, {".txt"}, hint);
  const bool several = files.size() > 1 || files.front() != path;
  for (const fs::path& file : files) add(file, hint, /*empty_allowed=*/several);
  if (files_.empty())
    throw data_error("every text file of '" + path.string() + "' is empty", path.string(),
                     "put text into the files, or name others");
  share_out({0, 1});
}

void TextSource::share_out(const DataShare& share) {
  order_.share = share;
  epoch_ = 0;
  document_ = share.rank;
  open_current();
}

void TextSource::add(const fs::path& path, std::string_view hint, bool empty_allowed) {
  InputFile file(path, "text file", hint);
  char first = 0;
  if (file.read(file.mark_bytes(), &first, 1) == 0) {
    if (empty_allowed) return;
    throw data_error("the text file '" + path.string() + "' is empty", path.string(),
                     "name a file that holds text");
  }
  files_.push_back(path);
  total_bytes_ += file.stored_bytes();
  content_bytes_ = file.compressed() || content_bytes_ == kUnknownSize
                       ? kUnknownSize
                       : content_bytes_ + file.stored_bytes();
}

void TextSource::open_current() {
  if (order_.shuffle && permuted_epoch_ != epoch_) {
    permuted_ = permutation(
        document_count(), mixed(static_cast<uint64_t>(order_.seed), static_cast<uint64_t>(epoch_)));
    permuted_epoch_ = epoch_;
  }
  const auto index = static_cast<size_t>(document_);
  const fs::path& path = files_[order_.shuffle ? static_cast<size_t>(permuted_[index]) : index];
  if (open_ && open_->path() == path) return;
  open_.emplace(path, "text file", "it was there when the run began: keep the data in place");
}

void TextSource::next() {
  document_ += order_.share.ranks;
  if (document_ >= document_count()) {
    document_ = order_.share.rank;
    ++epoch_;
  }
  open_current();
}

StreamPosition TextSource::place() const {
  StreamPosition place;
  place.epoch = epoch_;
  place.document = document_;
  return place;
}

bool TextSource::seek(const StreamPosition& place) {
  if (place.epoch < 0 || place.document < 0 || place.document >= document_count() ||
      place.document % order_.share.ranks != order_.share.rank)
    return false;
  epoch_ = place.epoch;
  document_ = place.document;
  open_current();
  return true;
}

}  // namespace titan::data
