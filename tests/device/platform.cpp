#include "platform.h"

#include <algorithm>

#include "base/error.h"

namespace titan::device_check {

double median(std::vector<double> values) {
  if (values.empty()) throw internal_error("the median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace titan::device_check
