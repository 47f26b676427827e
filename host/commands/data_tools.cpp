#include "commands/data_tools.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/output_file.h"
#include "base/progress.h"
#include "base/suggest.h"
#include "checkpoint/atomic_file.h"
#include "data/data_files.h"
#include "data/token_file_note.h"
#include "data/tokenize_files.h"
#include "data/tokenizers/open_tokenizer.h"
#include "titan/version.h"
#include "train/signals.h"

namespace titan::commands {
namespace {

constexpr const char* kTokenizeCommand = "titan data tokenize";
constexpr const char* kTokenizeUsage =
    "titan data tokenize INPUT... --tokenizer tokenizer.json --output tokens.bin";
constexpr int64_t kMostUint16 = 65536;

std::vector<std::filesystem::path> input_files(const std::vector<std::string>& inputs) {
  if (inputs.empty()) throw usage_error("no input was named", kTokenizeCommand, kTokenizeUsage);
  std::vector<std::filesystem::path> files;
  for (const std::string& input : inputs)
    for (std::filesystem::path& file : data::data_files(
             input, {".txt", ".jsonl"},
             "name files of text or JSON lines, folders with *.txt or *.jsonl, or patterns"))
      files.push_back(std::move(file));
  std::set<FileIdentity> seen;
  for (const std::filesystem::path& file : files) {
    const auto identity = file_identity(file);
    if (!identity || seen.insert(*identity).second) continue;
    log_warning(file.string() +
                " is among the inputs more than once; its text is in the output as often");
    break;
  }
  return files;
}

/// Neither the ids nor their note may replace what is read, or what is not theirs.
void check_outputs(const std::filesystem::path& output,
                   const std::vector<std::filesystem::path>& read) {
  const std::filesystem::path note = data::note_path(output);
  for (const std::filesystem::path& target : {output, note}) {
    const auto identity = file_identity(target);
    for (const std::filesystem::path& file : read)
      if (identity && identity == file_identity(file))
        throw usage_error("'" + target.string() + "' would be overwritten, and is read as '" +
                              file.string() + "'",
                          "--output", "name another output");
  }
  check_output_path(output, "--output");
  data::check_note_replaceable(note, "--output");
}

/// Errors of the data room name keys of a config; here options stand for them.
Error in_options(const Error& error) {
  static constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"model.tokenizer_format: ", "--tokenizer-format "},
      {"model.tokenizer_format", "--tokenizer-format"},
      {"model.tokenizer_path", "--tokenizer"},
      {"training.dataset_key", "--key"},
      {"set training.dataset_path to", "name"},
      {"training.dataset_path", "the input"}};
  const auto translated = [](std::string text) {
    for (const auto& [from, to] : kNames)
      for (size_t at = text.find(from); at != std::string::npos;
           at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
  };
  return {error.status(), translated(error.what()), translated(error.where()),
          translated(error.hint())};
}

std::string token_dtype(const std::string& wanted, int64_t vocab_size) {
  if (wanted.empty()) return vocab_size <= kMostUint16 ? "uint16" : "uint32";
  if (wanted != "uint16" && wanted != "uint32")
    throw usage_error("'" + wanted + "' is not a type of token ids", "--dtype",
                      did_you_mean(wanted, {"uint16", "uint32"}) + "use uint16 or uint32");
  if (wanted == "uint16" && vocab_size > kMostUint16)
    throw usage_error("the tokenizer has " + std::to_string(vocab_size) + " ids, uint16 holds " +
                          std::to_string(kMostUint16),
                      "--dtype", "use --dtype uint32");
  return wanted;
}

std::optional<int64_t> wanted_special(bool wanted, const std::optional<int64_t>& id,
                                      const char* option, const char* name) {
  if (!wanted) return std::nullopt;
  if (!id)
    throw usage_error(
        "the tokenizer has no " + std::string(name), option,
        "leave the option out; a tokenizer_config.json beside the tokenizer may name one");
  return id;
}

/// Ids as little-endian numbers; the machines that titan runs on are little-endian.
template <class T>
void write_ids(std::span<const int64_t> ids, checkpoint::AtomicFile& file) {
  const std::vector<T> narrow(ids.begin(), ids.end());
  file.write(narrow.data(), static_cast<int64_t>(narrow.size() * sizeof(T)));
}

/// The old note goes first: a crash in between leaves ids without a note, never with a wrong one.
void put_in_place(checkpoint::AtomicFile& ids, const data::TokenFileNote& note,
                  const std::filesystem::path& output) {
  const std::filesystem::path path = data::note_path(output);
  checkpoint::AtomicFile file(path);
  const std::string text = data::format_token_note(note);
  file.write(text.data(), static_cast<int64_t>(text.size()));
  std::error_code error;
  std::filesystem::remove(path, error);
  if (error) throw checkpoint::cannot_write_file(path, error.value());
  checkpoint::sync_folder(path.has_parent_path() ? path.parent_path() : ".");
  ids.commit();
  file.commit();
}

}  // namespace

