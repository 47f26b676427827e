#include "train/text_samples.h"

#include <chrono>

#include "base/error.h"
#include "base/numbers.h"
#include "data/tokenizers/open_tokenizer.h"
#include "train/data_options.h"

namespace titan::train {

TextSamples::TextSamples(const config::Config& config, int64_t vocab_size, int64_t longest)
    : freq_(config.samples.freq),
      prompts_(config.samples.prompts),
      tokenizer_(data::open_tokenizer(tokenizer_options(config))) {
  generate::require_vocabulary(
      *tokenizer_, vocab_size, "samples",
      "set model.tokenizer_path to the tokenizer that the data was made with");
  if (prompts_.empty()) prompts_.emplace_back();
  for (const std::string& prompt : prompts_) {
    ids_.push_back(generate::encode_prompt(*tokenizer_, prompt, config.training.add_bos));
    const std::vector<int64_t>& ids = ids_.back();
    if (ids.empty())
      throw usage_error("an empty prompt has nothing to begin with: no BOS goes before it",
                        "samples.prompts", "give prompts of some text");
    if (static_cast<int64_t>(ids.size()) > longest)
      throw usage_error("a prompt has " + with_commas(static_cast<int64_t>(ids.size())) +
                            " tokens, the sequences of this run " + with_commas(longest),
                        "samples.prompts", "shorten it, or raise training.seq_len");
  }
  options_.max_new_tokens = config.samples.max_new_tokens;
  options_.sampling.temperature = config.samples.temperature;
  options_.sampling.top_k = config.samples.top_k;
  options_.sampling.top_p = config.samples.top_p;
  options_.sampling.seed = static_cast<uint64_t>(config.training.seed);
}

WrittenSamples TextSamples::write(model::Module& root, const model::CallContext& context,
                                  at::Device device, const std::function<bool()>& stopped) const {
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<generate::Completion> completions =
      generate::generate(root, context, device, *tokenizer_, ids_, options_, {}, stopped);
  WrittenSamples samples;
  samples.step = context.step;
  for (size_t i = 0; i < completions.size(); ++i)
    samples.texts.push_back({prompts_[i], completions[i].text});
  samples.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return samples;
}

}  // namespace titan::train
