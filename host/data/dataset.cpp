#include "data/dataset.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "data/chat_samples.h"
#include "data/jsonl_source.h"
#include "data/mixed_samples.h"
#include "data/packing.h"
#include "data/shifted_samples.h"
#include "data/shuffle.h"
#include "data/text_source.h"
#include "data/token_file_note.h"
#include "data/token_source.h"
#include "data/tokenizer.h"

namespace titan::data {
namespace {

/// How messages call the tokenizer.
std::string tokenizer_name(const TokenizerOptions& options) {
  return options.path.empty() ? "the byte tokenizer"
                              : "the tokenizer '" + options.path.string() + "'";
}

void check_vocabulary(const DatasetOptions& options, int64_t tokenizer_ids) {
  if (tokenizer_ids > options.vocab_size)
    throw usage_error(tokenizer_name(options.tokenizer) + " has " + std::to_string(tokenizer_ids) +
                          " ids, the model's vocab_size is " + std::to_string(options.vocab_size),
                      "training.dataset '" + options.dataset + "'",
                      "choose a model with a vocab_size of " + std::to_string(tokenizer_ids) +
                          " or more (model.args.vocab_size), or another model.tokenizer_path");
  // Whoever trains on bytes knows that a model of words has more ids.
  if (tokenizer_ids < options.vocab_size && !options.tokenizer.path.empty())
    log_warning(tokenizer_name(options.tokenizer) + " has " + std::to_string(tokenizer_ids) +
                " ids, the model's vocab_size is " + std::to_string(options.vocab_size) +
                ": the ids from " + std::to_string(tokenizer_ids) + " on are never seen");
}

DocumentOrder document_order(const DatasetOptions& options) {
  return {options.shuffle, options.seed, options.share};
}

std::unique_ptr<TokenStream> packed(const DatasetOptions& options,
                                    std::unique_ptr<DocumentSource> source) {
  auto tokenizer = open_tokenizer(options.tokenizer);
  check_vocabulary(options, tokenizer->vocab_size());
  if (options.add_eos && !tokenizer->eos())
    log_warning(tokenizer_name(options.tokenizer) +
                " has no token that ends a document: documents run into each other");
  return std::make_unique<PackedText>(std::move(source), std::move(tokenizer),
                                      PackingOptions{options.add_bos, options.add_eos});
}

/// Too few documents to share out are read by every rank, and shared out by sample.
std::unique_ptr<SampleSource> text_samples(const DatasetOptions& options,
                                           std::unique_ptr<TextSource> source) {
  const bool by_document = source->document_count() >= options.share.ranks;
  if (by_document) source->share_out(options.share);
  return std::make_unique<ShiftedSamples>(packed(options, std::move(source)),
                                          by_document ? DataShare() : options.share);
}

void require_path(const DatasetOptions& options) {
  if (!options.path.empty()) return;
  std::string hint = "set training.dataset_path to a file of token ids";
  if (options.dataset == "text") hint = TextSource::kTextHint;
  if (options.dataset == "jsonl" || options.dataset == "chat") hint = JsonlLines::kJsonlHint;
  throw usage_error("the dataset '" + options.dataset + "' needs a path", "training.dataset_path",
                    hint);
}

std::unique_ptr<SampleSource> built_in_samples(const DatasetOptions& options) {
  if (!options.path.empty())
    throw usage_error("the dataset 'pride_and_prejudice' is built in and takes no path, '" +
                          options.path.string() + "' was given",
                      "training.dataset_path",
                      "set training.dataset to text, jsonl or tokens to train on that path");
  return text_samples(options,
                      std::make_unique<TextSource>(
                          options.data_dir / "pride_and_prejudice.txt", document_order(options),
                          "run ./dev data (or ./dev train), or set TITAN_DATA_DIR"));
}

std::unique_ptr<SampleSource> chat_samples(const DatasetOptions& options) {
  // What a message spells out must not end it.
  TokenizerOptions text_only = options.tokenizer;
  text_only.parse_special_tokens = false;
  auto tokenizer = open_tokenizer(text_only);
  check_vocabulary(options, tokenizer->vocab_size());
  return std::make_unique<ChatSamples>(
      JsonlLines(options.path, document_order(options), options.shuffle_buffer),
      options.chat_template, std::move(tokenizer), options.chat_packing);
}

std::unique_ptr<SampleSource> token_samples(const DatasetOptions& options) {
  const TokenType type = parse_token_type(options.token_dtype);
  if (const auto note = read_token_note(options.path)) {
    // Before the ids are looked at: read as another type, they would be called damaged.
    const RegularFile file =
        RegularFile::open(options.path, "token file", "the note beside it is there");
    check_token_note(
        *note, options.path, options.token_dtype, file.size() / token_bytes(type),
        options.vocab_size,
        options.tokenizer.path.empty() ? std::string() : tokenizer_sha256(options.tokenizer));
  }
  const TokenOrder order{options.shuffle, options.seed, std::max<int64_t>(options.seq_len, 1) + 1};
  return std::make_unique<ShiftedSamples>(
      std::make_unique<TokenFile>(options.path, type, options.vocab_size, order), options.share);
}

std::unique_ptr<SampleSource> open_samples(const DatasetOptions& options);

/// Sources speak of training.dataset_path; in a mixture the path is a part of its item.
std::string in_mixture(std::string text) {
  const std::string from = "training.dataset_path", to = "the path in training.mixture";
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::unique_ptr<SampleSource> mixed_samples(const DatasetOptions& options) {
  if (options.mixture.empty())
    throw usage_error(
        "the mixture has no source", "training.mixture",
        "list sources as NAME:WEIGHT:DATASET:PATH, for example web:0.7:jsonl:/data/web");
  std::vector<MixedSamples::Source> sources;
  for (const MixturePart& part : options.mixture) {
    DatasetOptions one = options;
    one.dataset = part.dataset;
    one.path = part.path;
    // Each source has an order of its own, also where two of them are the same files.
    one.seed =
        static_cast<int64_t>(mixed(static_cast<uint64_t>(options.seed), sources.size(), 3) >> 1);
    try {
      sources.push_back({part.name, part.weight, open_samples(one)});
    } catch (const Error& error) {
      throw Error(error.status(), "source '" + part.name + "' of the mixture: " + error.what(),
                  in_mixture(error.where()), in_mixture(error.hint()));
    }
  }
  return std::make_unique<MixedSamples>(std::move(sources), options.seed, options.share.rank);
}

std::unique_ptr<SampleSource> open_samples(const DatasetOptions& options) {
  if (options.dataset == "pride_and_prejudice") return built_in_samples(options);
  if (options.dataset == "mixture") return mixed_samples(options);
  if (options.dataset == "text") {
    require_path(options);
    return text_samples(options,
                        std::make_unique<TextSource>(options.path, document_order(options)));
  }
  if (options.dataset == "jsonl") {
    require_path(options);
    JsonlLines lines(options.path, document_order(options), options.shuffle_buffer);
    return std::make_unique<ShiftedSamples>(
        packed(options, std::make_unique<JsonlSource>(std::move(lines), options.key)));
  }
  if (options.dataset == "chat") {
    require_path(options);
    return chat_samples(options);
  }
  if (options.dataset == "tokens") {
    require_path(options);
    return token_samples(options);
  }
  throw usage_error("there is no dataset '" + options.dataset + "'", "training.dataset",
                    "use pride_and_prejudice, text, jsonl, chat, tokens or mixture");
}

}  // namespace

std::unique_ptr<Loader> make_loader(const DatasetOptions& options) {
  return std::make_unique<Loader>(open_samples(options), options.seq_len, options.batch_size);
}

}  // namespace titan::data
