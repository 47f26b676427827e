#include "base/table.h"

#include <algorithm>

#include "base/terminal.h"

namespace titan {

Table::Table(std::vector<std::string> headers) : headers_(std::move(headers)) {}

void Table::align(size_t column, Align align) {
  if (align_.size() <= column) align_.resize(column + 1, Align::kLeft);
  align_[column] = align;
}

void Table::add_row(std::vector<std::string> cells) {
  for (std::string& cell : cells) std::replace(cell.begin(), cell.end(), '\n', ' ');
  rows_.push_back(std::move(cells));
}

std::string Table::render() const {
  std::vector<const std::vector<std::string>*> lines;
  if (!headers_.empty()) lines.push_back(&headers_);
  for (const auto& row : rows_) lines.push_back(&row);

  std::vector<size_t> widths;
  for (const auto* line : lines) {
    if (widths.size() < line->size()) widths.resize(line->size(), 0);
    for (size_t i = 0; i < line->size(); ++i)
      widths[i] = std::max(widths[i], display_width((*line)[i]));
  }

  std::string text;
  for (const auto* line : lines) {
    std::string out;
    for (size_t i = 0; i < line->size(); ++i) {
      const std::string padding(widths[i] - display_width((*line)[i]), ' ');
      const bool right = i < align_.size() && align_[i] == Align::kRight;
      if (i > 0) out += "  ";
      out += right ? padding + (*line)[i] : (*line)[i] + padding;
    }
    out.erase(out.find_last_not_of(' ') + 1);
    text += out + '\n';
  }
  return text;
}

}  // namespace titan
