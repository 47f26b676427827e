/// metrics.jsonl: every line is JSON and holds what was reported, also when something goes wrong.
#include "observe/metrics_writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::expect_error;
using test::ScratchFolder;

std::vector<nlohmann::json> lines_of(const std::filesystem::path& file) {
  std::vector<nlohmann::json> lines;
  std::istringstream text(test::read_file(file));
  for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

StepMetrics step(int64_t number) {
  StepMetrics metrics;
  metrics.step = number;
  metrics.loss = 8.13756123456;
  metrics.grad_norm = 1.5;
  metrics.lr = 0.0008;
  metrics.tps = 3190;
  metrics.n_tokens_seen = int64_t{1} << 60;
  metrics.memory_peak_bytes = 12345;
  return metrics;
}

TEST(MetricsWriterTest, WritesEachStepAtOnceAndExactly) {
  ScratchFolder folder;
  MetricsWriter writer(folder / "deep/run");
  StepMetrics metrics = step(1);
  metrics.unix_time = 1700000000.125;
  metrics.step_seconds = 0.5;
  metrics.data_seconds = 0.25;
  metrics.converter_metrics = {{"float8/layers.0.attention.wq.amax", 448.0}, {"odd \"\\\n", 2}};
  writer.write(metrics);
  writer.write(step(2));
  const auto lines = lines_of(folder / "deep/run/metrics.jsonl");  // the writer is still open
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0]["step"], 1);
  EXPECT_EQ(lines[1]["step"], 2);
  EXPECT_EQ(lines[0]["loss"].get<double>(), 8.13756123) << "nine significant digits";
  EXPECT_EQ(lines[0]["grad_norm"].get<double>(), 1.5);
  EXPECT_EQ(lines[0]["lr"].get<double>(), 0.0008);
  EXPECT_EQ(lines[0]["tps"].get<double>(), 3190);
  EXPECT_EQ(lines[0]["n_tokens_seen"].get<int64_t>(), int64_t{1} << 60) << "no digit is lost";
  EXPECT_EQ(lines[0]["memory_peak_bytes"], 12345);
  EXPECT_EQ(lines[0]["time"], 1700000000.125);
  EXPECT_EQ(lines[0]["step_seconds"], 0.5);
  EXPECT_EQ(lines[0]["data_seconds"], 0.25);
  EXPECT_EQ(lines[0]["float8/layers.0.attention.wq.amax"].get<double>(), 448);
  EXPECT_EQ(lines[0]["odd \"\\\n"].get<double>(), 2);
}

TEST(MetricsWriterTest, UtilisationAndDeviceMemoryAreThereWhereTheyAreKnown) {
  const auto plain = nlohmann::json::parse(to_json_line(step(1)));
  for (const char* key : {"mfu", "memory_active_bytes", "num_alloc_retries", "num_ooms"})
    EXPECT_FALSE(plain.contains(key)) << key;
  StepMetrics metrics = step(1);
  metrics.mfu = 41.5;
  metrics.memory_active_bytes = 1000;
  metrics.num_alloc_retries = 2;
  const auto device = nlohmann::json::parse(to_json_line(metrics));
  EXPECT_EQ(device["mfu"], 41.5);
  EXPECT_EQ(device["memory_active_bytes"], 1000);
  EXPECT_EQ(device["num_alloc_retries"], 2);
  EXPECT_EQ(device["num_ooms"], 0);
}

TEST(MetricsWriterTest, ValidationIsALineOfItsOwn) {
  ScratchFolder folder;
  MetricsWriter writer(folder.path());
  writer.write(step(10));
  ValidationMetrics metrics;
  metrics.step = 10;
  metrics.loss = 5.25;
  metrics.tps = 100;
  metrics.n_tokens = 64;
  metrics.memory_peak_bytes = 7;
  metrics.unix_time = 1700000000.125;
  writer.write(metrics);
  const auto lines = lines_of(folder / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1], (nlohmann::json{{"step", 10},
                                      {"validation_metrics/loss", 5.25},
                                      {"validation_metrics/tps", 100},
                                      {"validation_metrics/n_tokens", 64},
                                      {"validation_metrics/memory_peak_bytes", 7},
                                      {"time", 1700000000.125}}));
  writer.keep_until(10);
  EXPECT_EQ(lines_of(folder / "metrics.jsonl").size(), 2u);
  writer.keep_until(9);
  EXPECT_EQ(lines_of(folder / "metrics.jsonl").size(), 0u);
}

TEST(MetricsWriterTest, ASampleIsALineAlsoWhereItIsNoUtf8) {
  ScratchFolder folder;
  MetricsWriter writer(folder.path());
  writer.write(TextSample{3, 1700000000.5, "first", "It is\t\"a", "\xff\n\xe2\x82\xac \xe2\x82"});
  const auto lines = lines_of(writer.path());
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["step"], 3);
  EXPECT_EQ(lines[0]["time"], 1700000000.5);
  EXPECT_EQ(lines[0]["sample"]["name"], "first");
  EXPECT_EQ(lines[0]["sample"]["prompt"], "It is\t\"a");
  EXPECT_EQ(lines[0]["sample"]["text"], "\xef\xbf\xbd\n\xe2\x82\xac \xef\xbf\xbd\xef\xbf\xbd");
  writer.keep_until(3);
  EXPECT_EQ(lines_of(writer.path()).size(), 1u);
}

