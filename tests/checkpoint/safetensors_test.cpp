/// Safetensors files with torch: round trips, alignment, files made elsewhere, failures of the
/// disk.
#include "checkpoint/safetensors.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "checkpoint/safetensors_bytes.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using test::expect_error;
using test::safetensors_bytes;
using test::ScratchFolder;

/// Bits, not values: NaN and negative zero count as well.
bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor x = a.contiguous(), y = b.contiguous();
  return x.scalar_type() == y.scalar_type() && x.sizes() == y.sizes() &&
         (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0);
}

std::map<std::string, at::Tensor> one_of_each_type() {
  std::map<std::string, at::Tensor> tensors;
  for (const at::ScalarType type :
       {at::kDouble, at::kFloat, at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, at::kFloat8_e5m2})
    tensors[std::string("t.") + at::toString(type)] = at::randn({3, 5}).to(type);
  for (const at::ScalarType type :
       {at::kLong, at::kInt, at::kShort, at::kChar, at::kByte, at::kBool})
    tensors[std::string("t.") + at::toString(type)] = at::randint(0, 2, {7}).to(type);
  tensors["scalar"] = at::scalar_tensor(2.5, at::kFloat);
  tensors["empty"] = at::empty({0, 4}, at::kInt);
  tensors["special"] = at::tensor({NAN, -0.0f, INFINITY, -INFINITY}, at::kFloat);
  tensors["strided"] = at::arange(12, at::kFloat).view({3, 4}).t();
  return tensors;
}

TEST(SafetensorsTest, RoundTripKeepsEveryBit) {
  ScratchFolder folder;
  const auto tensors = one_of_each_type();
  write_safetensors(folder / "t.safetensors", tensors, {{"format", "pt"}});
  const SafetensorsReader reader(folder / "t.safetensors");
  EXPECT_EQ(reader.tensors().size(), tensors.size());
  EXPECT_EQ(reader.metadata().at("format"), "pt");
  for (const auto& [name, tensor] : tensors)
    EXPECT_TRUE(same_bits(reader.tensor(name), tensor)) << name;
}

TEST(SafetensorsTest, WritesTheSameBytesAgainAndAligned) {
  ScratchFolder folder;
  const auto tensors = one_of_each_type();
  write_safetensors(folder / "a", tensors, {{"k", "v"}});
  write_safetensors(folder / "b", tensors, {{"k", "v"}});
  EXPECT_EQ(test::read_file(folder / "a"), test::read_file(folder / "b"));
  const SafetensorsReader reader(folder / "a");
  for (const TensorEntry& entry : reader.tensors())
    EXPECT_EQ(entry.begin % type_bytes(entry.type), 0) << entry.name;
}

TEST(SafetensorsTest, ReadsDataAtOddPlaces) {
  ScratchFolder folder;
  std::string data = "x";
  const double values[] = {1.5, -2.25};
  data.append(reinterpret_cast<const char*>(values), sizeof(values));
  for (const char* padding : {"", " ", "  ", "   "}) {
    const SafetensorsReader reader(folder.write(
        "odd", safetensors_bytes(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
                                 R"("d":{"dtype":"F64","shape":[2],"data_offsets":[1,17]}})" +
                                     std::string(padding),
                                 data)));
    const at::Tensor tensor = reader.tensor("d");
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.const_data_ptr()) % 8, 0u);
    EXPECT_EQ(tensor.sum().item<double>(), -0.75);
    EXPECT_EQ(reader.tensor("b").item<int>(), 'x');
  }
}

TEST(SafetensorsTest, TensorsOutliveTheReaderAndNeverChangeTheFile) {
  ScratchFolder folder;
  write_safetensors(folder / "t", {{"a", at::ones({4})}});
  const std::string before = test::read_file(folder / "t");
  at::Tensor tensor;
  {
    const SafetensorsReader reader(folder / "t");
    tensor = reader.tensor("a");
  }
  tensor.add_(1);
  EXPECT_EQ(tensor.sum().item<float>(), 8);
  EXPECT_EQ(test::read_file(folder / "t"), before);
}

TEST(SafetensorsTest, GoldenFilesAgreeWithEachOther) {
  const SafetensorsReader native(test::golden_llama() / "weights_native.safetensors");
  const SafetensorsReader hf(test::golden_llama() / "weights_hf.safetensors");
  ASSERT_EQ(native.tensors().size(), hf.tensors().size());
  EXPECT_EQ(native.metadata().at("format"), "pt");
  EXPECT_TRUE(same_bits(native.tensor("norm.weight"), hf.tensor("model.norm.weight")));
  EXPECT_TRUE(same_bits(native.tensor("layers.0.feed_forward.w2.weight"),
                        hf.tensor("model.layers.0.mlp.down_proj.weight")));
  EXPECT_TRUE(native.tensor("output.weight").isfinite().all().item<bool>());
}

