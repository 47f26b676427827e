/// From the name of a dataset to a loader over it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/loader.h"
#include "data/tokenizers/open_tokenizer.h"

namespace titan::data {

/// One source of a mixture.
struct MixturePart {
  std::string name;
  double weight = 0;
  std::string dataset;  ///< as DatasetOptions::dataset, but for "mixture"
  std::filesystem::path path;
};

struct DatasetOptions {
  /// "pride_and_prejudice" (the built-in text), "text" (files, each a document), "jsonl" (files,
  /// each line a document), "chat" (files, each line a conversation), "tokens" (a file of token
  /// ids) or "mixture" (several of them).
  std::string dataset = "pride_and_prejudice";
  std::filesystem::path path;            ///< file, folder or pattern; not of the built-in text
  std::string key = "text";              ///< jsonl only: where the text is
  std::string chat_template = "chatml";  ///< chat only
  bool chat_packing = true;              ///< chat only: several conversations in a sample
  std::string token_dtype = "uint16";    ///< tokens only: uint16, int32 or uint32
  std::vector<MixturePart> mixture;      ///< mixture only
  int64_t seq_len = 2048;
  int64_t batch_size = 8;          ///< samples in one batch
  int64_t vocab_size = 0;          ///< of the model
  TokenizerOptions tokenizer;      ///< of all but tokens
  bool add_bos = true;             ///< of text and jsonl: in front of each document
  bool add_eos = true;             ///< of text and jsonl: behind each document
  bool shuffle = false;            ///< another order in every epoch
  int64_t shuffle_buffer = 10000;  ///< jsonl and chat: lines that are held for it
  int64_t seed = 0;                ///< of the order and of the draws of a mixture
  DataShare share;                 ///< what this rank reads; no two ranks read the same
  std::filesystem::path data_dir;  ///< where the built-in text lies
};

/// Throws a usage error for options that do not fit together and a data error for data that is
/// missing or malformed.
std::unique_ptr<Loader> make_loader(const DatasetOptions& options);

}  // namespace titan::data