DataTools::DataTools(CLI::App& data)
    : tokenize_app_(data.add_subcommand(
          "tokenize",
          "texts into a file of token ids, for training.dataset: tokens: INPUT... --output FILE")) {
  tokenize_app_->add_option(
      "input", inputs_,
      "files of text, of JSON lines (*.jsonl), either compressed (.zst), folders or patterns");
  tokenize_app_->add_option("--tokenizer", tokenizer_,
                            "tokenizer.json, tiktoken file, or a folder with one; default: bytes");
  tokenize_app_->add_option("--tokenizer-format", format_,
                            "as model.tokenizer_format; default: auto");
  tokenize_app_->add_option("--output", output_,
                            "where the ids go; what they are is written to FILE.json");
  tokenize_app_->add_option("--dtype", dtype_,
                            "uint16 or uint32; default: the smaller one that holds the vocabulary");
  tokenize_app_->add_option("--key", key_, "where the text of a JSON line is; default: text");
  tokenize_app_->add_flag("--bos", bos_, "BOS in front of each document");
  tokenize_app_->add_flag("--eos", eos_, "EOS behind each document");
  tokenize_app_->add_flag("--parse-special-tokens", parse_special_tokens_,
                          "special tokens written in the texts become their ids");
  tokenize_app_->add_option("--threads", threads_, "default: as many as there are processors");
}

std::optional<int> DataTools::run() const {
  if (!*tokenize_app_) return std::nullopt;
  try {
    return tokenize();
  } catch (const Error& error) {
    throw in_options(error);
  }
}

int DataTools::tokenize() const {
  if (output_.empty()) throw usage_error("no output was named", kTokenizeCommand, kTokenizeUsage);
  if (threads_ < 0 || threads_ > 1024)
    throw usage_error("--threads is " + std::to_string(threads_) + ", 1 to 1024 is needed",
                      kTokenizeCommand, "leave it out to use every processor");
  const data::TokenizerOptions tokenizer_options{tokenizer_, format_, parse_special_tokens_};
  const auto tokenizer = data::open_tokenizer(tokenizer_options);
  data::TokenizeOptions options;
  options.files = input_files(inputs_);
  std::vector<std::filesystem::path> read = data::tokenizer_files(tokenizer_options);
  read.insert(read.end(), options.files.begin(), options.files.end());
  check_outputs(output_, read);
  options.key = key_;
  options.threads =
      threads_ > 0 ? threads_ : std::max<int64_t>(1, std::thread::hardware_concurrency());

  data::TokenFileNote note;
  note.token_dtype = token_dtype(dtype_, tokenizer->vocab_size());
  note.vocab_size = tokenizer->vocab_size();
  note.tokenizer = tokenizer_;
  note.tokenizer_sha256 = data::tokenizer_sha256(tokenizer_options);
  note.bos = wanted_special(bos_, tokenizer->bos(), "--bos", "BOS");
  note.eos = wanted_special(eos_, tokenizer->eos(), "--eos", "EOS");
  note.made_by = "titan " TITAN_SDK_VERSION;
  options.bos = bos_;
  options.eos = eos_;

  constexpr int64_t kUnit = 1000;  // the progress counts kilobytes
  Progress progress("tokenize, kB", data::stored_bytes_of(options.files) / kUnit, STDERR_FILENO);
  const train::SignalGuard signals;
  checkpoint::AtomicFile file(output_);
  const bool narrow = note.token_dtype == "uint16";
  const data::TokenizeCounts counts = data::tokenize_files(
      options, *tokenizer,
      [&](std::span<const int64_t> ids) {
        narrow ? write_ids<uint16_t>(ids, file) : write_ids<uint32_t>(ids, file);
      },
      [&](int64_t bytes) {
        progress.update(bytes / kUnit);
        return signals.received() == 0;
      });
  progress.clear();
  if (signals.received() != 0) {
    log_warning("stopped by a signal; nothing was written to " + output_);
    return 128 + signals.received();
  }
  if (counts.tokens == 0)
    throw data_error("the inputs hold no text", inputs_.front(), "name files with text in them");
  note.tokens = counts.tokens;
  note.documents = counts.documents;
  note.text_bytes = counts.text_bytes;
  check_outputs(output_, read);
  put_in_place(file, note, output_);
  std::cout << output_ << ": " << with_commas(counts.tokens)
            << (counts.tokens == 1 ? " token (" : " tokens (") << note.token_dtype << ") of "
            << with_commas(counts.documents)
            << (counts.documents == 1 ? " document, " : " documents, ")
            << with_commas(counts.text_bytes) << " bytes of text, "
            << fixed_point(
                   static_cast<double>(counts.text_bytes) / static_cast<double>(counts.tokens), 2)
            << " bytes a token; " << data::note_path(output_).string() << " says how it was made\n"
            << "train on it: --training.dataset=tokens --training.dataset_path=" << output_
            << " --training.token_dtype=" << note.token_dtype << "\n";
  return 0;
}

}  // namespace titan::commands
