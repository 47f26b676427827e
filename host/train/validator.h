/// The loss on data that is not trained on: section validation.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "config/config.h"
#include "data/loader.h"
#include "model/module.h"

namespace titan::train {

struct ValidationResult {
  int64_t step = 0;    ///< optimizer steps done
  double loss = 0;     ///< mean over the valid labels of all batches
  int64_t tokens = 0;  ///< input tokens
  double seconds = 0;
};

/// Every validation begins at the start of the data: losses of different steps, and of a run that
/// was resumed, are of the same samples. (torchtitan's iterator goes on where it stopped.)
class Validator {
 public:
  /// Opens the data; throws a usage or data error that names the keys of section validation.
  Validator(const config::Config& config, int64_t vocab_size,
            const std::filesystem::path& data_dir);

  /// After step 1 and every validation.freq steps, as torchtitan does.
  bool due(int64_t step) const { return step == 1 || step % freq_ == 0; }

  /// Changes nothing that training sees: no gradients, random generators put back, and converters
  /// are told that this is neither training nor a repetition. `context` says how to compute.
  /// `stopped` is asked before every batch; if it says yes there is no result.
  std::optional<ValidationResult> run(model::Module& root, model::CallContext context,
                                      at::Device device, const std::function<bool()>& stopped = {});

 private:
  /// The next batch of this validation; without samples when all were read.
  data::Batch next_batch(int64_t index);

  int64_t freq_, batch_size_, steps_;
  std::unique_ptr<data::Loader> samples_;  ///< one at a time: the last batch may be smaller
  data::LoaderState start_;
};

}  // namespace titan::train
