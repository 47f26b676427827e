/// Checks the layouts that converters recorded: every stock value lies in exactly one place.
#pragma once

#include <string>
#include <vector>

#include "converters/record.h"
#include "converters/stock_model.h"

namespace titan::converters {

/// The shape of the parameter that `record` (kind kLayout) makes. Throws a usage error, which names
/// the instance and the module, if its parts do not fit together.
std::vector<int64_t> layout_shape(const StockModel& model, const Record& record,
                                  const std::string& instance);

/// All layouts together: each is made by the instance that replaces the module, each source is used
/// once and whole, none is tied, and the sources of one layout are all frozen or all trained.
void check_layouts(const StockModel& model, const std::vector<Record>& records,
                   const std::vector<std::string>& instances);

}  // namespace titan::converters
