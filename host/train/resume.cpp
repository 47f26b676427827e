#include "train/resume.h"

#include <ATen/Functions.h>

#include <algorithm>

#include "base/error.h"
#include "base/log.h"
#include "checkpoint/load_weights.h"
#include "checkpoint/optimizer_state.h"
#include "titan/version.h"
#include "train/random_state.h"

namespace titan::train {
namespace {

at::ScalarType export_type(const std::string& name) {
  if (name == "bfloat16") return at::kBFloat16;
  return name == "float16" ? at::kHalf : at::kFloat;
}

/// Weights go from any run to any other; a run that goes on must not lose state in silence.
void refuse_dropped_state(const checkpoint::Manifest& manifest, model::Module& model,
                          const std::filesystem::path& file) {
  const auto known = checkpoint::model_tensors(model);
  const checkpoint::SafetensorsReader reader(file);
  for (const checkpoint::TensorEntry& entry : reader.tensors()) {
    const auto slash = entry.name.find('/');
    if (slash == std::string::npos || known.count(entry.name)) continue;
    throw data_error("the checkpoint holds '" + checkpoint::shown_name(entry.name) +
                         "', state of the converter " + manifest.owner_of(entry.name) +
                         ", which this run does not apply that way",
                     file.string(),
                     "apply it as the checkpoint's run did (model.converters), or begin a new run "
                     "from the weights "
                     "alone: another job.dump_folder and checkpoint.initial_load_path=" +
                         file.parent_path().string());
  }
}

void warn_of_differences(const checkpoint::Manifest& manifest, const RunRecord& record) {
  const std::vector<std::string> lines = differences(manifest, record);
  if (lines.empty()) return;
  std::string text =
      "this run differs from the one that made the checkpoint, so it goes on differently:";
  for (const std::string& line : lines) text += "\n  " + line;
  log_warning(text);
}

bool holds_adapter_alone(const std::filesystem::path& model_file) {
  const checkpoint::SafetensorsReader reader(model_file);
  return std::all_of(reader.tensors().begin(), reader.tensors().end(),
                     [](const auto& entry) { return checkpoint::is_added_name(entry.name); });
}

/// Values beyond the range of a narrow type would be written as infinity; this may be the only
/// copy.
at::Tensor to_export_type(const std::string& name, const at::Tensor& tensor, at::ScalarType type) {
  const at::Tensor narrow = tensor.to(type);
  if (at::isfinite(narrow).all().item<bool>() || !at::isfinite(tensor).all().item<bool>())
    return narrow;
  log_warning("'" + name + "' has values that " + c10::toString(type) +
              " cannot hold: it is saved as " + c10::toString(tensor.scalar_type()));
  return tensor;
}

bool wants(const std::vector<std::string>& exclude, const char* part) {
  return std::find(exclude.begin(), exclude.end(), part) == exclude.end();
}

checkpoint::TypeRule type_rule(const checkpoint::Manifest& manifest) {
  return manifest.model_only ? checkpoint::TypeRule::kConvertFloats : checkpoint::TypeRule::kExact;
}

}  // namespace

checkpoint::Snapshot take_snapshot(const RunParts& parts, const RunRecord& record, int64_t seed,
                                   bool model_only, const std::string& export_dtype) {
  checkpoint::Snapshot snapshot;
  checkpoint::Manifest& manifest = snapshot.manifest;
  manifest.model_only = model_only;
  manifest.position = parts.position;
  manifest.loader = parts.loader.state();
  manifest.seed = seed;
  manifest.generators = generator_states(parts.device);
  manifest.settings = record.settings;
  manifest.converters = record.converters;
  manifest.made_by = "titan " TITAN_SDK_VERSION ", LibTorch " TITAN_TORCH_VERSION;
  for (const auto& [name, tensor] : checkpoint::model_tensors(parts.model))
    snapshot.model[name] = tensor.detach();
  // Parameters only: a buffer may be a count or a statistic that has no digits to spare.
  std::set<std::string> buffers;
  for (const auto& named : model::named_buffers(parts.model)) buffers.insert(named.fqn);
  if (model_only)
    for (auto& [name, tensor] : snapshot.model)
      if (!buffers.count(name)) tensor = to_export_type(name, tensor, export_type(export_dtype));
  if (!model_only) snapshot.optimizer = checkpoint::optimizer_tensors(parts.optimizer);
  return snapshot;
}

checkpoint::Manifest check_resume(const checkpoint::StepFolder& from, const RunRecord& record,
                                  const std::vector<std::string>& exclude, model::Module& model,
                                  data::Loader& loader) {
  const checkpoint::Manifest manifest = checkpoint::read_manifest(from.path);
  const std::filesystem::path model_file = from.path / checkpoint::kModelFile;
  const std::filesystem::path optimizer_file = from.path / checkpoint::kOptimizerFile;
  if (manifest.model_only && (wants(exclude, "optimizer") || wants(exclude, "model")) &&
      holds_adapter_alone(model_file))
    throw data_error("step-" + std::to_string(from.step) +
                         " holds only what converters added to the model (checkpoint.adapter_only)",
                     from.path.string(),
                     "begin a new run from it: another job.dump_folder, "
                     "checkpoint.initial_load_path=<its base> and "
                     "checkpoint.adapter_load_path=" +
                         from.path.string());
  if (manifest.model_only && wants(exclude, "optimizer"))
    throw data_error(
        "step-" + std::to_string(from.step) +
            " holds the weights alone (checkpoint.last_save_model_only)",
        from.path.string(),
        "resume from an earlier step (checkpoint.load_step), go on with a fresh optimizer "
        "(checkpoint.exclude_from_loading: [optimizer]), or begin a new run from these weights "
        "(another job.dump_folder and checkpoint.initial_load_path)");
  warn_of_differences(manifest, record);
  // Everything that can be checked is, before anything changes.
  if (wants(exclude, "model"))
    checkpoint::verify_file(model_file, manifest.files.at(checkpoint::kModelFile));
  if (wants(exclude, "optimizer"))
    checkpoint::verify_file(optimizer_file, manifest.files.at(checkpoint::kOptimizerFile));
  if (wants(exclude, "dataloader")) loader.restore(manifest.loader);
  if (wants(exclude, "model")) refuse_dropped_state(manifest, model, model_file);
  return manifest;
}

void rehearse_resume(const checkpoint::StepFolder& from, const RunRecord& record,
                     const std::vector<std::string>& exclude, model::Module& model,
                     data::Loader& loader) {
  const checkpoint::Manifest manifest = check_resume(from, record, exclude, model, loader);
  if (!wants(exclude, "model")) return;
  checkpoint::load_weights(model, from.path / checkpoint::kModelFile, nullptr, type_rule(manifest));
}

ResumeReport resume_run(const checkpoint::StepFolder& from, const RunRecord& record,
                        const std::vector<std::string>& exclude, const RunParts& parts) {
  const auto wanted = [&](const char* part) { return wants(exclude, part); };
  const checkpoint::Manifest manifest =
      check_resume(from, record, exclude, parts.model, parts.loader);
  const std::filesystem::path model_file = from.path / checkpoint::kModelFile;
  const std::filesystem::path optimizer_file = from.path / checkpoint::kOptimizerFile;

  ResumeReport report;
  if (wanted("model")) {
    const checkpoint::LoadReport loaded =
        checkpoint::load_weights(parts.model, model_file, nullptr, type_rule(manifest));
    report.model_loaded = report.from_checkpoint = true;
    for (const auto& applied : record.converters)
      report.new_converter =
          report.new_converter ||
          std::none_of(manifest.converters.begin(), manifest.converters.end(),
                       [&](const auto& saved) { return saved.instance == applied.instance; });
    report.missing = {loaded.missing_added.begin(), loaded.missing_added.end()};
    if (!loaded.missing_added.empty())
      log_warning("the checkpoint lacks '" + loaded.missing_added.front() + "'" +
                  (loaded.missing_added.size() > 1
                       ? " and " + std::to_string(loaded.missing_added.size() - 1) +
                             " others that converters add"
                       : "") +
                  ": initial values are kept");
  }
  if (wanted("optimizer"))
    checkpoint::load_optimizer(parts.optimizer, checkpoint::SafetensorsReader(optimizer_file),
                               report.missing);
  if (wanted("train_state")) {
    parts.position = manifest.position;
    restore_generators(parts.device, manifest.generators,
                       (from.path / checkpoint::kManifestFile).string());
  }
  parts.position.schedule_step = wanted("lr_scheduler") ? manifest.position.schedule_step : 0;

  std::string left_out;
  for (const std::string& part : exclude)
    left_out += (left_out.empty() ? "; not loaded: " : ", ") + part;
  log_info("resumed from " + from.path.string() + left_out);
  return report;
}

void put_back_model(const checkpoint::StepFolder& from, const RunParts& parts) {
  checkpoint::load_weights(parts.model, from.path / checkpoint::kModelFile, nullptr);
}

}  // namespace titan::train
