/// Applies checked records to the module tree.
#pragma once

#include <string>
#include <vector>

#include "converters/record.h"
#include "converters/stock_model.h"

namespace titan::converters {

/// Everything that can fail happens first, on objects that are not part of the model yet; after
/// that nothing throws. So the model is changed by all records or by none.
/// Takes replacement, wrap and observer out of the records; the rest of them stays readable.
void apply_records(const StockModel& model, std::vector<Record>& records,
                   const std::vector<std::string>& instances);

}  // namespace titan::converters