TEST(SafetensorsTest, NamesTheNearestTensor) {
  ScratchFolder folder;
  write_safetensors(folder / "t", {{"norm.weight", at::ones({4})}});
  expect_error(ExitStatus::kData, {"'norm.wieght'", "did you mean 'norm.weight'"},
               [&] { SafetensorsReader(folder / "t").tensor("norm.wieght"); });
}

TEST(SafetensorsTest, RefusesBoolsThatAreNeitherTrueNorFalse) {
  ScratchFolder folder;
  const SafetensorsReader reader(folder.write(
      "t", safetensors_bytes(R"({"m":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]}})",
                             std::string("\0\1\2", 3))));
  expect_error(ExitStatus::kData, {"element 2", "'m'", "is 2"}, [&] { reader.tensor("m"); });
}

TEST(SafetensorsTest, RefusesWhatIsNoFile) {
  ScratchFolder folder;
  expect_error(ExitStatus::kData, {"none.safetensors", "does not exist"},
               [&] { SafetensorsReader(folder / "none.safetensors"); });
  expect_error(ExitStatus::kData, {"is a folder"}, [&] { SafetensorsReader(folder.path()); });
  expect_error(ExitStatus::kData, {"has 0 bytes"},
               [&] { SafetensorsReader(folder.write("empty", "")); });
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_error(ExitStatus::kData, {"is a pipe"}, [&] { SafetensorsReader(folder / "pipe"); });
}

size_t entries_in(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(SafetensorsTest, ReplacesAFileOnlyWhenTheNewOneIsComplete) {
  ScratchFolder folder;
  write_safetensors(folder / "t", {{"a", at::ones({4})}});
  // A limit on the size of files stands for a full disk.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 4096;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ExitStatus::kEnvironment, {"cannot be written", "t", "free space"}, [&] {
    write_safetensors(folder / "t", {{"a", at::ones({100000})}});
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);

  EXPECT_EQ(SafetensorsReader(folder / "t").tensor("a").numel(), 4) << "the old file is untouched";
  EXPECT_EQ(entries_in(folder.path()), 1u) << "no temporary file is left";
  write_safetensors(folder / "t", {{"a", at::ones({9})}});
  EXPECT_EQ(SafetensorsReader(folder / "t").tensor("a").numel(), 9);
  EXPECT_EQ(entries_in(folder.path()), 1u);
}

TEST(SafetensorsTest, SourcesAreAskedOneAfterTheOther) {
  ScratchFolder folder;
  std::vector<std::string> asked;
  const auto source = [&](const std::string& name, at::ScalarType type, int64_t size) {
    return TensorSource{name, type, {size}, [&asked, name, type, size] {
                          asked.push_back(name);
                          return at::ones({size}, type);
                        }};
  };
  const std::vector<TensorSource> sources = {source("b", at::kHalf, 3), source("z", at::kFloat, 2),
                                             source("a", at::kFloat, 5)};
  write_safetensors(folder / "t", sources, {});
  EXPECT_EQ(asked, (std::vector<std::string>{"a", "z", "b"})) << "in the order of the file";
  write_safetensors(folder / "u",
                    {{"a", at::ones({5})}, {"b", at::ones({3}, at::kHalf)}, {"z", at::ones({2})}});
  EXPECT_EQ(test::read_file(folder / "t"), test::read_file(folder / "u"));
  for (const auto& wrong : {TensorSource{"a", at::kFloat, {4}, [] { return at::ones({5}); }},
                            TensorSource{"a", at::kHalf, {5}, [] { return at::ones({5}); }}})
    expect_error(ExitStatus::kInternal, {"'a'", "announced"},
                 [&] { write_safetensors(folder / "v", std::vector<TensorSource>{wrong}, {}); });
  EXPECT_FALSE(std::filesystem::exists(folder / "v"));
}

TEST(SafetensorsTest, SaysWhenItCannotWrite) {
  ScratchFolder folder;
  const std::map<std::string, at::Tensor> tensors = {{"a", at::ones({4})}};
  expect_error(ExitStatus::kEnvironment, {"none/t", "No such file"},
               [&] { write_safetensors(folder / "none/t", tensors); });
  std::filesystem::create_directory(folder / "taken");
  expect_error(ExitStatus::kEnvironment, {"taken", "directory"},
               [&] { write_safetensors(folder / "taken", tensors); });
  EXPECT_EQ(entries_in(folder.path()), 1u) << "no temporary file is left";
}

}  // namespace
}  // namespace titan::checkpoint
