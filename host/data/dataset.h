/// From the name of a dataset to a loader over it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "data/loader.h"

namespace titan::data {

struct DatasetOptions {
  /// "pride_and_prejudice" (the built-in text), "text" (a file or a folder of *.txt) or "tokens"
  /// (a file of token ids).
  std::string dataset = "pride_and_prejudice";
  std::filesystem::path path;          ///< text and tokens only
  std::string token_dtype = "uint16";  ///< tokens only: uint16, int32 or uint32
  int64_t seq_len = 2048;
  int64_t batch_size = 8;          ///< samples in one batch
  int64_t vocab_size = 0;          ///< of the model
  std::filesystem::path data_dir;  ///< where the built-in text lies
};

/// Text is tokenized byte by byte. Throws a usage error for options that do not fit together and a
/// data error for data that is missing or malformed.
std::unique_ptr<Loader> make_loader(const DatasetOptions& options);

}  // namespace titan::data
