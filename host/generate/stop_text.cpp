#include "generate/stop_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace titan::generate {

StopText::StopText(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase(stops_, "");
}

std::string StopText::push(const std::string& piece) {
  if (stopped_) return {};
  held_ += piece;
  size_t end = std::string::npos, waiting = 0;
  for (const std::string& stop : stops_) {
    end = std::min(end, held_.find(stop));
    // The longest end of the text that could become this string.
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > waiting; --length)
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, length)))
        waiting = length;
  }
  if (end != std::string::npos) {
    stopped_ = true;
    std::string shown = held_.substr(0, end);
    held_.clear();
    return shown;
  }
  std::string shown = held_.substr(0, held_.size() - waiting);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopText::finish() { return std::exchange(held_, {}); }

}  // namespace titan::generate
