#include "commands/hf_tools.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/numbers.h"
#include "base/progress.h"
#include "base/text_list.h"
#include "checkpoint/atomic_file.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/hf_export.h"
#include "checkpoint/hf_import.h"
#include "checkpoint/manifest.h"
#include "checkpoint/temporary_folder.h"
#include "commands/model_setup.h"
#include "commands/recorded_config.h"
#include "commands/weight_source.h"
#include "config/option_text.h"
#include "data/tokenizers/open_tokenizer.h"
#include "train/model_args.h"
#include "train/signals.h"

namespace titan::commands {
namespace fs = std::filesystem;

namespace {

/// In the folder that `titan import` writes: what transformers needs beside weights.
constexpr const char* kAssetsFolder = "hf_assets";

at::ScalarType parse_dtype(const std::string& name) {
  static const std::map<std::string, at::ScalarType> types = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  const auto found = types.find(name);
  if (found == types.end())
    throw usage_error("'" + name + "' is no type for weights", "--dtype",
                      "float32, bfloat16 or float16");
  return found->second;
}

/// "5GB", "200MB", "4GiB", "1000": decimal units as transformers has them, and binary ones.
int64_t parse_size(const std::string& text) {
  static const std::map<std::string, double> units = {
      {"", 1},      {"B", 1},        {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
      {"TB", 1e12}, {"KIB", 0x1p10}, {"MIB", 0x1p20}, {"GIB", 0x1p30}, {"TIB", 0x1p40}};
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  const auto found = units.find(unit);
  if (error != std::errc() || found == units.end() || !(number * found->second >= 1) ||
      number * found->second > 1e18)
    throw usage_error("'" + text + "' is no size", "--max-shard-size",
                      "a number and a unit: 5GB, 200MB, 4GiB");
  return static_cast<int64_t>(number * found->second);
}

/// A config that trains on from the imported weights.
std::string ready_config(const fs::path& source, const fs::path& output,
                         const model::TrainSpec& spec, const model::ModelArgs& args) {
  const auto quoted = [](const fs::path& path) { return config::to_yaml_quoted(path.string()); };
  return "# Goes on from " + source.filename().string() +
         ", imported from a Hugging Face folder.\n"
         "# All keys explained:  titan config explain\n\n"
         "model:\n  name: " +
         spec.name +
         "\n"
         "  flavor: from_hf                # the sizes are those of config.json in the next "
         "folder\n"
         "  hf_assets_path: " +
         quoted(output / kAssetsFolder) +
         "\n"
         "\n"
         "checkpoint:\n  initial_load_path: " +
         quoted(output / checkpoint::kModelFile) +
         "\n"
         "\n"
         "training:\n"
         "  local_batch_size: 1\n"
         "  seq_len: " +
         std::to_string(std::min<int64_t>(args.max_seq_len, 2048)) +
         "\n"
         "\n"
         "optimizer:\n  lr: 1e-5                       # of a model that is trained already\n"
         "\n"
         "# Defaults of the converter float8. They have no effect until model.converters lists "
         "it.\n"
         "float8:\n  filter_fqns: [\"output\"]\n";
}

/// Where the weights came from, which says what model they are.
struct ExportSource {
  fs::path weights;
  model::ModelArgs args;
  const model::TrainSpec* spec = nullptr;
  std::map<std::string, std::string> settings;
  fs::path assets;
  std::vector<std::string> converters;
};

ExportSource source_of(const fs::path& given, const model::TrainSpecRegistry& specs) {
  ExportSource source;
  source.weights = given;
  std::error_code error;
  if (const auto manifest = checkpoint::verify_weights(given)) {
    const config::Config config = recorded_config(*manifest, given).values;
    source.spec = &specs.get(config.model.name);
    source.args = train::whole_model_args(*source.spec, config.model);
    source.settings = manifest->settings;
    source.assets = config.model.hf_assets_path;
    for (const auto& record : manifest->converters) source.converters.push_back(record.instance);
    if (!source.assets.empty() && !fs::is_directory(source.assets, error)) {
      log_warning(
          "the run's model.hf_assets_path, " + source.assets.string() +
          ", is no longer there: config.json is written anew, and tokenizer files are not copied");
      source.assets.clear();
    }
    return source;
  }
  const fs::path folder = fs::is_directory(given, error) ? given : given.parent_path();
  const fs::path assets = folder / kAssetsFolder;
  if (!fs::exists(assets / checkpoint::kHfConfigFile, error))
    throw data_error(
        "'" + given.string() +
            "' is neither a step of a run nor a folder that titan import wrote, so nothing says "
            "what model it is",
        given.string(), "name RUN/checkpoint/step-N, or the output of titan import");
  source.spec = &spec_of_hf_config(specs, assets / checkpoint::kHfConfigFile);
  source.args = checkpoint::read_hf_config(assets / checkpoint::kHfConfigFile, *source.spec);
  source.assets = assets;
  return source;
}

/// Thrown between two tensors, so that what was begun is removed.
struct Stopped {
  int signal;
};

/// One line on a terminal, now and then a line elsewhere. A signal ends the work at the next
/// tensor.
class TensorProgress {
 public:
  explicit TensorProgress(const char* label) : label_(label) {}
  void operator()(int64_t done, int64_t total) {
    if (signals_.received() != 0) throw Stopped{signals_.received()};
    if (!line_) line_.emplace(label_, total, STDERR_FILENO);
    line_->update(done);
  }
  void clear() { line_.reset(); }

 private:
  const char* label_;
  std::optional<Progress> line_;
  train::SignalGuard signals_;
};

}  // namespace

HfTools::HfTools(CLI::App& app)
    : import_app_(app.add_subcommand(
          "import",
          "weights and sizes of a Hugging Face folder: FOLDER --output DIR [--dtype float32]")),
      export_app_(app.add_subcommand(
          "export",
          "a folder for transformers from a run (RUN, or RUN/checkpoint/step-N): "
          "--output DIR [--dtype bfloat16]")) {
  import_app_
      ->add_option("folder", folder_, "with config.json and *.safetensors of a Llama or Qwen3")
      ->required();
  import_app_
      ->add_option("--output", output_,
                   "a new folder for model.safetensors, config.yaml and hf_assets/")
      ->required();
  import_app_->add_option("--dtype", import_dtype_,
                          "type of the weights: keep (the default), float32, bfloat16 or float16");
  import_app_->add_option("--config", config_,
                          "where the ready config goes; default: config.yaml in the output");
  export_app_
      ->add_option(
          "weights", weights_,
          "a run's folder (its latest step), one step of it, or the output of titan import")
      ->required();
  export_app_->add_option("--output", output_, "the new folder")->required();
  export_app_->add_option("--dtype", export_dtype_,
                          "type of the weights: bfloat16 (the default), float16 or float32");
  export_app_->add_flag("--merge-lora", merge_lora_,
                        "add low-rank adapters to the weights that they sit on");
  export_app_
      ->add_option("--leave-out", leave_out_, "converters whose state is not exported, by instance")
      ->delimiter(',');
  export_app_->add_option("--max-shard-size", shard_size_,
                          "of one weight file: 5GB (the default), 200MB, 4GiB");
  export_app_->add_option("--tokenizer-from", tokenizer_,
                          "folder with tokenizer files; default: those of the imported model");
}

std::optional<int> HfTools::run() const {
  if (!*import_app_ && !*export_app_) return std::nullopt;
  try {
    *import_app_ ? run_import() : run_export();
    return 0;
  } catch (const Stopped& stopped) {
    log_warning("stopped by a signal; nothing was written to " + output_.string());
    return 128 + stopped.signal;
  }
}

void HfTools::run_import() const {
  const model::TrainSpecRegistry specs = train_specs();
  const fs::path file = folder_ / checkpoint::kHfConfigFile;
  const model::TrainSpec& spec = spec_of_hf_config(specs, file);
  const model::ModelArgs args = checkpoint::read_hf_config(file, spec);
  check_hf_args(args, folder_);
  const auto dtype =
      import_dtype_ == "keep" ? std::nullopt : std::optional(parse_dtype(import_dtype_));
  std::error_code error;
  if (!config_.empty() && fs::exists(fs::symlink_status(config_, error)))
    throw usage_error("'" + config_.string() + "' is there already; nothing is overwritten",
                      "--config", "choose another name");

  checkpoint::NewFolder output(output_);
  // Elsewhere it may not be possible to write: that is found before the work.
  std::optional<checkpoint::AtomicFile> config_file;
  if (!config_.empty()) config_file.emplace(config_);
  TensorProgress progress("import");
  const int64_t count = checkpoint::import_hf_weights(
      folder_, output.path() / checkpoint::kModelFile, spec, args, dtype,
      [&](int64_t done, int64_t total) { progress(done, total); });
  progress.clear();
  const fs::path assets = output.path() / kAssetsFolder;
  fs::create_directory(assets, error);
  if (error) throw checkpoint::cannot_write_file(assets, error.value());
  checkpoint::copy_hf_assets(folder_, assets, true, true);
  const fs::path target = fs::absolute(output_).lexically_normal();
  const std::string config =
      ready_config(fs::absolute(folder_).lexically_normal(), target, spec, args);
  if (config_.empty()) checkpoint::write_text(output.path() / "config.yaml", config);
  if (config_file) config_file->write(config.data(), static_cast<int64_t>(config.size()));
  output.publish();
  if (config_file) config_file->commit();
  log_info("imported " + std::to_string(count) + " weights (" +
           with_commas(model::parameter_count(args)) + " parameters) of " + spec.hf->architecture +
           " to " + output_.string() + "; train on with: titan train " +
           shell_word((config_.empty() ? output_ / "config.yaml" : config_).string()));
}

void HfTools::run_export() const {
  checkpoint::HfExport request;
  request.dtype = parse_dtype(export_dtype_);
  request.max_shard_bytes = parse_size(shard_size_);
  std::error_code error;
  if (!tokenizer_.empty() && !fs::is_directory(tokenizer_, error))
    throw data_error("'" + tokenizer_.string() + "' is no folder", "--tokenizer-from",
                     "name the folder of a Hugging Face model");
  if (!tokenizer_.empty() && !data::holds_tokenizer(tokenizer_))
    throw data_error("'" + tokenizer_.string() + "' holds no tokenizer", "--tokenizer-from",
                     "name a folder with a tokenizer.json or a tokenizer.model");
  if (!fs::exists(weights_, error))
    throw data_error("'" + weights_.string() + "' is not there", "titan export",
                     "name a run's folder, RUN/checkpoint/step-N, or the output of titan import");
  const model::TrainSpecRegistry specs = train_specs();
  const ExportSource source = source_of(latest_step(weights_), specs);
  request.weights = source.weights;
  request.args = source.args;
  request.merge_lora = merge_lora_;
  request.leave_out = leave_out_;
  request.settings = source.settings;
  request.assets = source.assets;
  request.tokenizer = tokenizer_;

  TensorProgress progress("export");
  const checkpoint::HfExportReport report = checkpoint::export_hf(
      request, *source.spec, output_, [&](int64_t done, int64_t total) { progress(done, total); });
  progress.clear();
  if (merge_lora_ && report.merged == 0) log_warning("--merge-lora: the weights have no adapters");
  if (!source.converters.empty())
    log_warning("the run applied " + joined(source.converters) +
                ": transformers computes without " +
                (report.merged ? "them, but for the merged adapters" : "them"));
  if (report.copied.tokenizer == 0)
    log_warning("no tokenizer files were copied: --tokenizer-from FOLDER brings them along");
  log_info("exported " + std::to_string(report.tensors) + " tensors as " + export_dtype_ + " to " +
           output_.string() + ": " + std::to_string(report.files) +
           (report.files == 1 ? " file, " : " files, ") + gib(static_cast<uint64_t>(report.bytes)) +
           (report.merged ? ", adapters merged into " + std::to_string(report.merged) + " weights"
                          : ""));
}

}  // namespace titan::commands
