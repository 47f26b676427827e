/// Documents of text: one file each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/document_source.h"
#include "data/input_file.h"

namespace titan::data {

/// Each file is one document. Bytes are taken as they are, but for a byte-order mark of UTF-8 at
/// the beginning; they need not be valid UTF-8.
///
/// All files are opened once at the start, so that a missing, unreadable or odd one is reported
/// before training begins. Later one file at a time is open. Shuffling permutes the files. Shared
/// out, rank r of n ranks reads the documents r, r + n, ... of the epoch's order.
class TextSource final : public DocumentSource {
 public:
  /// A file, a folder whose *.txt and *.txt.zst are taken, or a pattern such as texts/part-*.txt.
  /// Empty files of several are left out. Throws a data error that names the path; `hint` is the
  /// fix when nothing is there.
  explicit TextSource(const std::filesystem::path& path, const DocumentOrder& order = {},
                      std::string_view hint = kTextHint);

  /// Goes to this rank's first document; there are at least as many documents as ranks.
  void share_out(const DataShare& share);

  static constexpr std::string_view kTextHint =
      "set training.dataset_path to a text file, a folder with *.txt files, or a pattern such as "
      "'texts/*.txt'";

  int64_t read(int64_t offset, char* to, int64_t size) override {
    return open_->read(open_->mark_bytes() + offset, to, size);
  }
  void next() override;
  StreamPosition place() const override;
  bool seek(const StreamPosition& place) override;
  int64_t content_bytes() const override { return content_bytes_; }
  int64_t document_count() const override { return static_cast<int64_t>(files_.size()); }
  int64_t total_bytes() const override { return total_bytes_; }
  std::string where() const override { return path_.string(); }
  /// The file of the current document.
  const std::filesystem::path& current_path() const { return open_->path(); }

 private:
  void add(const std::filesystem::path& file, std::string_view hint, bool empty_allowed);
  void open_current();

  std::filesystem::path path_;
  DocumentOrder order_;
  std::vector<std::filesystem::path> files_;
  int64_t total_bytes_ = 0, content_bytes_ = 0;
  int64_t epoch_ = 0;
  int64_t document_ = 0;           ///< in the epoch's order
  std::vector<int64_t> permuted_;  ///< of this epoch; empty: by name
  int64_t permuted_epoch_ = -1;
  std::optional<InputFile> open_;
};

}  // namespace titan::data
