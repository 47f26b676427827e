/// A line chart as inline SVG: no script, readable in print, by day and by night.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "observe/series.h"

namespace titan::observe {

struct ChartLine {
  std::string name;  ///< of the run or layer
  Series series;
  double scale = 1;  ///< values are multiplied by it
  size_t style = 0;  ///< colour and dashes: class "s0" to "s7" of the page's style sheet
};

struct Chart {
  std::string title;
  std::string unit;  ///< behind the title; may be empty
  std::vector<ChartLine> lines;
  bool log_if_wide = false;  ///< logarithmic if all values are positive and span three decades
  bool small = false;        ///< for a grid of many
  int64_t most_points =
      240;  ///< of a line; longer ones are drawn as their mean between least and largest
};

/// A <figure> with title and description for screen readers; steps that are not finite are marked
/// at the upper edge. Empty if no line has a finite value and none is marked.
std::string chart_html(const Chart& chart);

/// Round values in the range, which divide it into at most `most` parts (two or more): two values
/// at least, but one for an empty range.
std::vector<double> ticks_between(double low, double high, int64_t most);

/// The rules of the page's style sheet that charts need.
std::string chart_style();

}  // namespace titan::observe
