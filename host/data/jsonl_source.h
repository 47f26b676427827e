/// Documents of JSON-lines files: the text under one key of each line.
#pragma once

#include <string>
#include <utility>

#include "data/document_source.h"
#include "data/jsonl_lines.h"

namespace titan::data {

/// Lines whose text is empty are passed over. A line that is no JSON object, lacks the key or has
/// something else there is a data error that names the file and the line, when the line's turn
/// comes.
class JsonlSource final : public DocumentSource {
 public:
  /// `key` is that of the text, "text"; "meta.body" goes into an object, unless a key of that very
  /// name is there.
  JsonlSource(JsonlLines lines, std::string key);

  int64_t read(int64_t offset, char* to, int64_t size) override;
  void next() override;
  StreamPosition place() const override { return lines_.place(); }
  bool seek(const StreamPosition& place) override;
  int64_t content_bytes() const override { return lines_.content_bytes(); }
  int64_t document_count() const override { return lines_.content_bytes() / kShortestLine; }
  int64_t total_bytes() const override { return lines_.total_bytes(); }
  std::string where() const override { return lines_.where(); }
  const JsonlLines& lines() const { return lines_; }
  /// All of the current document.
  const std::string& text() const { return text_; }

 private:
  /// {"k":"x"} and a line end.
  static constexpr int64_t kShortestLine = 10;

  std::string text_of_line() const;
  void take_line() { text_ = text_of_line(); }
  void pass_over_empty();

  JsonlLines lines_;
  std::string key_;
  std::string text_;
};

}  // namespace titan::data
