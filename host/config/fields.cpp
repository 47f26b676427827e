#include "config/fields.h"

#include "config/field_row.h"

namespace titan::config {
namespace {

/// Counts of one batch or sequence stay below this, so that their products fit into 64 bits.
constexpr double kLargestSize = 2147483647;
/// Below it float32, which the numbers meet, has no full precision left and soon nothing.
constexpr double kSmallestFloat = 1e-37;

/// The member of a section; `section` and `key` are also its path in Config.
#define TITAN_ROW(section, key, help) \
  Row(                                \
      #section, #key, +[](Config & c) -> auto& { return c.section.key; }, help)

std::vector<Row> field_rows() {
  return {
      TITAN_ROW(job, dump_folder, "folder for everything the run writes").path(),
      TITAN_ROW(job, description, "free text that is written to the log"),

      TITAN_ROW(model, name, "model family").one_of({"llama3", "qwen3"}),
      TITAN_ROW(
          model, flavor,
          "size of the model; llama3: debugmodel, 8B, 70B, 405B; qwen3: debugmodel, 0.6B, 1.7B, "
          "4B, 8B, 14B, "
          "32B; both: from_hf, the sizes of a Hugging Face config.json (model.hf_assets_path)")
          .one_of(
              {"debugmodel", "0.6B", "1.7B", "4B", "8B", "14B", "32B", "70B", "405B", "from_hf"}),
      TITAN_ROW(model, hf_assets_path,
                "folder with the config.json of a Hugging Face model, for model.flavor: from_hf; "
                "empty: that of "
                "checkpoint.initial_load_path")
          .path(),
      TITAN_ROW(model, converters,
                "converters to apply, in order: names, or maps with use, as, include, exclude and "
                "options"),
      TITAN_ROW(model, print_after_conversion, "print the model once the converters are applied"),
      TITAN_ROW(
          model, tokenizer_path,
          "a Hugging Face tokenizer.json (byte-level BPE), a tiktoken file (Llama 3's "
          "tokenizer.model), or a folder with one; empty: with model.flavor from_hf that of the "
          "model's folder, if it holds one, else one id a byte")
          .path(),
      TITAN_ROW(
          model, tokenizer_format,
          "auto tells by the file; a tiktoken vocabulary of an unusual size needs the name of "
          "the pattern and special tokens that belong to it; bytes: whatever the model's folder "
          "holds")
          .one_of({"auto", "bytes", "huggingface", "llama3", "qwen", "cl100k", "o200k", "gpt2"}),
      TITAN_ROW(model.args, dim, "width of the model").at_least(1).at_most(kLargestSize),
      TITAN_ROW(model.args, n_layers, "number of blocks").at_least(1).at_most(100000),
      TITAN_ROW(model.args, n_heads, "number of query heads").at_least(1).at_most(kLargestSize),
      TITAN_ROW(model.args, n_kv_heads, "number of key and value heads; divides n_heads")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, vocab_size, "number of tokens").at_least(1).at_most(kLargestSize),
      TITAN_ROW(model.args, head_dim,
                "width of one head; null: dim / n_heads, unless the flavor gives one")
          .at_least(2)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, hidden_dim,
                "hidden width of the feed-forward part; null: from dim, ffn_dim_multiplier and "
                "multiple_of, unless the flavor gives one")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, ffn_dim_multiplier, "scales the hidden width of the feed-forward part")
          .above(0)
          .at_most(1000),
      TITAN_ROW(model.args, multiple_of, "the hidden width is rounded up to a multiple of this")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, norm_eps, "added under the root of RMSNorm")
          .at_least(kSmallestFloat)
          .at_most(1),
      TITAN_ROW(model.args, rope_theta, "base of the rotary frequencies").at_least(1).at_most(1e12),
      TITAN_ROW(
          model.args, rope_scaling_type,
          "long-context scaling of the rotary frequencies: default (none), linear (all divided "
          "by the factor) or llama3 (by bands)")
          .one_of({"default", "linear", "llama3"}),
      TITAN_ROW(model.args, rope_scaling_factor, "long-context scaling: low frequencies divided by")
          .at_least(1)
          .at_most(1e6),
      TITAN_ROW(model.args, rope_low_freq_factor, "long-context scaling: end of the low band")
          .above(0),
      TITAN_ROW(model.args, rope_high_freq_factor, "long-context scaling: start of the high band")
          .above(0),
      TITAN_ROW(model.args, rope_original_max_position_embeddings,
                "long-context scaling: context the frequencies were made for")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, max_seq_len, "the longest sequence that the model takes")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(model.args, qk_norm, "RMSNorm over each head of q and k, before they are rotated"),
      TITAN_ROW(model.args, enable_weight_tying, "the output head is the embedding table"),

      TITAN_ROW(training, dataset, "what to train on: the built-in novel, or files of yours")
          .one_of({"pride_and_prejudice", "text", "jsonl", "chat", "tokens", "mixture"}),
      TITAN_ROW(
          training, dataset_path,
          "file, folder or pattern ('data/*.jsonl.zst') of the dataset; needed by text (files, "
          "each "
          "a document), jsonl (each line one), chat (each line a conversation) and tokens; all but "
          "tokens also compressed (.zst)")
          .path(),
      TITAN_ROW(training, dataset_key,
                "where the text of a line is (dataset jsonl): text, meta.body"),
      TITAN_ROW(
          training, mixture,
          "sources of dataset mixture, each NAME:WEIGHT:DATASET:PATH (web:0.7:jsonl:/data/web); "
          "weights are shares of the tokens"),
      TITAN_ROW(
          training, shuffle,
          "another order of documents (tokens: of samples) in every epoch, fixed by training.seed"),
      TITAN_ROW(training, shuffle_buffer,
                "lines that are held in memory and shuffled together (datasets jsonl and chat; the "
                "files are shuffled too)")
          .at_least(2)
          .at_most(kLargestSize),
      TITAN_ROW(
          training, chat_template,
          "how conversations are written (dataset chat): chatml (Qwen and others) or llama3; only "
          "responses are trained on")
          .one_of({"chatml", "llama3"}),
      TITAN_ROW(
          training, chat_packing,
          "a sample holds as many conversations as fit, else one; the rest is padding without "
          "labels (dataset chat)"),
      TITAN_ROW(training, add_bos, "the tokenizer's BOS, if it has one, goes before each document"),
      TITAN_ROW(training, add_eos, "the tokenizer's EOS, if it has one, goes behind each document"),
      TITAN_ROW(training, token_dtype, "integer type of the token files (dataset tokens)")
          .one_of({"uint16", "int32", "uint32"}),
      TITAN_ROW(
          training, parse_special_tokens,
          "texts may hold special tokens such as <|im_start|>; otherwise they are text like any "
          "other, so that data cannot end a document"),
      TITAN_ROW(training, local_batch_size, "sequences in one forward pass of one rank")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(training, global_batch_size,
                "sequences in one optimizer step over all ranks; -1: no gradient accumulation")
          .at_least(-1)
          .at_most(kLargestSize),
      TITAN_ROW(training, seq_len, "tokens in one sequence").at_least(1).at_most(kLargestSize),
      TITAN_ROW(training, max_norm, "gradients are scaled down to this global L2 norm").above(0),
      TITAN_ROW(training, dtype, "type of parameters, gradients and optimizer state")
          .one_of({"float32", "bfloat16"}),
      TITAN_ROW(training, mixed_precision_param,
                "type that linear layers and attention compute in; parameters, gradients and the "
                "residual stream keep training.dtype, as under torch's autocast. The default is "
                "torchtitan's; few CPUs are fast in bfloat16, so llama3_debug.yaml takes float32")
          .one_of({"bfloat16", "float32"}),
      TITAN_ROW(training, steps, "optimizer steps to train").at_least(1),
      TITAN_ROW(training, seed, "seed of weights and data order").at_least(0),
      TITAN_ROW(training, device, "where to train; auto takes CUDA if there is a device")
          .one_of({"auto", "cpu", "cuda"}),
      TITAN_ROW(training, on_nonfinite,
                "a step whose loss or gradient norm is not finite stops the run, or is skipped: "
                "its batch is used up, weights and optimizer stay as they are")
          .one_of({"stop", "skip"}),
      TITAN_ROW(training, max_skipped_steps,
                "more skipped steps in a row than this stop the run (on_nonfinite: skip)")
          .at_least(1),

      TITAN_ROW(optimizer, name, "update rule").one_of({"AdamW"}),
      TITAN_ROW(optimizer, lr, "peak learning rate").at_least(0).at_most(1e30),
      TITAN_ROW(optimizer, beta1, "decay of the first moment").at_least(0).below(1),
      TITAN_ROW(optimizer, beta2, "decay of the second moment").at_least(0).below(1),
      TITAN_ROW(optimizer, eps, "added to the root of the second moment")
          .at_least(kSmallestFloat)
          .at_most(1e6),
      TITAN_ROW(optimizer, weight_decay, "decoupled weight decay of all parameters")
          .at_least(0)
          .at_most(1e6),

      TITAN_ROW(lr_scheduler, warmup_steps, "steps in which the rate rises to its peak")
          .at_least(0),
      TITAN_ROW(lr_scheduler, decay_ratio,
                "share of the steps in which the rate falls; null: all steps after the warmup")
          .at_least(0)
          .at_most(1),
      TITAN_ROW(lr_scheduler, decay_type, "shape of the fall").one_of({"linear", "sqrt", "cosine"}),
      TITAN_ROW(lr_scheduler, min_lr_factor, "the rate falls to this share of its peak")
          .at_least(0)
          .at_most(1),
      TITAN_ROW(lr_scheduler, total_steps, "length of the schedule; null: training.steps")
          .at_least(1),

      TITAN_ROW(activation_checkpoint, mode,
                "which blocks keep only their input for backward and compute their activations "
                "again there: less memory, more time, the same numbers bit for bit (torchtitan's "
                "default)")
          .one_of({"selective", "full", "none"}),
      TITAN_ROW(
          activation_checkpoint, selective_ac_option,
          "mode selective: every so many-th block (2: the second, fourth, ...), or op: every "
          "block, but attention, every second matrix product and largest elements (fp8 scales) "
          "are kept"),

      TITAN_ROW(
          parallelism, data_parallel_replicate_degree,
          "copies of the model, each trained on batches of its own. This version trains on one "
          "device: other degrees are for titan estimate")
          .at_least(1)
          .at_most(16384),
      TITAN_ROW(parallelism, data_parallel_shard_degree,
                "devices that share parameters, gradients and optimizer state of one copy, as FSDP "
                "does; each has batches of its own")
          .at_least(1)
          .at_most(16384),

      TITAN_ROW(validation, enable, "measure the loss on other data while training"),
      TITAN_ROW(validation, dataset, "what to validate on; see training.dataset")
          .one_of({"pride_and_prejudice", "text", "jsonl", "chat", "tokens"}),
      TITAN_ROW(
          validation, dataset_path,
          "file, folder or pattern of the validation data; what else there is to say about it "
          "(token_dtype, dataset_key, ...) is said in training")
          .path(),
      TITAN_ROW(validation, local_batch_size, "sequences in one forward pass of validation")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(validation, seq_len, "tokens in one sequence of validation")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(validation, freq, "validate after step 1 and every so many steps").at_least(1),
      TITAN_ROW(validation, steps,
                "batches in one validation, always from the beginning of the data so that losses "
                "compare; -1: all data once")
          .at_least(-1),

      TITAN_ROW(metrics, log_freq, "a line is logged at step 1 and every so many steps")
          .at_least(1),
      TITAN_ROW(metrics, enable_tensorboard, "write the numbers of the log for TensorBoard too"),
      TITAN_ROW(metrics, save_tb_folder,
                "where TensorBoard's event files lie, under job.dump_folder; each run gets a "
                "folder in it")
          .path(),
      TITAN_ROW(metrics, disable_color_printing, "no colours in the log, even on a terminal"),

      TITAN_ROW(samples, enable, "let the model write texts while it is trained"),
      TITAN_ROW(samples, freq, "texts are written after step 1 and every so many steps")
          .at_least(1),
      TITAN_ROW(samples, prompts,
                "what the texts go on from; empty: one text that begins with BOS"),
      TITAN_ROW(samples, max_new_tokens, "tokens of a text at most")
          .at_least(1)
          .at_most(kLargestSize),
      TITAN_ROW(samples, temperature, "logits are divided by it; 0: always the most likely token")
          .at_least(0)
          .at_most(1e6),
      TITAN_ROW(samples, top_k, "only the so many most likely tokens; 0: all")
          .at_least(0)
          .at_most(kLargestSize),
      TITAN_ROW(samples, top_p, "only the most likely tokens, up to this sum of probabilities")
          .above(0)
          .at_most(1),

      TITAN_ROW(
          profiling, enable_profiling,
          "write traces of steps for chrome://tracing or Perfetto; the steps recorded are slower"),
      TITAN_ROW(profiling, save_traces_folder, "where traces lie, under job.dump_folder").path(),
      TITAN_ROW(profiling, profile_freq, "a trace is written every so many steps").at_least(1),
      TITAN_ROW(profiling, profiler_active, "the last so many of these steps are recorded")
          .at_least(1),
      TITAN_ROW(profiling, profiler_warmup, "so many steps before them the profiler is started")
          .at_least(0),

      TITAN_ROW(checkpoint, enable,
                "save checkpoints; a run that finds one in its folder resumes from it"),
      TITAN_ROW(checkpoint, folder, "where checkpoints lie, under job.dump_folder").path(),
      TITAN_ROW(checkpoint, interval, "a checkpoint is saved every so many steps, and at the end")
          .at_least(1),
      TITAN_ROW(checkpoint, initial_load_path,
                "weights to start from (.safetensors file or folder, or one step of a run); empty: "
                "fresh weights; a checkpoint to resume from goes before")
          .path(),
      TITAN_ROW(checkpoint, adapter_load_path,
                "state that converters added (LoRA's adapters, for one) to start from, on top of "
                "initial_load_path: a file or folder, of which nothing else is read")
          .path(),
      TITAN_ROW(
          checkpoint, adapter_only,
          "a model-only save holds only what converters added to the model: an adapter without "
          "its base"),
      TITAN_ROW(checkpoint, last_save_model_only,
                "the last step saves the weights alone, for use elsewhere. Such a save cannot be "
                "resumed, so the default is false (torchtitan: true): a finished run can go on"),
      TITAN_ROW(checkpoint, export_dtype,
                "floating-point type of the parameters in a model-only save")
          .one_of({"float32", "bfloat16", "float16"}),
      TITAN_ROW(
          checkpoint, keep_latest_k,
          "older checkpoints are deleted once a new one is complete; 0 keeps all, 1 is refused")
          .at_least(0),
      TITAN_ROW(checkpoint, load_step, "the step to resume from; -1: the latest complete one")
          .at_least(-1),
      TITAN_ROW(checkpoint, exclude_from_loading,
                "parts that start anew when a run resumes (model, optimizer, lr_scheduler, "
                "dataloader, train_state)")
          .one_of({"model", "optimizer", "lr_scheduler", "dataloader", "train_state"}),
      TITAN_ROW(checkpoint, enable_first_step_checkpoint,
                "also save after step 1: shows early whether saving works"),
      TITAN_ROW(checkpoint, async_mode,
                "async copies to memory within the step and writes in a thread beside training")
          .one_of({"disabled", "async"}),

      TITAN_ROW(plugins, paths, "folders and .so files searched for plugins, before all others")
          .path(),
      TITAN_ROW(plugins, policy,
                "strict also refuses plugins that others on this machine could change")
          .one_of({"default", "strict"}),
      TITAN_ROW(plugins, allow,
                "plugins that may be used: patterns of names (acme_*) or of files (/opt/acme/*); "
                "empty: all"),
      TITAN_ROW(plugins, deny,
                "plugins that may not be used: patterns as in allow, which deny overrules"),
      TITAN_ROW(plugins, sha256,
                "NAME=HASH for each plugin that may be used, and its file must have that hash; "
                "empty: not compared"),
      TITAN_ROW(
          plugins, load_timeout_seconds,
          "a plugin is first loaded in a process of its own, which is killed after so many seconds")
          .at_least(1)
          .at_most(3600),
  };
}

#undef TITAN_ROW

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> table = [] {
    std::vector<Field> built;
    for (Row& row : field_rows()) built.push_back(std::move(row).take());
    return built;
  }();
  return table;
}

}  // namespace titan::config
