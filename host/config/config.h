/// The configuration of a run: typed sections with their defaults (names as in torchtitan).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/node.h"

namespace titan::config {

struct Job {
  std::string dump_folder = "./outputs";
  std::string description = "default job";
  bool operator==(const Job&) const = default;
};

/// One entry of model.converters as written; resolve_converters() gives it types.
struct ConverterItem {
  std::string use;  ///< the converter to apply
  std::string as;   ///< its name in this run; equals `use` unless given
  Node settings;    ///< map of the entry's other keys: options, include, exclude
  std::string where;
  bool operator==(const ConverterItem&) const = default;
};

/// Overrides single sizes of the flavor; what is absent keeps the flavor's value.
struct ModelArgs {
  std::optional<int64_t> dim;
  std::optional<int64_t> n_layers;
  std::optional<int64_t> n_heads;
  std::optional<int64_t> n_kv_heads;
  std::optional<int64_t> vocab_size;
  std::optional<int64_t> head_dim;
  std::optional<int64_t> hidden_dim;
  std::optional<double> ffn_dim_multiplier;
  std::optional<int64_t> multiple_of;
  std::optional<double> norm_eps;
  std::optional<double> rope_theta;
  std::optional<std::string> rope_scaling_type;  ///< "default", "linear" or "llama3"
  std::optional<double> rope_scaling_factor;
  std::optional<double> rope_low_freq_factor;
  std::optional<double> rope_high_freq_factor;
  std::optional<int64_t> rope_original_max_position_embeddings;
  std::optional<int64_t> max_seq_len;
  std::optional<bool> qk_norm;
  std::optional<bool> enable_weight_tying;
  bool operator==(const ModelArgs&) const = default;
};

struct Model {
  std::string name = "llama3";
  std::string flavor = "debugmodel";
  std::string hf_assets_path;  ///< of flavor from_hf
  std::vector<ConverterItem> converters;
  bool print_after_conversion = false;
  std::string tokenizer_path;             ///< empty: the folder of from_hf, or bytes
  std::string tokenizer_format = "auto";  ///< as data::tokenizer_formats() lists them
  ModelArgs args;
  bool operator==(const Model&) const = default;
};

struct Training {
  std::string dataset = "pride_and_prejudice";  ///< or "text", "jsonl", "chat", "tokens", "mixture"
  std::string dataset_path;                     ///< needed by all but the novel and "mixture"
  std::string dataset_key = "text";             ///< of "jsonl"
  std::vector<std::string> mixture;             ///< NAME:WEIGHT:DATASET:PATH; of "mixture"
  bool shuffle = false;
  int64_t shuffle_buffer = 10000;        ///< lines of "jsonl" and "chat"
  std::string chat_template = "chatml";  ///< or "llama3"; of "chat"
  bool chat_packing = true;              ///< of "chat"
  std::string token_dtype = "uint16";    ///< or "int32", "uint32"; of "tokens"
  bool add_bos = true, add_eos = true;
  bool parse_special_tokens = false;  ///< in texts
  int64_t local_batch_size = 8;
  int64_t global_batch_size = -1;  ///< -1: local_batch_size x data parallel degree
  int64_t seq_len = 2048;
  double max_norm = 1.0;
  std::string dtype = "float32";                   ///< or "bfloat16"; of the parameters
  std::string mixed_precision_param = "bfloat16";  ///< or "float32"
  int64_t steps = 10000;
  int64_t seed = 0;
  std::string device = "auto";        ///< or "cpu", "cuda"
  std::string on_nonfinite = "stop";  ///< or "skip"
  int64_t max_skipped_steps = 10;     ///< in a row
  bool operator==(const Training&) const = default;
};

struct Optimizer {
  std::string name = "AdamW";
  double lr = 8e-4;
  double beta1 = 0.9;
  double beta2 = 0.95;
  double eps = 1e-8;
  double weight_decay = 0.1;
  bool operator==(const Optimizer&) const = default;
};

struct LrScheduler {
  int64_t warmup_steps = 200;
  std::optional<double> decay_ratio;  ///< absent: decay begins right after the warmup
  std::string decay_type = "linear";  ///< or "sqrt", "cosine"
  double min_lr_factor = 0.0;
  std::optional<int64_t> total_steps;  ///< absent: training.steps
  bool operator==(const LrScheduler&) const = default;
};

struct ActivationCheckpoint {
  std::string mode = "selective";         ///< or "full", "none"
  std::string selective_ac_option = "2";  ///< every so many-th block, or "op"
  bool operator==(const ActivationCheckpoint&) const = default;
};

struct Parallelism {
  int64_t data_parallel_replicate_degree = 1;  ///< copies of the model
  int64_t data_parallel_shard_degree = 1;      ///< devices that share the states of one copy
  /// Devices of a run; each has a batch of its own.
  int64_t devices() const { return data_parallel_replicate_degree * data_parallel_shard_degree; }
  bool operator==(const Parallelism&) const = default;
};

struct Validation {
  bool enable = false;
  std::string dataset = "pride_and_prejudice";  ///< as training.dataset
  std::string dataset_path;
  int64_t local_batch_size = 8;
  int64_t seq_len = 2048;
  int64_t freq = 10;   ///< optimizer steps; also after step 1
  int64_t steps = -1;  ///< batches in one round; -1: the whole dataset once
  bool operator==(const Validation&) const = default;
};

struct Samples {
  bool enable = false;
  int64_t freq = 100;                ///< optimizer steps; also after step 1
  std::vector<std::string> prompts;  ///< empty: one text from nothing
  int64_t max_new_tokens = 64;
  double temperature = 1.0;
  int64_t top_k = 0;  ///< 0: all tokens
  double top_p = 1.0;
  bool operator==(const Samples&) const = default;
};

struct Metrics {
  int64_t log_freq = 10;
  bool enable_tensorboard = false;
  std::string save_tb_folder = "tb";  ///< under job.dump_folder
  bool disable_color_printing = false;
  bool operator==(const Metrics&) const = default;
};

struct Profiling {
  bool enable_profiling = false;
  std::string save_traces_folder = "profile_traces";  ///< under job.dump_folder
  int64_t profile_freq = 10;                          ///< steps
  int64_t profiler_active = 1;
  int64_t profiler_warmup = 3;
  bool operator==(const Profiling&) const = default;
};

struct Checkpoint {
  bool enable = false;
  std::string folder = "checkpoint";  ///< under job.dump_folder
  int64_t interval = 500;
  std::string initial_load_path;  ///< empty: start from fresh weights
  std::string adapter_load_path;  ///< empty: state that converters add starts fresh
  bool last_save_model_only = false;
  bool adapter_only = false;
  std::string export_dtype = "float32";  ///< or "bfloat16", "float16"; of model-only saves
  int64_t keep_latest_k = 10;            ///< 0: all
  int64_t load_step = -1;                ///< -1: the latest
  std::vector<std::string> exclude_from_loading;
  bool enable_first_step_checkpoint = false;
  std::string async_mode = "disabled";  ///< or "async"
  bool operator==(const Checkpoint&) const = default;
};

struct Plugins {
  std::vector<std::string> paths;
  std::string policy = "default";  ///< or "strict"
  std::vector<std::string> allow;
  std::vector<std::string> deny;
  std::vector<std::string> sha256;  ///< NAME=64 hexadecimal digits
  int64_t load_timeout_seconds = 10;
  bool operator==(const Plugins&) const = default;
};

struct Config {
  Job job;
  Model model;
  Training training;
  Optimizer optimizer;
  LrScheduler lr_scheduler;
  ActivationCheckpoint activation_checkpoint;
  Parallelism parallelism;
  Validation validation;
  Samples samples;
  Metrics metrics;
  Profiling profiling;
  Checkpoint checkpoint;
  Plugins plugins;
  bool operator==(const Config&) const = default;
};

}  // namespace titan::config
