/// Plain aligned text tables for the terminal.
#pragma once

#include <string>
#include <vector>

namespace titan {

/// Columns are as wide as their widest cell and two spaces apart; no line ends in spaces.
class Table {
 public:
  enum class Align { kLeft, kRight };

  /// A table without headers starts with its first row.
  explicit Table(std::vector<std::string> headers = {});

  /// Right-aligned columns suit numbers. Columns are left-aligned unless told otherwise.
  void align(size_t column, Align align);
  /// A row may have fewer or more cells than the header; a newline in a cell is shown as a space.
  void add_row(std::vector<std::string> cells);
  size_t rows() const { return rows_.size(); }

  /// Every line ends in a newline; empty if there are neither headers nor rows.
  std::string render() const;

 private:
  std::vector<std::string> headers_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Align> align_;
};

}  // namespace titan
