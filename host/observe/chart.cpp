#include "observe/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/numbers.h"
#include "observe/markup.h"

namespace titan::observe {
namespace {

/// Colours that differ for most colour-blind people (Okabe and Ito's), by day and by night, and
/// dashes for the others and for print.
struct LineStyle {
  const char* day;
  const char* night;
  const char* dashes;
};
constexpr std::array<LineStyle, 8> kLineStyles = {{{"#0072b2", "#56b4e9", "none"},
                                                   {"#d55e00", "#ff9a4d", "6 2"},
                                                   {"#009e73", "#2fd6a5", "2 2"},
                                                   {"#a0478a", "#e79bd0", "8 2 2 2"},
                                                   {"#8a6d00", "#f0e442", "4 4"},
                                                   {"#4b4b9b", "#a9a9ff", "1 3"},
                                                   {"#7a3b00", "#e69f00", "10 3"},
                                                   {"#333333", "#dddddd", "5 1 1 1 1 1"}}};

struct Frame {
  double width, height, left, right, top, bottom;
};
constexpr Frame kLarge = {560, 240, 56, 12, 10, 30};
constexpr Frame kSmall = {340, 150, 52, 8, 8, 24};

/// From values to places in the picture.
struct Axis {
  double low = 0, high = 1;  ///< of the values, or of their logarithms
  double from = 0, to = 1;   ///< in the picture
  bool log = false;
  double place(double value) const {
    const double at = log ? std::log10(value) : value;
    return from + (at - low) / (high - low) * (to - from);
  }
};

struct Drawn {
  const ChartLine* line;
  std::vector<Bucket> buckets;
  SeriesFacts facts;
};

std::string place_text(double value) { return fixed_point(value, 1); }

/// Round powers of ten inside a range of logarithms, so many apart that there are at most five.
std::vector<double> decades(double low, double high) {
  std::vector<double> values;
  const double first = std::ceil(low - 1e-9), last = std::floor(high + 1e-9);
  const double apart = std::max(1.0, std::ceil((last - first + 1) / 5));
  for (double at = first; at <= last; at += apart) values.push_back(std::pow(10, at));
  return values;
}

void widen_if_flat(double& low, double& high) {
  if (high > low) return;
  const double margin = low == 0 ? 1 : std::abs(low) * 0.05;
  low -= margin;
  high += margin;
}

class Picture {
 public:
  Picture(const Chart& chart, std::vector<Drawn> drawn)
      : chart_(chart), drawn_(std::move(drawn)), frame_(chart.small ? kSmall : kLarge) {
    double low = std::numeric_limits<double>::infinity(), high = -low, first = low, last = -low;
    for (const Drawn& one : drawn_) {
      for (const Bucket& bucket : one.buckets) {
        low = std::min({low, bucket.low * one.line->scale, bucket.high * one.line->scale});
        high = std::max({high, bucket.low * one.line->scale, bucket.high * one.line->scale});
        first = std::min(first, bucket.step);
        last = std::max(last, bucket.step);
      }
      for (const int64_t step : one.facts.nonfinite_steps) {
        first = std::min(first, static_cast<double>(step));
        last = std::max(last, static_cast<double>(step));
      }
    }
    if (low > high) low = 0, high = 1;  // nothing is finite: only marks are drawn
    y_.log = chart.log_if_wide && low > 0 && high >= 1000 * low;
    y_.low = y_.log ? std::log10(low) : low;
    y_.high = y_.log ? std::log10(high) : high;
    widen_if_flat(y_.low, y_.high);
    widen_if_flat(first, last);
    x_.low = first;
    x_.high = last;
    x_.from = frame_.left;
    x_.to = frame_.width - frame_.right;
    y_.from = frame_.height - frame_.bottom;
    y_.to = frame_.top;
  }

  std::string svg() const {
    std::string out = "<svg viewBox=\"0 0 " + fixed_point(frame_.width, 0) + " " +
                      fixed_point(frame_.height, 0) +
                      "\" role=\"img\" xmlns=\"http://www.w3.org/2000/svg\">\n";
    out += element("title", chart_.title + " over steps") + element("desc", description()) + "\n";
    add_grid(out);
    for (const Drawn& one : drawn_) add_line(out, one);
    for (const Drawn& one : drawn_) add_marks(out, one);
    return out + "</svg>";
  }

 private:
  std::string description() const {
    std::string text;
    for (const Drawn& one : drawn_) {
      const auto value = [&](const SeriesPoint& point) {
        return short_number(point.value * one.line->scale) + " at step " +
               std::to_string(point.step);
      };
      if (!text.empty()) text += "; ";
      if (!one.line->name.empty()) text += one.line->name + ": ";
      if (one.facts.finite > 0)
        text += value(one.facts.first) + ", " + value(one.facts.last) + ", least " +
                value(one.facts.least) + ", largest " + value(one.facts.largest);
      if (const size_t count = one.facts.nonfinite_steps.size(); count > 0)
        text += std::string(one.facts.finite > 0 ? ", " : "") + "not finite in " +
                std::to_string(count) + " steps";
    }
    return text;
  }

