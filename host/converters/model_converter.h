/// The converter interface inside the host. Converters of plugins are adapted to it; in-tree ones
/// implement it directly.
#pragma once

#include <ATen/core/TensorBody.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "config/option_schema.h"
#include "converters/device_facts.h"
#include "converters/record.h"
#include "converters/run_facts.h"
#include "converters/stock_model.h"

namespace titan::converters {

/// What an instance is created from.
struct CreateContext {
  const config::ConverterRequest& request;
  const DeviceFacts& device;
  const RunFacts& run;
};

/// Collects the records of one instance. Every function throws a usage error when the module was
/// not selected by the user, or a name does not exist or exists already.
class Recorder {
 public:
  Recorder(const StockModel& model, std::vector<bool> selected, std::string instance,
           size_t instance_index, std::vector<Record>& records);

  const StockModel& model() const { return model_; }
  bool selected(size_t module) const { return selected_[module]; }
  const std::string& instance() const { return instance_; }

  void replace(size_t module, std::unique_ptr<model::Replacement> replacement);
  void wrap(size_t module, std::unique_ptr<model::Wrap> wrap);
  void observe(size_t module, std::unique_ptr<model::Observer> observer);
  void add_parameter(size_t module, TensorSpec spec);
  void add_buffer(size_t module, TensorSpec spec);
  /// Moves stock parameters into one of another layout; the instance must replace the module.
  void layout(size_t module, LayoutSpec spec);
  void freeze(size_t module, const std::string& parameter);
  void tie(size_t module, const std::string& parameter, size_t other,
           const std::string& other_parameter);
  void keep(size_t module, std::string reason);
  /// How fast this instance's replacement or wrap of the module, recorded before, will be; once.
  void predict(size_t module, Prediction prediction);

 private:
  Record& add(Record::Kind kind, size_t module);
  void require_selected(Record::Kind kind, size_t module) const;
  void add_tensor(Record::Kind kind, size_t module, TensorSpec spec);
  void require_parameter(size_t module, const std::string& name) const;
  void require_free_name(size_t module, const std::string& name) const;

  const StockModel& model_;
  std::vector<bool> selected_;
  std::string instance_;
  size_t instance_index_;
  std::vector<Record>& records_;
  std::set<std::string> taken_;  ///< stored names of the tensors that this instance adds
};

enum class HookReason { kFresh, kLoaded, kStep };

/// A parameter or buffer as hooks see it.
struct HookTensor {
  std::string fqn;  ///< stock name, or `<module>.<name>` of a tensor the instance added
  at::Tensor tensor;
  uint64_t version = 0;
  bool buffer = false;
  bool missing = false;  ///< reason kLoaded: the checkpoint did not hold it
};

struct HookContext {
  HookReason reason;
  int64_t step;  ///< optimizer steps done so far
  std::string instance;
  std::vector<HookTensor> tensors;
  at::Device device = at::kCPU;                      ///< where the model's tensors are
  std::map<std::string, double>* metrics = nullptr;  ///< of this step; may be null
  void* stream = nullptr;  ///< CUDA: the cudaStream_t of this run; null is the default stream
};

/// One applied converter. Life: construct → convert → after_init → post_optimizer_hook* → destroy.
class ModelConverter {
 public:
  virtual ~ModelConverter() = default;
  /// Records changes; applies nothing.
  virtual void convert(Recorder& recorder) = 0;
  virtual void after_init(HookContext&) {}
  virtual bool wants_after_init() const { return false; }
  /// After every optimizer step, and once after init or load.
  virtual void post_optimizer_hook(HookContext&) {}
  virtual bool wants_post_optimizer_hook() const { return false; }
};

using ConverterFactory = std::function<std::unique_ptr<ModelConverter>(const CreateContext&)>;

}  // namespace titan::converters
