/// TensorBoard's event files: framing, tags, values, and what a resumed run does.
#include "observe/tensorboard_writer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "observe/event_file.h"
#include "observe/event_record.h"
#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::expect_error;
using test::read_events;
using test::ReadEvent;
using test::ScratchFolder;

std::vector<ReadEvent> events_of(const TensorBoardWriter& writer) {
  return read_events(test::read_file(writer.path()));
}

StepMetrics tb_step(int64_t number) {
  StepMetrics metrics;
  metrics.step = number;
  metrics.unix_time = 1700000000.25;
  metrics.loss = 8.25;
  metrics.grad_norm = 1.5;
  metrics.lr = 0.0005;
  metrics.tps = 3190;
  metrics.tflops = 0.5;
  metrics.step_seconds = 0.5;
  metrics.data_seconds = 0.125;
  metrics.n_tokens_seen = 4096;
  metrics.memory_peak_bytes = uint64_t{3} << 29;
  metrics.memory_total_bytes = uint64_t{6} << 30;
  return metrics;
}

TEST(EventRecordTest, TheFrameIsThatOfTfRecord) {
  // Made with TensorBoard's record writer.
  EXPECT_EQ(framed(""), std::string("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16));
  const std::string frame = framed("123456789");
  EXPECT_EQ(frame.substr(0, 12), std::string("\x09\0\0\0\0\0\0\0\x37\xf9\x71\x39", 12));
  EXPECT_EQ(frame.substr(12, 9), "123456789");
  // CRC-32C of "123456789" is e3069283: rotated right by 15 bits 2507c60d, plus a282ead8.
  EXPECT_EQ(frame.substr(21), "\xe5\xb0\x8a\xc7");
}

TEST(TensorBoardWriterTest, WritesATorchtitanTagForEachNumberAtOnce) {
  ScratchFolder folder;
  TensorBoardWriter writer(folder / "tb", 0);
  writer.write(tb_step(1));
  const std::vector<ReadEvent> events = events_of(writer);  // the writer is still open
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[1].session_status, 1);
  EXPECT_EQ(events[1].step, 1);
  EXPECT_EQ(events[2].step, 1);
  EXPECT_EQ(events[2].wall_time, 1700000000.25);
  EXPECT_EQ(events[2].scalars,
            (std::map<std::string, float>{{"loss_metrics/global_avg_loss", 8.25F},
                                          {"loss_metrics/global_max_loss", 8.25F},
                                          {"grad_norm", 1.5F},
                                          {"throughput(tps)", 3190},
                                          {"tflops", 0.5F},
                                          {"time_metrics/end_to_end(s)", 0.5F},
                                          {"time_metrics/data_loading(s)", 0.125F},
                                          {"time_metrics/data_loading(%)", 25},
                                          {"memory/max_reserved(GiB)", 1.5F},
                                          {"memory/max_reserved(%)", 25},
                                          {"n_tokens_seen", 4096},
                                          {"lr", 0.0005F}}));
}

TEST(TensorBoardWriterTest, WhatIsNotAlwaysThere) {
  ScratchFolder folder;
  TensorBoardWriter writer(folder / "tb", 0);
  StepMetrics metrics = tb_step(300);
  metrics.max_loss = 9;
  metrics.loss = NAN;
  metrics.mfu = 41.5;
  metrics.memory_active_bytes = uint64_t{1} << 30;
  metrics.num_alloc_retries = 2;
  metrics.num_ooms = 1;
  metrics.skipped_steps = 3;
  metrics.converter_metrics = {{"float8/layers.0.attention.wq.amax", 448}, {"odd\xff/x", INFINITY}};
  writer.write(metrics);
  ValidationMetrics validation;
  validation.step = 300;
  validation.loss = 5.5;
  validation.tps = 100;
  validation.memory_peak_bytes = uint64_t{1} << 30;
  writer.write(validation);
  const std::vector<ReadEvent> events = events_of(writer);
  ASSERT_EQ(events.size(), 4u);
  auto scalars = events[2].scalars;
  EXPECT_EQ(events[2].step, 300);
  EXPECT_TRUE(std::isnan(scalars["loss_metrics/global_avg_loss"]));
  EXPECT_EQ(scalars["loss_metrics/global_max_loss"], 9);
  EXPECT_EQ(scalars["mfu(%)"], 41.5F);
  EXPECT_EQ(scalars["memory/max_active(GiB)"], 1);
  EXPECT_EQ(scalars["memory/num_alloc_retries"], 2);
  EXPECT_EQ(scalars["memory/num_ooms"], 1);
  EXPECT_EQ(scalars["skipped_steps"], 3);
  EXPECT_EQ(scalars["float8/layers.0.attention.wq.amax"], 448);
  EXPECT_EQ(scalars["odd\xef\xbf\xbd/x"], INFINITY);
  EXPECT_EQ(events[3].scalars,
            (std::map<std::string, float>{{"validation_metrics/loss", 5.5F},
                                          {"validation_metrics/throughput(tps)", 100},
                                          {"validation_metrics/memory/max_reserved(GiB)", 1}}));
}

TEST(TensorBoardWriterTest, ASampleIsText) {
  ScratchFolder folder;
  TensorBoardWriter writer(folder / "tb", 0);
  writer.write(TextSample{7, 1.0, "first", "It is", " a truth\n*universally*"});
  const std::vector<ReadEvent> events = events_of(writer);
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].step, 7);
  EXPECT_EQ(events[2].texts.at("sample/first"),
            "prompt:\n\n    It is\n\ntext:\n\n     a truth\n    *universally*\n");
}

TEST(TensorBoardWriterTest, AResumedRunAddsAFileWhereTheRunWas) {
  ScratchFolder folder;
  std::vector<std::filesystem::path> files;
  for (const int64_t done : {0, 3, 5}) {
    TensorBoardWriter writer(folder / "tb", done);
    writer.write(tb_step(done + 1));
    EXPECT_EQ(events_of(writer)[1].step, done + 1);
    files.push_back(writer.path());
  }
  EXPECT_EQ(files[1].parent_path(), files[0].parent_path());
  EXPECT_LT(files[0].filename(), files[1].filename()) << "also within one second";
  EXPECT_LT(files[1].filename(), files[2].filename());
  // A run that begins anew has a folder of its own, and a resumed one goes on with the latest.
  TensorBoardWriter fresh(folder / "tb", 0);
  EXPECT_NE(fresh.path().parent_path(), files[0].parent_path());
  folder.write("tb/zz-notes/readme.txt", "no run");
  const std::string future = "events.out.tfevents.9000000000.host.1";
  std::filesystem::copy(files[0], fresh.path().parent_path() / future);
  const TensorBoardWriter resumed(folder / "tb", 5);
  EXPECT_EQ(resumed.path().parent_path(), fresh.path().parent_path());
  EXPECT_GT(resumed.path().filename(), future) << "the clock was set back";
}

TEST(TensorBoardWriterTest, SaysWhereItCannotWrite) {
  ScratchFolder folder;
  expect_error(ExitStatus::kEnvironment, {"file/tb", "job.dump_folder"},
               [&] { TensorBoardWriter writer(folder.write("file", "x") / "tb", 0); });
  TensorBoardWriter writer(folder / "tb", 0);
  std::filesystem::remove_all(folder / "tb");
  expect_error(ExitStatus::kEnvironment, {"was deleted", "events.out.tfevents"},
               [&] { writer.write(tb_step(1)); });
}

}  // namespace
}  // namespace titan::observe