  void add_grid(std::string& out) const {
    const std::vector<double> ys =
        y_.log ? decades(y_.low, y_.high) : ticks_between(y_.low, y_.high, chart_.small ? 4 : 6);
    const std::string right = place_text(x_.to), left = place_text(x_.from);
    for (const double value : ys) {
      const std::string at = place_text(y_.place(value));
      out += "<path class=\"grid\" d=\"M" + left + " " + at + "H" + right +
             "\"/><text class=\"y\" x=\"" + place_text(x_.from - 6) + "\" y=\"" +
             place_text(y_.place(value) + 3.5) + "\">" + escaped(short_number(value)) + "</text>\n";
    }
    for (const double value : ticks_between(x_.low, x_.high, chart_.small ? 4 : 7)) {
      if (value != std::floor(value)) continue;  // there are no half steps
      const std::string at = place_text(x_.place(value));
      out += "<path class=\"grid\" d=\"M" + at + " " + place_text(y_.from) +
             "v4\"/><text class=\"x\" x=\"" + at + "\" y=\"" + place_text(y_.from + 16) + "\">" +
             escaped(short_number(value)) + "</text>\n";
    }
    out += "<path class=\"axis\" d=\"M" + left + " " + place_text(y_.to) + "V" +
           place_text(y_.from) + "H" + right + "\"/>\n";
  }

  std::string point(double step, double value) const {
    return place_text(x_.place(step)) + " " + place_text(y_.place(value));
  }

  void add_line(std::string& out, const Drawn& one) const {
    if (one.buckets.empty()) return;
    const std::string style = "s" + std::to_string(one.line->style % kLineStyles.size());
    const double scale = one.line->scale;
    const bool spread = std::any_of(one.buckets.begin(), one.buckets.end(),
                                    [](const Bucket& bucket) { return bucket.low < bucket.high; });
    if (spread) {
      std::string path;
      for (const Bucket& bucket : one.buckets)
        path += (path.empty() ? "M" : "L") + point(bucket.step, bucket.high * scale);
      for (auto bucket = one.buckets.rbegin(); bucket != one.buckets.rend(); ++bucket)
        path += "L" + point(bucket->step, bucket->low * scale);
      out += "<path class=\"spread " + style + "\" d=\"" + path + "Z\"/>\n";
    }
    std::string path;
    for (const Bucket& bucket : one.buckets)
      path += (path.empty() ? "M" : "L") + point(bucket.step, bucket.mean * scale);
    if (one.buckets.size() == 1) path += "h0.1";  // a line of no length is not drawn
    out += "<path class=\"line " + style + "\" d=\"" + path + "\">" +
           element("title", one.line->name) + "</path>\n";
  }

  /// Small triangles; those that would lie on each other are one.
  void add_marks(std::string& out, const Drawn& one) const {
    double before = -10;
    for (const int64_t step : one.facts.nonfinite_steps) {
      const double at = x_.place(static_cast<double>(step));
      if (at - before < 4) continue;
      before = at;
      out += "<path class=\"bad\" d=\"M" + place_text(at - 4) + " " + place_text(y_.to - 6) +
             "h8l-4 7z\">" + element("title", "not finite in step " + std::to_string(step)) +
             "</path>\n";
    }
  }

  const Chart& chart_;
  std::vector<Drawn> drawn_;
  Frame frame_;
  Axis x_, y_;
};

}  // namespace

std::vector<double> ticks_between(double low, double high, int64_t most) {
  if (!(high > low) || most < 2) return {low};
  const double rough = (high - low) / static_cast<double>(most);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double apart = 10 * power;
  // No factor is more than twice the one before: half of the parts are always there.
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= rough * (1 - 1e-9)) {
      apart = factor * power;
      break;
    }
  std::vector<double> ticks;
  // By number, not by adding up: 0.1 + 0.2 is not 0.3.
  for (double number = std::ceil(low / apart - 1e-9); number * apart <= high + 1e-9 * apart;
       ++number)
    ticks.push_back(number == 0 ? 0 : number * apart);
  return ticks;
}

std::string chart_html(const Chart& chart) {
  std::vector<Drawn> drawn;
  for (const ChartLine& line : chart.lines) {
    Drawn one = {&line, buckets_of(line.series, chart.most_points), facts_of(line.series)};
    if (one.facts.finite > 0 || !one.facts.nonfinite_steps.empty()) drawn.push_back(std::move(one));
  }
  if (drawn.empty()) return "";
  const std::string caption =
      escaped(chart.title) +
      (chart.unit.empty() ? "" : " <small>" + escaped(chart.unit) + "</small>");
  return std::string("<figure") + (chart.small ? " class=\"small\"" : "") + "><figcaption>" +
         caption + "</figcaption>\n" + Picture(chart, std::move(drawn)).svg() + "</figure>\n";
}

std::string chart_style() {
  std::string day, night, both;
  for (size_t i = 0; i < kLineStyles.size(); ++i) {
    const std::string number = std::to_string(i);
    day += "--s" + number + ":" + kLineStyles[i].day + ";";
    night += "--s" + number + ":" + kLineStyles[i].night + ";";
    both += ".line.s" + number + ",.key.s" + number + "{stroke:var(--s" + number +
            ");stroke-dasharray:" + kLineStyles[i].dashes + "}.spread.s" + number +
            "{fill:var(--s" + number + ")}\n";
  }
  return ":root{" + day + "}\n@media(prefers-color-scheme:dark){:root{" + night + "}}\n" + both +
         ".line,.key{fill:none;stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}\n"
         ".spread{opacity:.25;stroke:none}.grid{stroke:var(--faint);fill:none}.axis{stroke:var(--"
         "dim);fill:none}\n"
         ".bad{fill:var(--bad)}svg{display:block;width:100%;height:auto}\n"
         "svg text{fill:var(--dim);font-size:10px}.y{text-anchor:end}.x{text-anchor:middle}\n";
}

}  // namespace titan::observe
