/// Alignment of text tables.
#include "base/table.h"

#include <gtest/gtest.h>

namespace titan {
namespace {

TEST(Table, AlignsColumnsWithoutTrailingSpaces) {
  Table table({"name", "version", "size"});
  table.align(2, Table::Align::kRight);
  table.add_row({"float8", "0.1.0", "28"});
  table.add_row({"x", "10", "1,234"});
  EXPECT_EQ(table.render(),
            "name    version   size\n"
            "float8  0.1.0       28\n"
            "x       10       1,234\n");
}

TEST(Table, TakesShortAndLongRows) {
  Table table({"a", "b"});
  table.add_row({"1"});
  table.add_row({"1", "2", "3"});
  EXPECT_EQ(table.render(), "a  b\n1\n1  2  3\n");
}

TEST(Table, CountsCodePointsNotBytes) {
  Table table;
  table.add_row({"\xc3\xa4", "x"});
  table.add_row({"ab", "y"});
  EXPECT_EQ(table.render(), "\xc3\xa4   x\nab  y\n");
}

TEST(Table, KeepsARowOnOneLine) {
  Table table;
  table.add_row({"a\nb", "c"});
  EXPECT_EQ(table.render(), "a b  c\n");
}

TEST(Table, IsEmptyWithoutContent) { EXPECT_EQ(Table().render(), ""); }

}  // namespace
}  // namespace titan
