#include "train/data_options.h"

#include "config/mixture.h"
#include "data/tokenizers/open_tokenizer.h"
#include "train/model_args.h"

namespace titan::train {
data::TokenizerOptions tokenizer_options(const config::Config& config) {
  const config::Model& model = config.model;
  data::TokenizerOptions options;
  options.path = model.tokenizer_path;
  options.format = model.tokenizer_format;
  options.parse_special_tokens = config.training.parse_special_tokens;
  // A model that is defined by a folder brings its own.
  if (options.path.empty() && model.flavor == kFlavorFromHf && options.format != "bytes" &&
      data::holds_tokenizer(model.hf_assets_path))
    options.path = model.hf_assets_path;
  return options;
}

data::DatasetOptions training_data(const config::Config& config, int64_t vocab_size,
                                   const std::filesystem::path& data_dir) {
  const config::Training& training = config.training;
  data::DatasetOptions options;
  options.dataset = training.dataset;
  options.path = training.dataset_path;
  options.key = training.dataset_key;
  options.chat_template = training.chat_template;
  options.chat_packing = training.chat_packing;
  options.token_dtype = training.token_dtype;
  if (training.dataset == "mixture")
    for (const config::MixtureSource& source :
         config::parse_mixture(training.mixture, "training.mixture"))
      options.mixture.push_back({source.name, source.weight, source.dataset, source.path});
  options.seq_len = training.seq_len;
  options.batch_size = training.local_batch_size;
  options.vocab_size = vocab_size;
  options.data_dir = data_dir;
  options.add_bos = training.add_bos;
  options.add_eos = training.add_eos;
  options.shuffle = training.shuffle;
  options.shuffle_buffer = training.shuffle_buffer;
  options.seed = training.seed;
  options.tokenizer = tokenizer_options(config);
  return options;
}

data::DatasetOptions validation_data(const config::Config& config, int64_t vocab_size,
                                     const std::filesystem::path& data_dir) {
  data::DatasetOptions options = training_data(config, vocab_size, data_dir);
  options.dataset = config.validation.dataset;
  options.path = config.validation.dataset_path;
  options.seq_len = config.validation.seq_len;
  options.batch_size = 1;
  // In every validation the same samples.
  options.shuffle = false;
  return options;
}

}  // namespace titan::train
