#include "generate/text_generator.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/numbers.h"
#include "data/tokenizers/stream_decoder.h"
#include "generate/stop_text.h"
#include "model/kv_cache.h"
#include "model/random_scope.h"

namespace titan::generate {
namespace {

/// One text while it is written.
class Row {
 public:
  Row(int64_t index, std::vector<int64_t> prompt, const data::Tokenizer& tokenizer,
      const GenerationOptions& options)
      : index_(index),
        ids_(std::move(prompt)),
        sampler_(options.sampling, index),
        decoder_(tokenizer),
        stop_(options.stop) {}

  const std::vector<int64_t>& ids() const { return ids_; }
  bool done() const { return done_; }
  Completion take() { return std::move(made_); }

  void add(const at::Tensor& logits, const data::Tokenizer& tokenizer,
           const std::vector<int64_t>& ends, const GenerationOptions& options, int64_t longest,
           const OnText& on_text) {
    const int64_t id = sampler_.pick(logits, tokenizer.vocab_size());
    ids_.push_back(id);
    made_.ids.push_back(id);
    if (options.stop_at_eos && std::find(ends.begin(), ends.end(), id) != ends.end()) {
      end(Finish::kEos, on_text);
      return;
    }
    show(stop_.push(decoder_.push(id)), on_text);
    if (stop_.stopped())
      end(Finish::kStop, on_text);
    else if (static_cast<int64_t>(made_.ids.size()) == options.max_new_tokens)
      end(Finish::kLength, on_text);
    else if (static_cast<int64_t>(ids_.size()) > longest)
      end(Finish::kContext, on_text);
  }

  void end(Finish finish, const OnText& on_text) {
    show(stop_.push(decoder_.finish()), on_text);
    show(stop_.finish(), on_text);
    made_.finish = stop_.stopped() ? Finish::kStop : finish;
    done_ = true;
  }

 private:
  void show(const std::string& piece, const OnText& on_text) {
    made_.text += piece;
    if (on_text && !piece.empty()) on_text(index_, piece);
  }

  int64_t index_;
  std::vector<int64_t> ids_;  ///< prompt and new tokens
  Sampler sampler_;
  data::StreamDecoder decoder_;
  StopText stop_;
  Completion made_;
  bool done_ = false;
};

at::Tensor token_tensor(const std::vector<int64_t>& ids, at::Device device) {
  return at::tensor(ids, at::kLong).to(device).unsqueeze(0);
}

/// Gives the logits of the last token of each row that is not done, with as little work as it can.
class Reader {
 public:
  Reader(model::Module& decoder, const model::CallContext& context, at::Device device)
      : decoder_(decoder), context_(context), device_(device) {}
  virtual ~Reader() = default;
  /// `rows`: those that are not done, in order. Returns [rows, vocab_size].
  virtual at::Tensor read(const std::vector<Row*>& rows) = 0;

 protected:
  model::Module& decoder_;
  model::CallContext context_;
  at::Device device_;
};

/// Everything again for each token.
class WholeReader final : public Reader {
 public:
  using Reader::Reader;
  at::Tensor read(const std::vector<Row*>& rows) override {
    std::vector<at::Tensor> logits;
    for (Row* row : rows) {
      const at::Tensor all = decoder_(context_, {token_tensor(row->ids(), device_)});
      logits.push_back(all.select(1, all.size(1) - 1));
    }
    return at::cat(logits);
  }
};

class CachedReader final : public Reader {
 public:
  CachedReader(model::Module& decoder, const model::CallContext& context, at::Device device,
               const std::vector<Row*>& rows, int64_t capacity)
      : Reader(decoder, context, device),
        held_(rows),
        cache_(static_cast<int64_t>(rows.size()), capacity) {
    context_.kv_cache = &cache_;
  }

  at::Tensor read(const std::vector<Row*>& rows) override {
    if (rows != held_) {
      std::vector<int64_t> kept;
      for (size_t i = 0; i < held_.size(); ++i)
        if (std::find(rows.begin(), rows.end(), held_[i]) != rows.end())
          kept.push_back(static_cast<int64_t>(i));
      cache_.keep_rows(kept);
      held_ = rows;
    }
    if (cache_.length(0) == 0) return prompts();
    std::vector<int64_t> last;
    for (const Row* row : rows) last.push_back(row->ids().back());
    return decoder_(context_, {token_tensor(last, device_).t()}).select(1, 0);
  }

 private:
  /// One by one: prompts of different lengths share no call.
  at::Tensor prompts() {
    std::vector<at::Tensor> logits;
    for (size_t i = 0; i < held_.size(); ++i) {
      cache_.choose(static_cast<int64_t>(i), 1);
      logits.push_back(decoder_(context_, {token_tensor(held_[i]->ids(), device_)}).select(1, 0));
    }
    cache_.choose(0, cache_.rows());
    return at::cat(logits);
  }

