/// Lines of JSON-lines files, in order or shuffled, shared out between ranks.
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

/// Reads the files from front to back, plain or compressed, and holds no more than one batch of
/// lines in memory. Lines that are blank do not count. Rank r of n ranks gets the lines r, r + n,
/// ... of an epoch, counted through all files.
///
/// Shuffled, an epoch permutes the files, then the lines of each batch: `shuffle_buffer` lines in a
/// row (of this rank), or fewer if they pass 256 MiB. Datasets of one long file are mixed as far as
/// that reaches; a file whose own order matters is better shuffled once, when it is made.
class JsonlLines {
 public:
  static constexpr std::string_view kJsonlHint =
      "set training.dataset_path to a file with a JSON object in each line, a folder with *.jsonl "
      "files, or "
      "a pattern such as 'data/part-*.jsonl.zst'";

  /// Opens every file once, and reads the first batch. Throws a data error that names the path.
  JsonlLines(const std::filesystem::path& path, const DocumentOrder& order, int64_t shuffle_buffer);
  /// The files as they are listed; messages about all of them name `path`.
  JsonlLines(std::vector<std::filesystem::path> files, const std::filesystem::path& path,
             const DocumentOrder& order, int64_t shuffle_buffer);

  /// The current line, without its end.
  const std::string& line() const { return held_[index()].text; }
  /// Its file and number: "data.jsonl:17". Counts the lines of the file, so for messages only.
  std::string where_line() const;
  /// The next line; a data error if this rank finds none in a whole epoch.
  void next();

  StreamPosition place() const;
  bool seek(const StreamPosition& place);

  int64_t content_bytes() const { return content_bytes_; }
  int64_t total_bytes() const { return total_bytes_; }
  /// Bytes on disk of the files before the one that is being read, and of that as far as it was
  /// read.
  int64_t bytes_read() const;
  std::string where() const { return path_.string(); }

 private:
  struct HeldLine {
    std::string text;
    size_t file;     ///< index in files_
    int64_t offset;  ///< where it begins there
  };
  /// Where the reading stands.
  struct Cursor {
    int64_t epoch = 0, file = 0, offset = 0, ordinal = 0;
  };

  size_t index() const {
    return order_.shuffle ? static_cast<size_t>(shuffled_[static_cast<size_t>(at_)]) : 0;
  }
  size_t file_index(int64_t file) const;
  void begin_epoch(int64_t epoch);
  /// Holds the lines that follow `reading_`; false if the epoch has none for this rank any more.
  bool hold_lines();
  /// The next line of the file that is open; false at its end.
  bool read_line(std::string& line, int64_t& offset);
  void open_file();

  std::filesystem::path path_;
  DocumentOrder order_;
  int64_t shuffle_buffer_;
  std::vector<std::filesystem::path> files_;
  std::vector<int64_t> stored_bytes_;  ///< of files_
  int64_t total_bytes_ = 0, content_bytes_ = 0;

  Cursor held_from_;  ///< where the lines held begin
  Cursor reading_;    ///< what is read next
  std::vector<HeldLine> held_;
  std::vector<int64_t> shuffled_;  ///< order of held_
  int64_t at_ = 0;                 ///< in that order
  std::vector<int64_t> file_order_;

  std::optional<InputFile> open_;
  int64_t open_file_ = -1;  ///< index in files_
  std::string buffer_;      ///< of the open file, from buffer_from_ on
  int64_t buffer_from_ = 0;
};

}  // namespace titan::data
