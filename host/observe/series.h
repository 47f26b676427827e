/// A number over the steps of a run, and few enough points of it for a chart.
#pragma once

#include <cstdint>
#include <vector>

namespace titan::observe {

struct SeriesPoint {
  int64_t step = 0;
  double value = 0;  ///< may be nan or infinite
};
using Series = std::vector<SeriesPoint>;  ///< steps rise

/// The finite values of a stretch of steps.
struct Bucket {
  double step = 0;  ///< mean of the steps
  double low = 0, mean = 0, high = 0;
};

/// One bucket a point if there are at most `most` finite points; else `most` stretches of equal
/// length in steps, without the empty ones. The least and the largest value of the series are
/// always in it.
std::vector<Bucket> buckets_of(const Series& series, int64_t most);

struct SeriesFacts {
  int64_t finite = 0;  ///< number of finite values; the rest below is of them
  SeriesPoint first, last, least, largest;
  double median = 0;
  std::vector<int64_t> nonfinite_steps;
};
SeriesFacts facts_of(const Series& series);

}  // namespace titan::observe
