/// Texts that the model writes while it is trained: section samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "data/tokenizer.h"
#include "generate/text_generator.h"
#include "model/module.h"

namespace titan::train {

struct WrittenSamples {
  struct Text {
    std::string prompt, text;
  };
  int64_t step = 0;         ///< optimizer steps done
  std::vector<Text> texts;  ///< one a prompt, in their order
  double seconds = 0;
};

class TextSamples {
 public:
  /// Opens the tokenizer that training uses; throws a usage error that names the keys of section
  /// samples if a prompt does not fit into `longest` tokens.
  TextSamples(const config::Config& config, int64_t vocab_size, int64_t longest);

  /// After step 1 and every samples.freq steps, as validation is.
  bool due(int64_t step) const { return step == 1 || step % freq_ == 0; }

  /// Changes nothing that training sees. The random numbers are the same in every step, so texts of
  /// different steps differ by what was learned. `context` says how to compute; if `stopped` says
  /// yes, texts end as they are.
  WrittenSamples write(model::Module& root, const model::CallContext& context, at::Device device,
                       const std::function<bool()>& stopped) const;

 private:
  int64_t freq_;
  std::vector<std::string> prompts_;
  std::unique_ptr<data::Tokenizer> tokenizer_;
  std::vector<std::vector<int64_t>> ids_;
  generate::GenerationOptions options_;
};

}  // namespace titan::train
