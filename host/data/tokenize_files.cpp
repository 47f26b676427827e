#include "data/tokenize_files.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <utility>

#include "base/error.h"
#include "data/data_files.h"
#include "data/input_file.h"
#include "data/jsonl_source.h"

namespace titan::data {
namespace {

using Files = std::vector<std::filesystem::path>;

/// Documents of about this size together are one task.
constexpr size_t kTaskBytes = size_t{1} << 20;
/// A longer file of text is not held as a whole.
constexpr size_t kLongDocument = size_t{8} << 20;
constexpr std::string_view kInputHint =
    "name files of text or JSON lines, folders with them, or patterns";

class TokenizeRun {
 public:
  TokenizeRun(const TokenizeOptions& options, const Tokenizer& tokenizer,
              const std::function<void(std::span<const int64_t>)>& write,
              const std::function<bool(int64_t)>& go_on)
      : options_(options), write_(write), go_on_(go_on) {
    for (int64_t i = 0; i < options.threads; ++i) idle_.push_back(tokenizer.another());
  }

  TokenizeCounts run() {
    for (size_t begin = 0; begin < options_.files.size() && !counts_.stopped;) {
      size_t end = begin + 1;
      if (!is_jsonl(begin)) {
        read_text(options_.files[begin]);
      } else {
        while (end < options_.files.size() && is_jsonl(end)) ++end;
        read_lines({options_.files.begin() + static_cast<std::ptrdiff_t>(begin),
                    options_.files.begin() + static_cast<std::ptrdiff_t>(end)});
      }
      begin = end;
    }
    send_task();
    while (!running_.empty()) take_result();
    return counts_;
  }

 private:
  bool is_jsonl(size_t index) const { return has_ending(options_.files[index], ".jsonl"); }

  void read_lines(const Files& files) {
    JsonlSource source(JsonlLines(files, files.front(), {}, 1), options_.key);
    for (; source.place().epoch == 0 && !counts_.stopped; source.next()) {
      add_document(source.text());
      report(source.lines().bytes_read());
    }
    done_bytes_ += source.total_bytes();
  }

  void read_text(const std::filesystem::path& path) {
    InputFile file(path, "text file", kInputHint);
    std::string text(kLongDocument + 1, '\0');
    text.resize(static_cast<size_t>(
        file.read(file.mark_bytes(), text.data(), static_cast<int64_t>(text.size()))));
    if (text.size() <= kLongDocument) {
      if (!text.empty()) add_document(std::move(text));
    } else {
      encode_long(file, std::move(text));
    }
    report(file.stored_bytes());
    done_bytes_ += file.stored_bytes();
  }

  /// Piece by piece, as far as the tokenizer allows; `text` is the beginning of the file.
  void encode_long(InputFile& file, std::string text) {
    send_task();
    while (!running_.empty()) take_result();
    Tokenizer& tokenizer = *idle_.front();
    std::vector<int64_t> ids;
    if (options_.bos) ids.push_back(*tokenizer.bos());
    auto read = file.mark_bytes() + static_cast<int64_t>(text.size());
    size_t wanted = kLongDocument;
    for (bool last = false; !counts_.stopped;) {
      const size_t used = tokenizer.encode_some(text, last, ids);
      text.erase(0, used);
      counts_.text_bytes += static_cast<int64_t>(used);
      write(ids);
      ids.clear();
      if (last) break;
      // Nothing is sure yet: twice as much.
      wanted = used == 0 ? 2 * text.size() : kLongDocument;
      const size_t have = text.size();
      text.resize(std::max(wanted, have));
      const int64_t got =
          file.read(read, text.data() + have, static_cast<int64_t>(text.size() - have));
      last = have + static_cast<size_t>(got) < text.size();
      text.resize(have + static_cast<size_t>(got));
      read += got;
      report(file.bytes_read());
    }
    if (options_.eos) ids.push_back(*tokenizer.eos());
    write(ids);
    ++counts_.documents;
  }

  void add_document(std::string text) {
    task_bytes_ += text.size();
    task_.push_back(std::move(text));
    if (task_bytes_ >= kTaskBytes) send_task();
  }

  void send_task() {
    if (task_.empty()) return;
    while (static_cast<int64_t>(running_.size()) >= 2 * options_.threads) take_result();
    counts_.documents += static_cast<int64_t>(task_.size());
    counts_.text_bytes += static_cast<int64_t>(task_bytes_);
    running_.push_back(std::async(
        std::launch::async, [this, texts = std::exchange(task_, {})] { return encode(texts); }));
    task_bytes_ = 0;
  }

  /// In a thread of its own; as many at a time as there are tokenizers.
  std::vector<int64_t> encode(const std::vector<std::string>& texts) {
    std::unique_ptr<Tokenizer> tokenizer = borrow();
    std::vector<int64_t> ids;
    try {
      for (const std::string& text : texts) {
        if (options_.bos) ids.push_back(*tokenizer->bos());
        tokenizer->encode(text, ids);
        if (options_.eos) ids.push_back(*tokenizer->eos());
      }
    } catch (...) {
      give_back(std::move(tokenizer));
      throw;
    }
    give_back(std::move(tokenizer));
    return ids;
  }

  std::unique_ptr<Tokenizer> borrow() {
    std::unique_lock lock(mutex_);
    available_.wait(lock, [this] { return !idle_.empty(); });
    std::unique_ptr<Tokenizer> tokenizer = std::move(idle_.back());
    idle_.pop_back();
    return tokenizer;
  }

  void give_back(std::unique_ptr<Tokenizer> tokenizer) {
    {
      const std::lock_guard lock(mutex_);
      idle_.push_back(std::move(tokenizer));
    }
    available_.notify_one();
  }

  void take_result() {
    std::future<std::vector<int64_t>> result = std::move(running_.front());
    running_.pop_front();
    write(result.get());
  }

  void write(std::span<const int64_t> ids) {
    counts_.tokens += static_cast<int64_t>(ids.size());
    if (!ids.empty()) write_(ids);
  }

  void report(int64_t bytes) { counts_.stopped = counts_.stopped || !go_on_(done_bytes_ + bytes); }

  const TokenizeOptions& options_;
  const std::function<void(std::span<const int64_t>)>& write_;
  const std::function<bool(int64_t)>& go_on_;
  TokenizeCounts counts_;
  int64_t done_bytes_ = 0;  ///< of files that are read
  std::vector<std::string> task_;
  size_t task_bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable available_;
  std::vector<std::unique_ptr<Tokenizer>> idle_;
  /// Last: its threads end before what they use goes.
  std::deque<std::future<std::vector<int64_t>>> running_;
};

}  // namespace

int64_t stored_bytes_of(const Files& files) {
  int64_t bytes = 0;
  for (const std::filesystem::path& file : files)
    bytes += InputFile(file, "input file", kInputHint).stored_bytes();
  return bytes;
}

TokenizeCounts tokenize_files(const TokenizeOptions& options, const Tokenizer& tokenizer,
                              const std::function<void(std::span<const int64_t>)>& write,
                              const std::function<bool(int64_t)>& go_on) {
  return TokenizeRun(options, tokenizer, write, go_on).run();
}

}  // namespace titan::data
