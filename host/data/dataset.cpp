#include "data/dataset.h"

#include <utility>

#include "base/error.h"
#include "data/packing.h"
#include "data/text_source.h"
#include "data/token_source.h"
#include "data/tokenizer.h"

namespace titan::data {
namespace {

std::unique_ptr<TokenStream> open_text(const DatasetOptions& options, TextSource source) {
  auto tokenizer = std::make_unique<ByteTokenizer>();
  if (tokenizer->vocab_size() > options.vocab_size)
    throw usage_error("the byte tokenizer has " + std::to_string(tokenizer->vocab_size()) +
                          " ids, the model's vocab_size is " + std::to_string(options.vocab_size),
                      "training.dataset '" + options.dataset + "'",
                      "choose a model with a vocab_size of " +
                          std::to_string(tokenizer->vocab_size()) +
                          " or more, or train on a file of token ids (training.dataset=tokens)");
  return std::make_unique<PackedText>(std::move(source), std::move(tokenizer));
}

void require_path(const DatasetOptions& options) {
  if (options.path.empty())
    throw usage_error("the dataset '" + options.dataset + "' needs a path", "training.dataset_path",
                      options.dataset == "text"
                          ? "set training.dataset_path to a text file or a folder with *.txt files"
                          : "set training.dataset_path to a file of token ids");
}

std::unique_ptr<TokenStream> open_stream(const DatasetOptions& options) {
  if (options.dataset == "text") {
    require_path(options);
    return open_text(options, TextSource(options.path));
  }
  if (options.dataset == "tokens") {
    require_path(options);
    return std::make_unique<TokenFile>(options.path, parse_token_type(options.token_dtype),
                                       options.vocab_size);
  }
  if (options.dataset == "pride_and_prejudice") {
    if (!options.path.empty())
      throw usage_error("the dataset 'pride_and_prejudice' is built in and takes no path, '" +
                            options.path.string() + "' was given",
                        "training.dataset_path",
                        "set training.dataset to text or tokens to train on that path");
    return open_text(options, TextSource(options.data_dir / "pride_and_prejudice.txt",
                                         "run ./dev data (or ./dev train), or set TITAN_DATA_DIR"));
  }
  throw usage_error("there is no dataset '" + options.dataset + "'", "training.dataset",
                    "use pride_and_prejudice, text or tokens");
}

}  // namespace

std::unique_ptr<Loader> make_loader(const DatasetOptions& options) {
  return std::make_unique<Loader>(open_stream(options), options.seq_len, options.batch_size);
}

}  // namespace titan::data
