/// Files of token ids: types, sizes, ids outside the vocabulary.
#include "data/token_source.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/scratch_folder.h"

namespace titan::data {
namespace {

using test::expect_error;
using test::ScratchFolder;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::vector<int64_t> take(TokenStream& stream, size_t count) {
  std::vector<int64_t> tokens(count);
  stream.read(tokens);
  return tokens;
}

TEST(TokenFileTest, ReadsEachTypeAndBeginsAgain) {
  ScratchFolder folder;
  const std::vector<int64_t> expected = {1, 65535, 0, 40000, 1, 65535};
  const auto u16 = folder.write("u16", bytes_of<uint16_t>({1, 65535, 0, 40000}));
  const auto i32 = folder.write("i32", bytes_of<int32_t>({1, 65535, 0, 40000}));
  const auto u32 = folder.write("u32", bytes_of<uint32_t>({1, 65535, 0, 40000}));
  for (const auto& [path, type] :
       {std::pair(u16, TokenType::kUint16), std::pair(i32, TokenType::kInt32),
        std::pair(u32, TokenType::kUint32)}) {
    TokenFile file(path, type, 65536);
    EXPECT_EQ(file.token_count(), 4);
    EXPECT_EQ(take(file, 6), expected);
    EXPECT_EQ(file.position(), (StreamPosition{1, 0, 0, 2}));
  }
}

TEST(TokenFileTest, LargeUnsignedIdsAreNotNegative) {
  ScratchFolder folder;
  TokenFile file(folder.write("t", bytes_of<uint32_t>({4294967295u, 2})), TokenType::kUint32,
                 int64_t{1} << 32);
  EXPECT_EQ(take(file, 2), (std::vector<int64_t>{4294967295, 2}));
}

TEST(TokenFileTest, NamesPlaceAndValueOfAWrongId) {
  ScratchFolder folder;
  std::vector<uint16_t> ids(100000, 7);
  ids[70000] = 300;
  const auto path = folder.write("t.bin", bytes_of(ids));
  expect_error(ExitStatus::kData,
               {"t.bin", "token 70000", "byte 140000", "is 300", "0 to 255", "uint16"},
               [&] { TokenFile file(path, TokenType::kUint16, 256); });
  expect_error(ExitStatus::kData, {"token 1", "is -3", "0 to 255"}, [&] {
    TokenFile file(folder.write("n.bin", bytes_of<int32_t>({5, -3})), TokenType::kInt32, 256);
  });
}

TEST(TokenFileTest, ChecksIdsThatChangeLater) {
  ScratchFolder folder;
  const auto path = folder.write("t.bin", bytes_of<uint16_t>({1, 2, 3}));
  TokenFile file(path, TokenType::kUint16, 256);
  std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(2).write("\xff\xff", 2);
  expect_error(ExitStatus::kData, {"token 1", "65535"}, [&] { take(file, 3); });
}

TEST(TokenFileTest, RefusesMalformedFiles) {
  ScratchFolder folder;
  const auto open = [&](const std::filesystem::path& path, TokenType type = TokenType::kUint16) {
    return TokenFile(path, type, 256);
  };
  expect_error(ExitStatus::kData, {"none.bin", "does not exist", "training.dataset_path"},
               [&] { open(folder / "none.bin"); });
  expect_error(ExitStatus::kData, {"is empty"}, [&] { open(folder.write("e", "")); });
  expect_error(ExitStatus::kData, {"3 bytes", "2 bytes of uint16", "training.token_dtype"},
               [&] { open(folder.write("odd", "abc")); });
  expect_error(ExitStatus::kData, {"6 bytes", "4 bytes of int32"},
               [&] { open(folder.write("six", "abcdef"), TokenType::kInt32); });
  expect_error(ExitStatus::kData, {"is a folder"}, [&] { open(folder.path()); });
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ExitStatus::kData, {"is a pipe"}, [&] { open(folder / "pipe"); });
  expect_error(ExitStatus::kUsage, {"int16", "uint16, int32 or uint32"},
               [] { parse_token_type("int16"); });
}

TEST(TokenFileTest, SaysWhenTheFileShrinks) {
  ScratchFolder folder;
  const auto path = folder.write("t.bin", bytes_of<uint16_t>({1, 2, 3, 4}));
  TokenFile file(path, TokenType::kUint16, 256);
  std::filesystem::resize_file(path, 4);
  expect_error(ExitStatus::kData, {"t.bin", "ends at byte 4"}, [&] { take(file, 4); });
}

TEST(TokenFileTest, RefusesPlacesThatDoNotExist) {
  ScratchFolder folder;
  TokenFile file(folder.write("t.bin", bytes_of<uint16_t>({1, 2, 3})), TokenType::kUint16, 256);
  for (const StreamPosition& position : {StreamPosition{0, 0, 0, 4}, StreamPosition{0, 1, 0, 0},
                                         StreamPosition{0, 0, 0, -1}, StreamPosition{-1, 0, 0, 0}})
    expect_error(ExitStatus::kData, {"does not exist", "3 tokens"}, [&] { file.seek(position); });
}

}  // namespace
}  // namespace titan::data
