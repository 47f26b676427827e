/// state.json: everything comes back, every mistake is named, damaged files are found.
#include "checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "base/crc32c.h"
#include "checkpoint/saved_steps.h"
#include "support/scratch_folder.h"

namespace titan::checkpoint {
namespace {

using test::example_manifest;
using test::expect_error;
using test::ScratchFolder;

Manifest with_files(int64_t step) {
  Manifest manifest = example_manifest(step);
  manifest.files = {{kModelFile, {10, 0x1234abcd}}, {kOptimizerFile, {20, 0}}};
  return manifest;
}

TEST(ManifestTest, EverythingComesBack) {
  Manifest manifest = with_files(int64_t{1} << 40);
  EXPECT_EQ(parse_manifest(format_manifest(manifest), "x"), manifest);
  manifest.model_only = true;
  manifest.files.erase(kOptimizerFile);
  manifest.converters.clear();
  EXPECT_EQ(parse_manifest(format_manifest(manifest), "x"), manifest);
}

TEST(ManifestTest, NumbersThatOlderTitansDidNotSaveAreZero) {
  Manifest manifest = with_files(5);
  auto json = nlohmann::json::parse(format_manifest(manifest));
  for (const char* key : {"file", "offset", "ordinal", "parts"}) json["loader"].erase(key);
  manifest.loader.position = {1, 2, 3, 4, 0, 0, 0};
  manifest.loader.parts.clear();
  EXPECT_EQ(parse_manifest(json.dump(), "x").loader, manifest.loader);
}

TEST(ManifestTest, AFileNameThatIsNoUtf8StillMakesAManifest) {
  Manifest manifest = with_files(1);
  manifest.converters[0].file = "/opt/\xff.so";
  EXPECT_EQ(parse_manifest(format_manifest(manifest), "x").converters.size(), 2u);
}

TEST(ManifestTest, EveryMistakeIsNamed) {
  const auto refuse = [](const std::function<void(nlohmann::json&)>& change,
                         std::initializer_list<std::string_view> parts) {
    auto json = nlohmann::json::parse(format_manifest(with_files(5)));
    change(json);
    expect_error(ExitStatus::kData, parts,
                 [&] { parse_manifest(json.dump(), "step-5/state.json"); });
  };
  refuse([](auto& json) { json["kind"] = "recipe"; },
         {"step-5/state.json", "not the state of a titan checkpoint"});
  refuse([](auto& json) { json["format"] = 2; },
         {"format 2", "reads format 1", "titan 0, LibTorch 2"});
  refuse([](auto& json) { json["step"] = -1; }, {"'step'", "whole number"});
  refuse([](auto& json) { json["step"] = 1.5; }, {"'step'"});
  refuse([](auto& json) { json["step"] = UINT64_MAX; }, {"'step'"});
  refuse([](auto& json) { json["loader"]["byte"] = "x"; }, {"'loader.byte'"});
  refuse([](auto& json) { json["loader"] = 3; }, {"'loader' is no object"});
  refuse([](auto& json) { json["loader"]["parts"] = 3; }, {"'loader.parts' is no list"});
  refuse([](auto& json) { json["loader"]["parts"][1]["offset"] = -1; },
         {"'loader.parts[].offset'"});
  refuse([](auto& json) { json["model_only"] = 0; }, {"'model_only'"});
  refuse([](auto& json) { json["generators"]["cpu"] = 1; }, {"'generators.cpu'"});
  refuse([](auto& json) { json["converters"] = nullptr; }, {"'converters'"});
  refuse([](auto& json) { json["converters"][0] = 1; }, {"'converters[].instance'"});
  refuse([](auto& json) { json["files"][kModelFile]["crc32c"] = "123"; }, {"8 hexadecimal digits"});
  refuse([](auto& json) { json["files"][kModelFile]["crc32c"] = "1234567G"; },
         {"8 hexadecimal digits"});
  refuse([](auto& json) { json["files"][kModelFile] = 1; }, {"files.model.safetensors"});
  refuse([](auto& json) { json["files"].erase(kModelFile); }, {"does not list the model"});
  refuse([](auto& json) { json["files"].erase(kOptimizerFile); }, {"does not list the optimizer"});
  for (const char* key :
       {"made_by", "model_only", "step", "tokens_seen", "schedule_step", "skipped_steps",
        "skipped_in_a_row", "loader", "seed", "generators", "settings", "converters", "files"})
    refuse([&](auto& json) { json.erase(key); }, {std::string("there is no '") + key + "'"});
}

TEST(ManifestTest, AnyCutOfTheTextIsRefused) {
  const std::string text = format_manifest(with_files(5));
  for (size_t size = 0; size + 2 < text.size(); size += 7)
    expect_error(ExitStatus::kData, {"where", "not the state"},
                 [&] { parse_manifest(text.substr(0, size), "where"); });
}

TEST(ManifestTest, DamagedFilesAreFound) {
  ScratchFolder folder;
  const std::string bytes(3 << 20, 'b');  // more than one chunk
  const auto file = folder.write("f", bytes);
  const FileSum saved{static_cast<int64_t>(bytes.size()), crc32c(0, bytes)};
  verify_file(file, saved);
  std::string changed = bytes;
  changed[(2 << 20) + 5] ^= 1;
  folder.write("f", changed);
  expect_error(ExitStatus::kData, {file.native(), "damaged", "checksum"},
               [&] { verify_file(file, saved); });
  folder.write("f", bytes.substr(1));
  expect_error(ExitStatus::kData, {"damaged", "3145727 bytes"}, [&] { verify_file(file, saved); });
  folder.write("f", "");
  expect_error(ExitStatus::kData, {"damaged", "0 bytes"}, [&] { verify_file(file, saved); });
  std::filesystem::remove(file);
  expect_error(ExitStatus::kData, {file.native()}, [&] { verify_file(file, saved); });
}

TEST(ManifestTest, StateBelongsToTheConverterThatIsRecorded) {
  const Manifest manifest = example_manifest(1);
  EXPECT_EQ(manifest.owner_of("a/norm.hooks"),
            "'a' (plugin stats 1.2.3, /opt/stats.so, sha256 eeeeeeeeeeee)");
  EXPECT_EQ(manifest.owner_of("b/norm.hooks"), "'b' (built in)");
  EXPECT_EQ(manifest.owner_of("c/norm.hooks"), "'c'");
}

TEST(ManifestTest, WeightsOfACheckpointAreVerifiedAndOthersAreNot) {
  ScratchFolder folder;
  save_checkpoint(folder.path(), test::example_snapshot(3));
  const auto step = folder / "step-3";
  EXPECT_EQ(verify_weights(step)->position.step, 3);
  EXPECT_EQ(verify_weights(step / kModelFile)->position.step, 3);
  EXPECT_FALSE(verify_weights(step / kOptimizerFile));
  EXPECT_FALSE(verify_weights(folder.path()));
  EXPECT_FALSE(verify_weights(folder / "nowhere"));
  folder.write("step-3/model.safetensors", "short");
  expect_error(ExitStatus::kData, {"damaged"}, [&] { verify_weights(step); });
}

}  // namespace
}  // namespace titan::checkpoint