TEST(MetricsWriterTest, EveryFloat32Survives) {
  ScratchFolder folder;
  MetricsWriter writer(folder.path());
  const std::vector<float> values = {0.1f,
                                     1e-38f,
                                     3.4028235e38f,
                                     16777217.0f,
                                     std::nextafter(1.0f, 2.0f),
                                     std::numeric_limits<float>::denorm_min()};
  for (const float value : values) {
    StepMetrics metrics = step(1);
    metrics.loss = value;
    writer.write(metrics);
  }
  const auto lines = lines_of(writer.path());
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(static_cast<float>(lines[i]["loss"].get<double>()), values[i]);
}

TEST(MetricsWriterTest, NumbersThatJsonLacksAreStrings) {
  ScratchFolder folder;
  MetricsWriter writer(folder.path());
  StepMetrics metrics = step(1);
  metrics.loss = NAN;
  metrics.grad_norm = INFINITY;
  metrics.lr = -INFINITY;
  metrics.converter_metrics["a/b.c"] = NAN;
  writer.write(metrics);
  const auto lines = lines_of(writer.path());
  EXPECT_EQ(lines[0]["loss"], "nan");
  EXPECT_EQ(lines[0]["grad_norm"], "inf");
  EXPECT_EQ(lines[0]["lr"], "-inf");
  EXPECT_EQ(lines[0]["a/b.c"], "nan");
}

TEST(MetricsWriterTest, ANewRunBeginsTheFileAnew) {
  ScratchFolder folder;
  MetricsWriter(folder.path()).write(step(7));
  MetricsWriter writer(folder.path());
  EXPECT_EQ(lines_of(writer.path()).size(), 1u) << "nothing is lost before the run begins";
  writer.keep_until(0);
  writer.write(step(1));
  const auto lines = lines_of(folder / "metrics.jsonl");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0]["step"], 1);
  const auto previous = lines_of(folder / "metrics.previous.jsonl");
  ASSERT_EQ(previous.size(), 1u);
  EXPECT_EQ(previous[0]["step"], 7);
}

TEST(MetricsWriterTest, ForeignLinesAreKeptAsideAndCostNoneOfOurs) {
  ScratchFolder folder;
  folder.write(
      "metrics.jsonl",
      "{\"step\": 1, \"a\": 1}\r\n\n{\"step\":2}\nnote to self\n{\"step\": 3}\n{\"step\": 4}\n");
  MetricsWriter writer(folder.path());
  writer.keep_until(3);
  std::vector<int64_t> steps;
  for (const auto& line : lines_of(writer.path())) steps.push_back(line["step"]);
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_TRUE(std::filesystem::exists(folder / "metrics.previous.jsonl"));
}

TEST(MetricsWriterTest, AResumedRunGoesOnAfterItsStep) {
  ScratchFolder folder;
  const auto steps_after = [&](const std::string& left, int64_t resumed) {
    folder.write("metrics.jsonl", left);
    MetricsWriter writer(folder.path());
    writer.keep_until(resumed);
    writer.write(step(resumed + 1));
    std::vector<int64_t> steps;
    for (const auto& line : lines_of(writer.path())) steps.push_back(line["step"]);
    return steps;
  };
  std::string four;
  for (const int64_t number : {1, 2, 10, 20}) four += to_json_line(step(number));
  EXPECT_EQ(steps_after(four, 10), (std::vector<int64_t>{1, 2, 10, 11}));
  EXPECT_EQ(steps_after(four, 15), (std::vector<int64_t>{1, 2, 10, 16}));
  EXPECT_EQ(steps_after(four, 30), (std::vector<int64_t>{1, 2, 10, 20, 31}));
  // Cut in the middle of a line, of a number, or before the newline.
  const std::string two = to_json_line(step(1)) + to_json_line(step(2));
  for (const size_t cut : {size_t{1}, size_t{2}, size_t{40}, two.size() / 2 - 12})
    EXPECT_EQ(steps_after(two.substr(0, two.size() - cut), 2), (std::vector<int64_t>{1, 3})) << cut;
  EXPECT_EQ(steps_after("", 5), (std::vector<int64_t>{6}));
  EXPECT_EQ(steps_after("{\"step\": x}\n", 5), (std::vector<int64_t>{6}));
}

TEST(MetricsWriterTest, SaysWhereItCannotWrite) {
  ScratchFolder folder;
  expect_error(ExitStatus::kEnvironment, {"file/run", "job.dump_folder"},
               [&] { MetricsWriter writer(folder.write("file", "x") / "run"); });
  expect_error(ExitStatus::kEnvironment, {"/proc/metrics.jsonl"},
               [&] { MetricsWriter writer("/proc"); });
  std::filesystem::create_directories(folder / "folder/metrics.jsonl");
  expect_error(ExitStatus::kEnvironment, {"folder/metrics.jsonl"},
               [&] { MetricsWriter writer(folder / "folder"); });
  std::filesystem::create_directory(folder / "pipe");
  ASSERT_EQ(mkfifo((folder / "pipe/metrics.jsonl").c_str(), 0600), 0);
  expect_error(ExitStatus::kEnvironment, {"pipe/metrics.jsonl"},
               [&] { MetricsWriter writer(folder / "pipe"); });
}

TEST(MetricsWriterTest, SaysWhenTheDiskIsFull) {
  ScratchFolder folder;
  MetricsWriter writer(folder.path());
  // A limit on the size of files stands for a full disk.
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  rlimit small = before;
  small.rlim_cur = 1000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ExitStatus::kEnvironment, {"cannot write", "metrics.jsonl", "free space"}, [&] {
    for (int64_t i = 1; i < 100; ++i) writer.write(step(i));
  });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace titan::observe
