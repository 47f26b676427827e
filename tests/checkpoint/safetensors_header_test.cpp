/// The header parser: accepts what is right, names what is wrong, survives anything.
#include "checkpoint/safetensors_header.h"

#include <gtest/gtest.h>

#include <random>

#include "checkpoint/safetensors_bytes.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using test::expect_error;
using test::safetensors_bytes;

SafetensorsHeader parse(std::string_view json, std::string_view data = {}) {
  return parse_safetensors_header(safetensors_bytes(json, data), "x.safetensors");
}

void expect_refused(std::initializer_list<std::string_view> parts, std::string_view json,
                    std::string_view data = {}) {
  SCOPED_TRACE(json.substr(0, 200));
  std::vector<std::string_view> all(parts);
  expect_error(ExitStatus::kData, {"x.safetensors"}, [&] { parse(json, data); });
  expect_error(ExitStatus::kData, parts, [&] { parse(json, data); });
}

TEST(SafetensorsHeaderTest, ReadsTensorsByNameAndMetadata) {
  const SafetensorsHeader header = parse(
      R"({"__metadata__":{"format":"pt","k":""},
          "b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},
          "a":{"shape":[2,3],"data_offsets":[4,16],"dtype":"BF16"},
          "e":{"dtype":"I64","shape":[0,7],"data_offsets":[4,4]}}   )",
      "0123456789abcdef");
  ASSERT_EQ(header.tensors.size(), 3u);
  EXPECT_EQ(header.tensors[0].name, "a");
  EXPECT_EQ(header.tensors[0].type, TensorType::kBF16);
  EXPECT_EQ(header.tensors[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(header.tensors[0].end - header.tensors[0].begin, 12);
  EXPECT_EQ(header.tensors[1].name, "b");
  EXPECT_TRUE(header.tensors[1].shape.empty());
  EXPECT_EQ(header.tensors[0].begin - header.tensors[1].begin, 4);
  EXPECT_EQ(header.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"k", ""}}));
  EXPECT_TRUE(parse("{}").tensors.empty());
}

TEST(SafetensorsHeaderTest, KnowsEveryType) {
  const std::pair<const char*, int64_t> types[] = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8},     {"I32", 4},
      {"I16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"F8_E4M3", 1}, {"F8_E5M2", 1}};
  for (const auto& [name, bytes] : types) {
    const SafetensorsHeader header =
        parse(R"({"t":{"dtype":")" + std::string(name) + R"(","shape":[1],"data_offsets":[0,)" +
                  std::to_string(bytes) + "]}}",
              std::string(static_cast<size_t>(bytes), 'x'));
    EXPECT_EQ(type_name(header.tensors[0].type), name);
    EXPECT_EQ(type_bytes(header.tensors[0].type), bytes);
  }
}

TEST(SafetensorsHeaderTest, RefusesAWrongLengthField) {
  const auto refuse = [](std::string_view part, std::string_view bytes) {
    expect_error(ExitStatus::kData, {"x.safetensors", part},
                 [&] { parse_safetensors_header(bytes, "x.safetensors"); });
  };
  refuse("has 0 bytes", "");
  refuse("has 7 bytes", "1234567");
  refuse("no JSON object", std::string(8, '\0'));
  refuse("claims a header of 18446744073709551615 bytes", std::string(8, '\xff'));
  refuse("at most 104857600", std::string("\1\0\0\x40\6\0\0\0{}", 10));
  refuse("claims a header of 3 bytes, but only 2 follow", std::string("\3\0\0\0\0\0\0\0{}", 10));
}

TEST(SafetensorsHeaderTest, RefusesWhatIsNoHeader) {
  expect_refused({"no JSON object"}, "[]");
  expect_refused({"no JSON object"}, " {}");
  expect_refused({"not valid JSON"}, "{");
  expect_refused({"not valid JSON"}, "{} {}");
  expect_refused({"not valid JSON"}, "{\"\xff\":1}");
  expect_refused({"zero byte"}, std::string_view("{}\0{}", 5));
  expect_refused({"'a'", "holds a number"}, R"({"a":1})");
  expect_refused({"'a'", "null"}, R"({"a":null})");
  expect_refused({"'a'", "a list"}, R"({"a":[]})");
  expect_refused({"'a'", "truth value"}, R"({"a":true})");
  expect_refused({"'a'", "a text"}, R"({"a":"b"})");
  expect_refused({"'a'", "unknown field 'c'"}, R"({"a":{"c":1}})");
  expect_refused({"__metadata__", "holds a number"}, R"({"__metadata__":{"a":1}})");
  expect_refused({"__metadata__", "an object"}, R"({"__metadata__":{"a":{}}})");
  expect_refused({"__metadata__", "twice"}, R"({"__metadata__":{},"__metadata__":{}})");
  expect_refused({"__metadata__", "'a' twice"}, R"({"__metadata__":{"a":"1","a":"2"}})");
  expect_refused({"'a'", "an object"}, R"({"a":{"dtype":{}}})");
  expect_refused({"a list where none belongs"}, "{\"a\":{\"shape\":" + std::string(1 << 20, '['));
}

