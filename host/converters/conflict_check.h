/// Checks the union of all records before anything is applied.
#pragma once

#include <string>
#include <vector>

#include "converters/record.h"
#include "converters/stock_model.h"

namespace titan::converters {

/// Throws a usage error naming the instances and the module if the records contradict each other:
///  - two replacements of one module;
///  - a replacement, and another record that changes or observes a module below it (freezing and
///    tying parameters stay legal: they concern the values, which a replacement still receives);
///  - a parameter tied twice, to itself, or to one of another shape or type;
///  - a module that one instance both keeps as it is and changes;
///  - an instance that recorded no change at all, and has no hook to work in (`hooked`) or kept
///  every
///    module that it looked at.
/// The verdict does not depend on the order of the instances.
void check_records(const StockModel& model, const std::vector<Record>& records,
                   const std::vector<std::string>& instances, const std::vector<bool>& hooked);

}  // namespace titan::converters
