/// Which modules an instance may touch: include and exclude globs from the config.
#pragma once

#include <string>
#include <vector>

#include "converters/stock_model.h"

namespace titan::converters {

/// Evaluates the globs against every module. A glob that matches a module chooses everything below
/// it too: `layers.0` is all of block 0 and never block 10. No include globs choose everything.
/// A glob that matches no module is a usage error with the nearest names: a stale name must not
/// pass in silence.
std::vector<bool> select_modules(const StockModel& model, const std::string& instance,
                                 const std::vector<std::string>& include,
                                 const std::vector<std::string>& exclude);

}  // namespace titan::converters
