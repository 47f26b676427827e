/// The weights that a run begins with: checkpoint.initial_load_path and adapter_load_path.
#pragma once

#include <set>
#include <string>

#include "config/config.h"
#include "model/module.h"
#include "model/train_spec.h"

namespace titan::train {

struct InitialWeights {
  bool loaded = false;            ///< whether anything was
  std::set<std::string> missing;  ///< state of converters that the files did not hold
};

/// Fills `root` and logs what was found; if it is on the meta device, the files are checked and no
/// more. Files of a checkpoint are checked against their checksums first. Throws a data error if
/// anything is damaged or does not fit.
InitialWeights load_initial_weights(model::Module& root, const model::TrainSpec& spec,
                                    const model::ModelArgs& args, const config::Config& config);

/// The same values once more, without checksums and log: for after converters' hooks have run.
void put_back_initial_weights(model::Module& root, const model::TrainSpec& spec,
                              const model::ModelArgs& args, const config::Config& config);

}  // namespace titan::train
