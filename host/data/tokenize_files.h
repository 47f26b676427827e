/// Files of text into ids, with several threads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace titan::data {

struct TokenizeOptions {
  std::vector<std::filesystem::path>
      files;                      ///< *.jsonl (also compressed): each line; others: each file
  std::string key = "text";       ///< of JSON lines
  bool bos = false, eos = false;  ///< around each document; the tokenizer has them
  int64_t threads = 1;
};

struct TokenizeCounts {
  int64_t documents = 0;
  int64_t text_bytes = 0;  ///< decompressed, without the JSON around it
  int64_t tokens = 0;
  bool stopped = false;  ///< `go_on` said no: the ids are not complete
};

/// Bytes of the files on disk; a data error for one that cannot be read.
int64_t stored_bytes_of(const std::vector<std::filesystem::path>& files);

/// Hands the ids of all documents to `write`, in their order, whatever the number of threads.
/// `go_on` is told how many bytes of the files have been read, and may end the work. Both are
/// called in this thread. Holds about 2 MiB of text for each thread; of a file of text that is
/// longer, one piece.
TokenizeCounts tokenize_files(const TokenizeOptions& options, const Tokenizer& tokenizer,
                              const std::function<void(std::span<const int64_t>)>& write,
                              const std::function<bool(int64_t)>& go_on);

}  // namespace titan::data
