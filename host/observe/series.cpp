#include "observe/series.h"

#include <algorithm>
#include <cmath>

namespace titan::observe {

std::vector<Bucket> buckets_of(const Series& series, int64_t most) {
  std::vector<Bucket> buckets;
  Series finite;
  for (const SeriesPoint& point : series)
    if (std::isfinite(point.value)) finite.push_back(point);
  if (static_cast<int64_t>(finite.size()) <= most) {
    for (const SeriesPoint& point : finite)
      buckets.push_back({static_cast<double>(point.step), point.value, point.value, point.value});
    return buckets;
  }
  const double begin = static_cast<double>(finite.front().step);
  const double width =
      (static_cast<double>(finite.back().step) - begin + 1) / static_cast<double>(most);
  int64_t number = -1, count = 0;
  for (const SeriesPoint& point : finite) {
    const double step = static_cast<double>(point.step);
    const auto belongs = std::min(static_cast<int64_t>((step - begin) / width), most - 1);
    if (belongs != number) {
      buckets.push_back({step, point.value, point.value, point.value});
      number = belongs;
      count = 1;
      continue;
    }
    Bucket& bucket = buckets.back();
    const double share = 1.0 / static_cast<double>(++count);
    bucket.step += (step - bucket.step) * share;
    bucket.mean += (point.value - bucket.mean) * share;
    bucket.low = std::min(bucket.low, point.value);
    bucket.high = std::max(bucket.high, point.value);
  }
  return buckets;
}

SeriesFacts facts_of(const Series& series) {
  SeriesFacts facts;
  std::vector<double> values;
  for (const SeriesPoint& point : series) {
    if (!std::isfinite(point.value)) {
      facts.nonfinite_steps.push_back(point.step);
      continue;
    }
    if (facts.finite++ == 0) facts.first = facts.least = facts.largest = point;
    facts.last = point;
    if (point.value < facts.least.value) facts.least = point;
    if (point.value > facts.largest.value) facts.largest = point;
    values.push_back(point.value);
  }
  if (!values.empty()) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    facts.median = *middle;
  }
  return facts;
}

}  // namespace titan::observe