  std::vector<Row*> held_;
  model::KvCache cache_;
};

void check(const std::vector<std::vector<int64_t>>& prompts, const GenerationOptions& options,
           int64_t longest) {
  if (options.max_new_tokens < 1)
    throw usage_error(
        "at least one token must be generated, found " + std::to_string(options.max_new_tokens),
        "max_new_tokens", "give 1 or more");
  if (options.batch_size < 1)
    throw usage_error(
        "at least one text is written at a time, found " + std::to_string(options.batch_size),
        "batch_size", "give 1 or more");
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto length = static_cast<int64_t>(prompts[i].size());
    if (length == 0)
      throw usage_error("prompt " + std::to_string(i + 1) +
                            " has no tokens, and the tokenizer has no BOS to begin with",
                        "prompt", "give at least one character");
    if (length > longest)
      throw usage_error("prompt " + std::to_string(i + 1) + " has " + with_commas(length) +
                            " tokens, the model takes " + with_commas(longest),
                        "prompt", "shorten it");
  }
}

}  // namespace

const char* name_of(Finish finish) {
  switch (finish) {
    case Finish::kLength: return "length";
    case Finish::kEos: return "eos";
    case Finish::kStop: return "stop";
    case Finish::kContext: return "context";
    case Finish::kInterrupted: return "interrupted";
  }
  return "";
}

void require_vocabulary(const data::Tokenizer& tokenizer, int64_t vocab_size,
                        const std::string& where, const std::string& hint) {
  if (tokenizer.vocab_size() > vocab_size)
    throw usage_error("the tokenizer has " + with_commas(tokenizer.vocab_size()) +
                          " ids, the model knows " + with_commas(vocab_size),
                      where, hint);
}

std::vector<int64_t> encode_prompt(data::Tokenizer& tokenizer, const std::string& text,
                                   bool with_bos) {
  std::vector<int64_t> ids;
  if (with_bos && tokenizer.bos()) ids.push_back(*tokenizer.bos());
  tokenizer.encode(text, ids);
  return ids;
}

std::vector<int64_t> end_ids(const data::Tokenizer& tokenizer) {
  std::vector<int64_t> ids;
  if (const auto eos = tokenizer.eos()) ids.push_back(*eos);
  for (const char* name : {"<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|endoftext|>"})
    if (const auto id = tokenizer.special_id(name)) ids.push_back(*id);
  return ids;
}

std::vector<Completion> generate(model::Module& decoder, model::CallContext context,
                                 at::Device device, const data::Tokenizer& tokenizer,
                                 const std::vector<std::vector<int64_t>>& prompts,
                                 const GenerationOptions& options, const OnText& on_text,
                                 const std::function<bool()>& stopped) {
  const at::NoGradGuard no_grad;
  const model::RandomScope undisturbed(device);
  context.training = context.recompute = false;
  context.metrics = nullptr;
  const auto longest = static_cast<int64_t>(decoder.attributes().at("max_seq_len"));
  check(prompts, options, longest);
  std::vector<int64_t> ends = end_ids(tokenizer);
  ends.insert(ends.end(), options.more_end_ids.begin(), options.more_end_ids.end());
  const bool cached = options.use_cache && model::KvCache::fits(decoder);

  std::vector<Completion> completions;
  for (size_t first = 0; first < prompts.size(); first += static_cast<size_t>(options.batch_size)) {
    const size_t end = std::min(prompts.size(), first + static_cast<size_t>(options.batch_size));
    std::vector<std::unique_ptr<Row>> rows;
    std::vector<Row*> open;
    int64_t capacity = 0;
    for (size_t i = first; i < end; ++i) {
      rows.push_back(
          std::make_unique<Row>(static_cast<int64_t>(i), prompts[i], tokenizer, options));
      open.push_back(rows.back().get());
      // The last token is written, but not read.
      capacity =
          std::max(capacity, static_cast<int64_t>(prompts[i].size()) + options.max_new_tokens - 1);
    }
    std::unique_ptr<Reader> reader;
    if (cached)
      reader = std::make_unique<CachedReader>(decoder, context, device, open,
                                              std::min(capacity, longest));
    else
      reader = std::make_unique<WholeReader>(decoder, context, device);
    while (!open.empty() && !(stopped && stopped())) {
      const at::Tensor logits = reader->read(open);
      for (size_t i = 0; i < open.size(); ++i)
        open[i]->add(logits[static_cast<int64_t>(i)], tokenizer, ends, options, longest, on_text);
      std::erase_if(open, [](const Row* row) { return row->done(); });
    }
    for (Row* row : open) row->end(Finish::kInterrupted, on_text);
    for (const auto& row : rows) completions.push_back(row->take());
  }
  return completions;
}

}  // namespace titan::generate
