#include "commands/generate_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/terminal.h"
#include "base/text_list.h"
#include "checkpoint/hf_config.h"
#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "commands/weight_source.h"
#include "data/chat_template.h"
#include "data/tokenizers/open_tokenizer.h"
#include "train/data_options.h"
#include "train/model_args.h"
#include "train/signals.h"
#include "train/trained_model.h"

namespace titan::commands {
namespace {

/// Far above any prompt, and low enough that a wrong file is refused at once.
constexpr size_t kMaxPromptBytes = size_t{64} << 20;

std::string read_prompt(const std::string& name) {
  std::ifstream file;
  if (name != "-") {
    std::error_code error;
    if (!std::filesystem::is_regular_file(name, error) && !std::filesystem::is_fifo(name, error))
      throw usage_error("'" + name + "' is no file that can be read", "--prompt-file",
                        "name a text file, or - for standard input");
    file.open(name, std::ios::binary);
    if (!file)
      throw environment_error("'" + name + "' cannot be opened", "--prompt-file",
                              "check its permissions");
  }
  std::istream& in = name == "-" ? std::cin : file;
  std::string text;
  for (char buffer[4096]; in.read(buffer, sizeof buffer) || in.gcount() > 0;) {
    text.append(buffer, static_cast<size_t>(in.gcount()));
    if (text.size() > kMaxPromptBytes)
      throw usage_error("'" + name + "' has more than " + with_commas(kMaxPromptBytes) + " bytes",
                        "--prompt-file", "shorten it");
  }
  // The line end that an editor puts behind the last line is not part of the text.
  if (text.ends_with('\n')) text.pop_back();
  return text;
}

/// The one that is named, else the run's or the model's own.
std::unique_ptr<data::Tokenizer> tokenizer_for(const std::string& named, config::Config config,
                                               bool parse_special) {
  if (!named.empty()) config.model.tokenizer_path = named;
  data::TokenizerOptions options = train::tokenizer_options(config);
  options.parse_special_tokens = parse_special;
  if (options.path.empty() && options.format != "bytes" &&
      config.model.flavor == train::kFlavorFromHf)
    throw data_error("'" + config.model.hf_assets_path + "' holds no tokenizer", "--tokenizer",
                     "name the folder or file of the model's tokenizer: --tokenizer FOLDER");
  return data::open_tokenizer(options);
}

/// What the chat room says in terms of the config, in those of this command.
data::ChatTemplate chat_template(const std::string& name, const data::Tokenizer& tokenizer) {
  try {
    return data::ChatTemplate(name, tokenizer);
  } catch (const Error& error) {
    throw Error(error.status(), error.what(), "--chat",
                "choose --chat " + joined(data::ChatTemplate::names(), " or ") +
                    ", or name the tokenizer of a chat model with --tokenizer");
  }
}

/// Texts may hold anything; a terminal must not obey it.
std::string shown(const std::string& text) {
  return is_terminal(STDOUT_FILENO) ? printable(text, text.size() + 1) : text;
}

nlohmann::json as_json(const std::string& prompt, int64_t prompt_tokens,
                       const generate::Completion& completion) {
  return {{"prompt", with_valid_utf8(prompt)},
          {"prompt_tokens", prompt_tokens},
          {"text", completion.text},
          {"ids", completion.ids},
          {"finish", generate::name_of(completion.finish)}};
}

}  // namespace

GenerateCommand::GenerateCommand(CLI::App& app)
    : app_(app.add_subcommand(
          "generate",
          "text from a model: RUN/checkpoint/step-N, a run's folder, CONFIG.yaml or a Hugging Face "
          "folder [--prompt TEXT] [--section.key=value ...]")) {
  options_.max_new_tokens = 64;
  app_->add_option("--prompt", prompts_,
                   "text to go on with; again for another one; default: the tokenizer's BOS")
      ->allow_extra_args(false);
  app_->add_option("--prompt-file", prompt_files_,
                   "a file with one prompt, - for standard input; again for another one")
      ->allow_extra_args(false);
  app_->add_option("--chat", chat_, "the prompt is a message to a chat model: llama3 or chatml");
  app_->add_option("--system", system_, "with --chat: the system message");
  app_->add_option("--max-new-tokens", options_.max_new_tokens, "tokens of a text at most (64)");
  app_->add_option("--temperature", options_.sampling.temperature,
                   "logits are divided by it; 0: always the most likely token (1.0)");
  app_->add_option("--top-k", options_.sampling.top_k, "only the K most likely tokens; 0: all (0)");
  app_->add_option("--top-p", options_.sampling.top_p,
                   "only the most likely tokens, up to this sum of probabilities (1.0)");
  app_->add_option("--seed", options_.sampling.seed, "the same seed gives the same texts (0)")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  app_->add_option("--stop", options_.stop, "a text ends before this string; again for another one")
      ->allow_extra_args(false);
  app_->add_option("--samples", samples_, "texts for each prompt (1)");
  app_->add_option("--batch-size", options_.batch_size, "texts that are written side by side (8)");
  app_->add_option("--tokenizer", tokenizer_,
                   "tokenizer.json, a tiktoken file, or a folder with one; default: the model's");
  app_->add_flag(
      "--special-tokens", special_,
      "special tokens that a prompt spells out, such as <|im_start|>, are what they say");
  app_->add_flag("--no-bos", no_bos_, "no BOS token before the prompt");
  app_->add_flag("--ignore-eos", ignore_eos_, "go on behind tokens that end a text");
  app_->add_flag("--no-cache", no_cache_,
                 "read everything again for each token: slow, the same texts but for rounding");
  app_->add_flag("--json", json_, "the texts as JSON");
  app_->allow_extras();
}

bool GenerateCommand::chosen() const { return app_->parsed(); }

std::vector<std::string> GenerateCommand::prompt_texts() const {
  std::vector<std::string> texts = prompts_;
  for (const std::string& name : prompt_files_) texts.push_back(read_prompt(name));
  if (texts.empty()) texts.emplace_back();
  return texts;
}

generate::GenerationOptions GenerateCommand::checked_options() const {
  if (samples_ < 1)
    throw usage_error("--samples is a number of texts, found " + std::to_string(samples_),
                      "--samples", "give 1 or more");
  if (!system_.empty() && chat_.empty())
    throw usage_error("--system has no effect without --chat", "--system",
                      "add --chat llama3 or --chat chatml");
  if (std::count(prompt_files_.begin(), prompt_files_.end(), "-") > 1)
    throw usage_error("standard input can be read once", "--prompt-file", "give - once");
  generate::GenerationOptions options = options_;
  options.use_cache = !no_cache_;
  options.stop_at_eos = !ignore_eos_;
  for (const std::string& stop : options.stop)
    if (stop.empty())
      throw usage_error("an empty text ends nothing", "--stop", "leave it out, or name a text");
  const generate::Sampler checked(options.sampling, 0);
  return options;
}

std::vector<int64_t> GenerateCommand::prompt_ids(const std::string& text, bool with_bos,
                                                 data::Tokenizer& tokenizer) const {
  if (!chat_.empty()) {
    std::vector<data::ChatMessage> messages;
    if (!system_.empty()) messages.push_back({"system", system_});
    messages.push_back({"user", text});
    return chat_template(chat_, tokenizer).render_prompt(messages, tokenizer);
  }
  std::vector<int64_t> ids = generate::encode_prompt(tokenizer, text, with_bos && !no_bos_);
  if (!ids.empty()) return ids;
  if (no_bos_ && tokenizer.bos())
    throw usage_error("--no-bos leaves an empty prompt nothing to begin with", "--prompt",
                      "drop --no-bos, or give a prompt");
  throw usage_error("an empty prompt has nothing to begin with: no BOS goes before it", "--prompt",
                    "give a prompt of at least one character");
}

void GenerateCommand::print(const std::vector<std::string>& texts,
                            const std::vector<std::vector<int64_t>>& prompts,
                            const std::vector<generate::Completion>& completions) const {
  nlohmann::json list = nlohmann::json::array();
  for (size_t i = 0; i < completions.size(); ++i) {
    const generate::Completion& completion = completions[i];
    const std::string& prompt = texts[i / static_cast<size_t>(samples_)];
    if (json_)
      list.push_back(as_json(prompt, static_cast<int64_t>(prompts[i].size()), completion));
    else
      std::cout << "=== text " << i + 1 << " of " << completions.size() << " (ended by "
                << generate::name_of(completion.finish) << "): " << printable(prompt, 60) << "\n"
                << shown(completion.text) << "\n";
  }
  if (json_) std::cout << list.dump(2) << "\n";
}

int GenerateCommand::run(const std::function<ConfigArguments(const std::vector<std::string>&,
                                                             const std::string&)>& split) const {
  const ConfigArguments arguments = split(app_->remaining(), "generate");
  if (!arguments.file)
    throw usage_error("no model was given", "titan generate",
                      "titan generate RUN/checkpoint/step-N --prompt TEXT; also a run's folder, a "
                      "config or a Hugging Face folder");
  // All that can be wrong with the line, before minutes of loading.
  generate::GenerationOptions options = checked_options();
  const std::vector<std::string> texts = prompt_texts();
  const model::TrainSpecRegistry specs = train_specs();
  const WeightSource source = find_weights(*arguments.file, arguments.overrides, specs);
  const config::Config& config = source.config.values;
  const model::TrainSpec& spec = specs.get(config.model.name);
  const int64_t vocab_size = train::whole_model_args(spec, config.model).vocab_size;
  const auto tokenizer = tokenizer_for(tokenizer_, config, special_);
  generate::require_vocabulary(*tokenizer, vocab_size, "--tokenizer",
                               "name the tokenizer that the model was trained with");
  if (!config.model.hf_assets_path.empty())
    options.more_end_ids = checkpoint::hf_end_ids(config.model.hf_assets_path);
  // As the model was trained: a run says it itself, of other models their tokenizer's files do.
  const bool with_bos = source.hugging_face ? tokenizer->adds_bos() : config.training.add_bos;
  std::vector<std::vector<int64_t>> prompts;
  for (const std::string& text : texts)
    prompts.insert(prompts.end(), static_cast<size_t>(samples_),
                   prompt_ids(text, with_bos, *tokenizer));

  const plugins::Catalog catalog = find_plugins(&source.config);
  const AppliedConverters applied = load_converters(source.config, catalog);
  const train::Device device = train::resolve_device(config.training.device);
  const train::TrainedModel model = train::load_trained_model(
      config, spec, applied.registry, applied.requests, device, source.step);
  for (const std::string& line : model.converters->summary()) log_info("converter " + line);
  if (tokenizer->vocab_size() < vocab_size)
    log_info("ids from " + std::to_string(tokenizer->vocab_size()) +
             " on are never chosen: the tokenizer lacks them");

  const bool stream = prompts.size() == 1 && !json_;
  const auto start = std::chrono::steady_clock::now();
  const train::SignalGuard signals;
  const std::vector<generate::Completion> completions = generate::generate(
      *model.root, model.context(source.step), device.device, *tokenizer, prompts, options,
      [&](int64_t, const std::string& piece) {
        if (stream) std::cout << shown(piece) << std::flush;
      },
      [&signals] { return signals.received() != 0; });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  if (stream)
    std::cout << "\n";
  else
    print(texts, prompts, completions);
  std::cout.flush();
  int64_t tokens = 0;
  for (const generate::Completion& each : completions)
    tokens += static_cast<int64_t>(each.ids.size());
  log_info(
      with_commas(tokens) + " tokens in " + fixed_point(seconds, 2) + " s" +
      (stream ? std::string(", ended by ") + generate::name_of(completions.front().finish) : ""));
  return signals.received() ? 128 + signals.received() : 0;
}

}  // namespace titan::commands
