/// The converters of one run, in the order of model.converters.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/option_schema.h"
#include "converters/model_converter.h"
#include "converters/registry.h"

namespace titan::converters {

/// Creates all, then converts all, then runs their hooks, always in list order (torchtitan's
/// ModelConvertersContainer). An error anywhere leaves the model as it was.
class ModelConvertersContainer {
 public:
  /// Creates every instance. Unsupported devices and bad options are usage errors here, before any
  /// weight exists. `run`: facts about the run for the converters.
  ModelConvertersContainer(const Registry& registry,
                           const std::vector<config::ConverterRequest>& requests,
                           const DeviceFacts& device, const RunFacts& run = {});
  ~ModelConvertersContainer();

  /// Record, check, apply. `root` is on the meta device.
  void convert(model::Module& root);

  /// Weights have values now. `missing`: stored names that a loaded checkpoint did not hold.
  /// `step`: optimizer steps done, not 0 when a run resumes.
  void after_init(model::Module& root, HookReason reason, const std::set<std::string>& missing,
                  std::map<std::string, double>* metrics = nullptr, int64_t step = 0);
  /// `step`: optimizer steps done. Metrics of hooks go to `metrics` if it is given.
  void post_optimizer_hook(model::Module& root, int64_t step,
                           std::map<std::string, double>* metrics = nullptr);

  bool empty() const { return instances_.empty(); }
  /// Whether after_init() would call any code of a converter.
  bool has_hooks() const;
  std::vector<std::string> instance_names() const;
  const std::vector<Record>& records() const { return records_; }
  std::vector<config::ConverterRequest> requests() const;
  /// "float8: replaces 42 modules, keeps 1 (...)", one line an instance.
  std::vector<std::string> summary() const;

 private:
  struct Instance {
    config::ConverterRequest request;
    std::unique_ptr<ModelConverter> converter;
    std::string kept_reason;
  };
  void run_hook(model::Module& root, size_t instance, HookReason reason, int64_t step,
                bool after_init, const std::set<std::string>& missing,
                std::map<std::string, double>* metrics);

  std::vector<Instance> instances_;
  std::vector<Record> records_;
};

}  // namespace titan::converters
