/// Folders of weights: shards with and without an index, and indexes that lie.
#include "checkpoint/weight_files.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using test::expect_error;
using test::ScratchFolder;

constexpr const char* kIndex = "model.safetensors.index.json";

/// Two shards: "a" in the first, "b" and "c" in the second.
void write_shards(const ScratchFolder& folder) {
  write_safetensors(folder / "model-1.safetensors", {{"a", at::full({1}, 1.0)}});
  write_safetensors(folder / "model-2.safetensors",
                    {{"b", at::full({1}, 2.0)}, {"c", at::full({1}, 3.0)}});
}

TEST(WeightFilesTest, ReadsAFileOrEveryFileOfAFolder) {
  ScratchFolder folder;
  write_shards(folder);
  folder.write("notes.txt", "not a tensor");
  const WeightFiles all(folder.path());
  EXPECT_EQ(all.names(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(all.tensor("c").item<float>(), 3);
  EXPECT_EQ(all.entry("b").shape, (std::vector<int64_t>{1}));
  EXPECT_EQ(WeightFiles(folder / "model-2.safetensors").names(),
            (std::vector<std::string>{"b", "c"}));
}

TEST(WeightFilesTest, AnIndexChoosesTheTensors) {
  ScratchFolder folder;
  write_shards(folder);
  write_safetensors(folder / "consolidated.safetensors", {{"a", at::full({1}, 9.0)}});
  expect_error(ExitStatus::kData, {"'a' is in two files", "consolidated", "model-1"},
               [&] { WeightFiles files(folder.path()); });
  folder.write(kIndex, R"({"metadata":{"total_size":8},
      "weight_map":{"a":"model-1.safetensors","c":"model-2.safetensors"}})");
  const WeightFiles files(folder.path());
  EXPECT_EQ(files.names(), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(files.tensor("a").item<float>(), 1);
}

TEST(WeightFilesTest, RefusesAnIndexThatDoesNotFit) {
  ScratchFolder folder;
  write_shards(folder);
  const auto refuse = [&](std::initializer_list<std::string_view> parts, std::string_view index) {
    SCOPED_TRACE(index.substr(0, 200));
    folder.write(kIndex, index);
    expect_error(ExitStatus::kData, parts, [&] { WeightFiles files(folder.path()); });
  };
  refuse({kIndex, "weight_map"}, "");
  refuse({kIndex, "weight_map"}, "{\"weight_map\":3}");
  refuse({kIndex, "nested"}, std::string(100000, '['));
  refuse({kIndex, "names no tensors"}, R"({"weight_map":{}})");
  refuse({kIndex, "'a'"}, R"({"weight_map":{"a":1}})");
  refuse({kIndex, "'a' in '../x.safetensors'"}, R"({"weight_map":{"a":"../x.safetensors"}})");
  refuse({kIndex, "no file name"}, R"({"weight_map":{"a":""}})");
  refuse({"gone.safetensors", "does not exist"}, R"({"weight_map":{"a":"gone.safetensors"}})");
  refuse({kIndex, "'b' in 'model-1.safetensors'", "does not hold it"},
         R"({"weight_map":{"b":"model-1.safetensors"}})");
  std::filesystem::remove(folder / kIndex);
  ASSERT_EQ(mkfifo((folder / kIndex).c_str(), 0600), 0);
  expect_error(ExitStatus::kData, {"is a pipe"}, [&] { WeightFiles files(folder.path()); });
}

TEST(WeightFilesTest, RefusesPlacesWithoutWeights) {
  ScratchFolder folder;
  expect_error(ExitStatus::kData, {"holds no *.safetensors file"},
               [&] { WeightFiles files(folder.path()); });
  expect_error(ExitStatus::kData, {"none", "does not exist"},
               [&] { WeightFiles files(folder / "none"); });
  write_safetensors(folder / "empty.safetensors", {});
  expect_error(ExitStatus::kData, {"holds no tensors"}, [&] { WeightFiles files(folder.path()); });
  folder.write("damaged.safetensors", "short");
  expect_error(ExitStatus::kData, {"damaged.safetensors"},
               [&] { WeightFiles files(folder.path()); });
}

}  // namespace
}  // namespace titan::checkpoint