TEST(SafetensorsHeaderTest, RefusesIncompleteOrDoubledTensors) {
  expect_refused({"'a'", "no dtype"}, R"({"a":{"shape":[],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "no shape"}, R"({"a":{"dtype":"F32","data_offsets":[0,0]}})");
  expect_refused({"'a'", "data_offsets"}, R"({"a":{"dtype":"F32","shape":[0]}})");
  expect_refused({"'a'", "data_offsets"},
                 R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0]}})");
  expect_refused({"'a'", "gives dtype twice"}, R"({"a":{"dtype":"F32","dtype":"F32"}})");
  expect_refused({"'a'", "gives shape twice"}, R"({"a":{"shape":[],"shape":[]}})");
  expect_refused({"'a'", "stands twice"},
                 R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},
                     "a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})");
}

TEST(SafetensorsHeaderTest, RefusesWrongTypesAndNumbers) {
  expect_refused({"'a'", "'F4'", "F8_E4M3"},
                 R"({"a":{"dtype":"F4","shape":[0],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "-1"}, R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "1.5"}, R"({"a":{"dtype":"U8","shape":[1.5],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "99999999999999999999"},
                 R"({"a":{"dtype":"U8","shape":[99999999999999999999],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "18446744073709551615"},
                 R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "[4294967296, 4294967296]", "64 bits"},
                 R"({"a":{"dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0]}})");
  expect_refused({"'a'", "64 bits"},
                 R"({"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}})");
  std::string ones = "1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  expect_refused({"'a'", "64 dimensions"},
                 R"({"a":{"dtype":"U8","shape":[)" + ones + R"(],"data_offsets":[0,1]}})", "x");
}

TEST(SafetensorsHeaderTest, RefusesWrongPlaces) {
  const std::string f32 = R"({"dtype":"F32","shape":[2],"data_offsets":)";
  expect_refused({"'a'", "[8, 0)", "reversed"}, R"({"a":)" + f32 + "[8,0]}}", "01234567");
  expect_refused({"'a'", "[0, 8)", "only 7 bytes", "cut off"}, R"({"a":)" + f32 + "[0,8]}}",
                 "0123456");
  expect_refused({"'a'", "only 8 bytes"},
                 R"({"a":)" + f32 + "[18446744073709551600,18446744073709551608]}}", "01234567");
  expect_refused({"'a'", "has 4 bytes", "[2] of F32 needs 8"}, R"({"a":)" + f32 + "[0,4]}}",
                 "0123");
  expect_refused({"'a' and 'b' overlap"}, R"({"a":)" + f32 + R"([0,8]},"b":)" + f32 + "[4,12]}}",
                 "0123456789ab");
  expect_refused({"4 bytes before the tensor 'b'"},
                 R"({"a":)" + f32 + R"([0,8]},"b":)" + f32 + "[12,20]}}", std::string(20, 'x'));
  expect_refused({"1 bytes at the end"}, R"({"a":)" + f32 + "[0,8]}}", "012345678");
}

TEST(SafetensorsHeaderTest, ShowsStrangeNamesWithoutHarm) {
  expect_refused({"'?[31mred?'"}, R"({"\u001b[31mred\u0000":1})");
  expect_refused({"..."}, "{\"" + std::string(100000, 'n') + "\":1}");
  EXPECT_LT(shown_name(std::string(100000, 'n')).size(), 200u);
}

TEST(SafetensorsHeaderTest, WritesWhatItReads) {
  std::vector<TensorEntry> tensors = {{"wide", TensorType::kF64, {2}, 0, 0},
                                      {"odd \"name\"\n", TensorType::kU8, {3}, 0, 0},
                                      {"none", TensorType::kBool, {0, 5}, 0, 0}};
  const std::string header = format_safetensors_header(tensors, {{"format", "pt"}});
  EXPECT_EQ(header.size() % 8, 0u);
  const SafetensorsHeader read =
      parse_safetensors_header(header + std::string(19, 'x'), "x.safetensors");
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.metadata.at("format"), "pt");
  for (const TensorEntry& entry : read.tensors) {
    const auto same = [&](const TensorEntry& other) { return other.name == entry.name; };
    const auto written = std::find_if(tensors.begin(), tensors.end(), same);
    ASSERT_NE(written, tensors.end());
    EXPECT_EQ(entry.type, written->type);
    EXPECT_EQ(entry.shape, written->shape);
    EXPECT_EQ(entry.begin, written->begin);
    EXPECT_EQ(entry.end, written->end);
  }
}

/// Damages a good file in many ways; whatever comes out must be a header or a worded data error.
TEST(SafetensorsHeaderTest, SurvivesDamage) {
  const std::string good = safetensors_bytes(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}})",
      "0123456789a");
  std::mt19937 random(7);
  int accepted = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string bytes = good;
    for (unsigned k = 0; k <= random() % 3; ++k) {
      const size_t place = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[place] = static_cast<char>(random()); break;
        case 1: bytes.erase(place, 1 + random() % 4); break;
        case 2: bytes.insert(place, 1, "0123456789{}[],:\"-e"[random() % 19]); break;
        case 3: bytes.resize(place); break;
      }
      if (bytes.empty()) break;
    }
    try {
      const SafetensorsHeader header = parse_safetensors_header(bytes, "x.safetensors");
      for (const TensorEntry& entry : header.tensors) {
        ASSERT_GE(entry.begin, 8);
        ASSERT_LE(entry.end, static_cast<int64_t>(bytes.size()));
      }
      ++accepted;
    } catch (const Error& error) {
      ASSERT_EQ(error.status(), ExitStatus::kData);
      ++refused;
    }
  }
  EXPECT_GT(accepted, 100);
  EXPECT_GT(refused, 10000);
}

}  // namespace
}  // namespace titan::checkpoint
