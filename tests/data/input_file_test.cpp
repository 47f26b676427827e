/// Files plain and compressed: any part of the content, and damage.
#include "data/input_file.h"

#include <gtest/gtest.h>

#include "data/zstd_bytes.h"
#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;
using test::zstd_bytes;

/// Numbers that do not compress to nothing.
std::string long_text() {
  std::string text;
  for (uint32_t i = 0, state = 1; i < 100000; ++i) {
    state = state * 1664525u + 1013904223u;
    text += std::to_string(state >> 20) + (i % 7 ? " " : "\n");
  }
  return text;
}

std::string part_of(InputFile& file, int64_t offset, int64_t size) {
  std::string part(static_cast<size_t>(size), '\0');
  part.resize(static_cast<size_t>(file.read(offset, part.data(), size)));
  return part;
}

TEST(InputFileTest, AnyPartInAnyOrder) {
  ScratchFolder folder;
  const std::string text = long_text();
  const auto size = static_cast<int64_t>(text.size());
  const std::string halves = zstd_bytes(text.substr(0, 1000)) + zstd_bytes(text.substr(1000));
  for (const auto& path : {folder.write("a.txt", text), folder.write("a.txt.zst", zstd_bytes(text)),
                           folder.write("b.zstd", halves)}) {
    InputFile file(path, "text file", "hint");
    EXPECT_EQ(file.compressed(), path.extension() != ".txt");
    EXPECT_EQ(part_of(file, 0, size + 10), text) << path;
    EXPECT_EQ(part_of(file, size, 10), "") << path;
    EXPECT_EQ(part_of(file, size + 100, 10), "") << path;
    for (const int64_t offset : {int64_t{5}, int64_t{999}, size - 3, int64_t{1000}, int64_t{0}})
      EXPECT_EQ(part_of(file, offset, 50), text.substr(static_cast<size_t>(offset), 50))
          << path << " " << offset;
  }
}

TEST(InputFileTest, NamesDamagedFiles) {
  ScratchFolder folder;
  const std::string good = zstd_bytes(long_text());
  const auto read_all = [](const std::filesystem::path& path) {
    InputFile file(path, "text file", "hint");
    std::string all(1 << 20, '\0');
    file.read(0, all.data(), static_cast<int64_t>(all.size()));
  };
  expect_error(ExitStatus::kData, {"cut.zst", "middle of a frame", "zstd --test"},
               [&] { read_all(folder.write("cut.zst", good.substr(0, good.size() / 2))); });
  expect_error(ExitStatus::kData, {"plain.zst", "cannot be decompressed", "rename it"},
               [&] { read_all(folder.write("plain.zst", "this is plain text")); });
  std::string broken = good;
  for (size_t i = broken.size() / 2; i < broken.size() / 2 + 20; ++i)
    broken[i] = static_cast<char>(~broken[i]);
  expect_error(ExitStatus::kData, {"broken.zst"},
               [&] { read_all(folder.write("broken.zst", broken)); });
  expect_error(ExitStatus::kData, {"none.zst", "does not exist"},
               [&] { read_all(folder / "none.zst"); });
}

TEST(InputFileTest, AnEmptyCompressedFileHoldsNothing) {
  ScratchFolder folder;
  InputFile nothing(folder.write("a.zst", ""), "text file", "hint");
  EXPECT_EQ(part_of(nothing, 0, 5), "");
  InputFile empty(folder.write("b.zst", zstd_bytes("")), "text file", "hint");
  EXPECT_EQ(part_of(empty, 0, 5), "");
}

}  // namespace
}  // namespace titan::data
