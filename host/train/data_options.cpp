#include "train/data_options.h"

#include "config/mixture.h"

namespace titan::train {
namespace {

/// Of a model that is defined by a Hugging Face folder, that folder, if it holds a tokenizer.
std::filesystem::path tokenizer_place(const config::Config& config) {
  const config::Model& model = config.model;
  if (!model.tokenizer_path.empty() || model.flavor != "from_hf" || model.tokenizer_format == "bytes")
    return model.tokenizer_path;
  const std::filesystem::path folder =
      model.hf_assets_path.empty() ? config.checkpoint.initial_load_path : model.hf_assets_path;
  return data::holds_tokenizer(folder) ? folder : std::filesystem::path();
}

}  // namespace

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
  options.tokenizer.path = tokenizer_place(config);
  options.tokenizer.format = config.model.tokenizer_format;
  options.tokenizer.parse_special_tokens = training.parse_special_tokens;
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
