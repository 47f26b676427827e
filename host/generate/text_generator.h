/// Prompts in, texts out.
#pragma once

#include <ATen/core/TensorBody.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "generate/sampler.h"
#include "model/module.h"

namespace titan::generate {

struct GenerationOptions {
  SamplingOptions sampling;
  int64_t max_new_tokens = 64;    ///< 1 or more
  std::vector<std::string> stop;  ///< a text ends before the first of these
  bool stop_at_eos = true;        ///< and at a token of end_ids(), or of more_end_ids
  std::vector<int64_t> more_end_ids;
  bool use_cache = true;   ///< where the model allows it: see KvCache::fits
  int64_t batch_size = 8;  ///< texts that are written side by side
};

enum class Finish {
  kLength,       ///< max_new_tokens
  kEos,          ///< a token that ends a text
  kStop,         ///< a stop string
  kContext,      ///< the model takes no longer sequences
  kInterrupted,  ///< `stopped` said so
};
/// "length", "eos", "stop", "context", "interrupted".
const char* name_of(Finish finish);

struct Completion {
  std::vector<int64_t> ids;  ///< of the new tokens; with Finish::kEos the last one is the end token
  std::string text;          ///< valid UTF-8; without end token and stop string
  Finish finish = Finish::kLength;
};

/// Throws a usage error with `where` and `hint` if the tokenizer has ids that a model of
/// `vocab_size` does not know.
void require_vocabulary(const data::Tokenizer& tokenizer, int64_t vocab_size,
                        const std::string& where, const std::string& hint);

/// The ids of a prompt, behind the tokenizer's BOS if it has one and `with_bos` says so.
std::vector<int64_t> encode_prompt(data::Tokenizer& tokenizer, const std::string& text,
                                   bool with_bos);

/// The tokenizer's EOS, and the ends of messages that chat models know: <|eot_id|>, <|eom_id|>,
/// <|im_end|>, <|endoftext|>.
std::vector<int64_t> end_ids(const data::Tokenizer& tokenizer);

/// What is new of text `index`; on the thread of generate(), never with a part of a character.
using OnText = std::function<void(int64_t index, const std::string& piece)>;

/// Goes on with each prompt (ids, at least one). `decoder` computes as `context` says, with neither
/// gradients nor training; random generators of torch stay as they are. The texts do not depend on
/// batch_size, and on use_cache only as far as rounding goes.
///
/// Throws a usage error if a prompt leaves the model no room, and what the Sampler throws.
/// `stopped` is asked before every token; if it says yes the texts end as they are.
std::vector<Completion> generate(model::Module& decoder, model::CallContext context,
                                 at::Device device, const data::Tokenizer& tokenizer,
                                 const std::vector<std::vector<int64_t>>& prompts,
                                 const GenerationOptions& options, const OnText& on_text = {},
                                 const std::function<bool()>& stopped = {});

}  // namespace titan::generate
