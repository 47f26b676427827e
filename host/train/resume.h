/// A run into a checkpoint and back: which parts there are, and what starts anew.
#pragma once

#include <ATen/core/TensorBody.h>

#include <set>
#include <string>
#include <vector>

#include "checkpoint/save_checkpoint.h"
#include "checkpoint/step_folder.h"
#include "data/loader.h"
#include "model/module.h"
#include "optim/adamw.h"
#include "train/run_record.h"

namespace titan::train {

/// The parts of a run that change while it trains.
struct RunParts {
  model::Module& model;
  optim::Optimizer& optimizer;
  data::Loader& loader;
  checkpoint::RunPosition& position;
  at::Device device;
};

/// The run as it stands; the tensors are the live ones. A model-only snapshot has its parameters in
/// the floating-point type `export_dtype` ("float32", ...).
checkpoint::Snapshot take_snapshot(const RunParts& parts, const RunRecord& record, int64_t seed,
                                   bool model_only, const std::string& export_dtype);

struct ResumeReport {
  bool model_loaded = false;
  bool from_checkpoint = false;   ///< the model is that of a checkpoint which the run resumes
  bool new_converter = false;     ///< and a converter is applied that the saved run did not have
  std::set<std::string> missing;  ///< state of converters that the checkpoint did not hold
};

/// What resume_run() checks before it changes anything: files against their checksums, the place in
/// the data (`loader` is moved there), and state of converters that would be dropped. Logs what
/// makes the resume inexact; throws a data error. Returns what the checkpoint says of itself.
checkpoint::Manifest check_resume(const checkpoint::StepFolder& from, const RunRecord& record,
                                  const std::vector<std::string>& exclude, model::Module& model,
                                  data::Loader& loader);

/// check_resume() for a model on the meta device, and whether the weights have its names, shapes
/// and types: all that can be known of a resume without taking it.
void rehearse_resume(const checkpoint::StepFolder& from, const RunRecord& record,
                     const std::vector<std::string>& exclude, model::Module& model,
                     data::Loader& loader);

/// Brings `parts` to where the checkpoint was taken, but for those named in `exclude`. Files are
/// checked against their checksums first. Logs what makes the resume inexact. Throws a data error
/// if anything is damaged or does not fit, also if state of a converter would be dropped.
ResumeReport resume_run(const checkpoint::StepFolder& from, const RunRecord& record,
                        const std::vector<std::string>& exclude, const RunParts& parts);

/// Weights and state once more, for after the converters' hooks have run: those fill caches, but
/// the run that was saved had its hooks already, and a second time may change bits.
void put_back_model(const checkpoint::StepFolder& from, const RunParts& parts);

}  // namespace titan::train
