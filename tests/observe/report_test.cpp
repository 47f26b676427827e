/// The page of `titan report`: complete, small, safe, and what it makes of odd files.
#include <gtest/gtest.h>

#include <cmath>

#include "observe/chart.h"
#include "observe/markup.h"
#include "observe/report_page.h"
#include "observe/report_sections.h"
#include "support/scratch_folder.h"

namespace titan::observe {
namespace {

using test::expect_error;
using test::ScratchFolder;

Series ramp(int64_t steps) {
  Series series;
  for (int64_t step = 1; step <= steps; ++step)
    series.push_back({step, static_cast<double>(step % 97)});
  return series;
}

TEST(SeriesTest, FewPointsStayAndManyBecomeStretches) {
  EXPECT_EQ(buckets_of(ramp(50), 50).size(), 50u);
  Series spiked = ramp(10000);
  spiked[4321].value = 1000;
  spiked[77].value = -5;
  spiked[78].value = NAN;
  const std::vector<Bucket> buckets = buckets_of(spiked, 100);
  ASSERT_EQ(buckets.size(), 100u);
  double low = 0, high = 0, before = -1;
  for (const Bucket& bucket : buckets) {
    EXPECT_LE(bucket.low, bucket.mean);
    EXPECT_LE(bucket.mean, bucket.high);
    EXPECT_GT(bucket.step, before);
    before = bucket.step;
    low = std::min(low, bucket.low);
    high = std::max(high, bucket.high);
  }
  EXPECT_EQ(low, -5) << "no extreme is lost";
  EXPECT_EQ(high, 1000);
  EXPECT_NEAR(buckets[50].mean, 48, 3);
  EXPECT_TRUE(buckets_of({{1, NAN}}, 10).empty());
}

TEST(SeriesTest, Facts) {
  const SeriesFacts facts = facts_of({{1, 5}, {2, NAN}, {3, -INFINITY}, {4, 2}, {5, 9}});
  EXPECT_EQ(facts.finite, 3);
  EXPECT_EQ(facts.first.value, 5);
  EXPECT_EQ(facts.last.step, 5);
  EXPECT_EQ(facts.least.step, 4);
  EXPECT_EQ(facts.largest.value, 9);
  EXPECT_EQ(facts.median, 5);
  EXPECT_EQ(facts.nonfinite_steps, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(facts_of({}).finite, 0);
}

TEST(MarkupTest, NumbersAndTimes) {
  for (const auto& [value, text] :
       std::initializer_list<std::pair<double, const char*>>{{0, "0"},
                                                             {8.0437, "8.044"},
                                                             {100, "100"},
                                                             {1234, "1234"},
                                                             {12345, "12.35k"},
                                                             {123456, "123.5k"},
                                                             {2.5e6, "2.5M"},
                                                             {0.0008, "0.0008"},
                                                             {3e-7, "3e-07"},
                                                             {-1.5, "-1.5"},
                                                             {0.1 + 0.2, "0.3"},
                                                             {1e20, "1e+20"},
                                                             {NAN, "nan"},
                                                             {-INFINITY, "-inf"}})
    EXPECT_EQ(short_number(value), text);
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(245), "4 min 05 s");
  EXPECT_EQ(duration_text(7384), "2 h 03 min");
  EXPECT_EQ(escaped("<a href=\"x\">&'\x01\xff\xef\xbf\xbf"),
            "&lt;a href=&quot;x&quot;&gt;&amp;&#39;\\x01\\xff?");
}

TEST(ChartTest, TicksAreRoundAndInside) {
  EXPECT_EQ(ticks_between(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  const std::vector<double> tenths = ticks_between(7.9, 8.3, 4);
  ASSERT_EQ(tenths.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(tenths[i], 7.9 + 0.1 * static_cast<double>(i), 1e-9);
  EXPECT_EQ(ticks_between(-3, 3, 3), (std::vector<double>{-2, 0, 2}));
  EXPECT_EQ(ticks_between(0, 9, 4), (std::vector<double>{0, 2.5, 5, 7.5}));
  EXPECT_EQ(ticks_between(5, 5, 4), (std::vector<double>{5}));
  for (double low = -3; low < 3; low += 0.37)
    for (double size = 0.001; size < 5000; size *= 1.3) {
      const std::vector<double> ticks = ticks_between(low, low + size, 4);
      EXPECT_GE(ticks.size(), 2u) << low << " " << size;
      EXPECT_LE(ticks.size(), 5u) << low << " " << size;
    }
}

TEST(ChartTest, OneValueEqualValuesAndNone) {
  Chart chart;
  chart.title = "T";
  EXPECT_EQ(chart_html(chart), "");
  chart.lines.push_back({"a", {{1, 3.0}}, 1, 0});
  EXPECT_EQ(chart_html(chart).find("nan"), std::string::npos);
  chart.lines[0].series = {{1, 0}, {2, 0}};
  EXPECT_EQ(chart_html(chart).find("nan"), std::string::npos);
  chart.lines[0].series = {{1, NAN}, {2, NAN}, {3, NAN}};
  const std::string bad = chart_html(chart);
  EXPECT_NE(bad.find("not finite in 3 steps"), std::string::npos) << bad;
  EXPECT_NE(bad.find("class=\"bad\""), std::string::npos);
}

TEST(ChartTest, WideValuesAreDrawnOnALogarithmicAxis) {
  Chart chart;
  chart.title = "T";
  chart.log_if_wide = true;
  chart.lines.push_back({"a", {{1, 0.01}, {2, 1}, {3, 10000}}, 1, 0});
  const std::string html = chart_html(chart);
  for (const char* label : {">0.01<", ">1<", ">100<", ">10k<"})
    EXPECT_NE(html.find(label), std::string::npos) << html;
  // The middle value lies at a third of the height: between 0.01 and 10000 there are six decades.
  EXPECT_NE(html.find("L302.0 143.3"), std::string::npos) << html;
}

TEST(RunLogTest, ReadsBackAndLeavesOutWhatIsBroken) {
  ScratchFolder folder;
  const auto file =
      folder.write("metrics.jsonl",
                   "{\"step\": 2, \"loss\": \"nan\", \"time\": 5}\n\n{\"step\": 1, \"loss\": 8.5, "
                   "\"f/l.0.amax\": 2}\nnonsense\n"
                   "[1, 2]\n{\"loss\": 3}\n{\"step\": \"x\", \"loss\": 3}\n{\"step\": 2, \"loss\": "
                   "4, \"text\": \"t\", \"flag\": true}\r\n"
                   "{\"step\": 3, \"sample\": {\"name\": \"n\", \"prompt\": \"p\", \"text\": "
                   "\"t\"}}\n{\"step\": 3, \"lo");
  const RunLog log = read_run_log(file);
  EXPECT_EQ(log.lines, 9);
  EXPECT_EQ(log.bad_lines, 5);
  ASSERT_EQ(log.series.at("loss").size(), 2u);
  EXPECT_EQ(log.series.at("loss")[0].step, 1);
  EXPECT_EQ(log.series.at("loss")[1].value, 4) << "the last of a step counts";
  EXPECT_EQ(log.series.count("step") + log.series.count("text") + log.series.count("flag"), 0u);
  EXPECT_EQ(log.series.at("f/l.0.amax")[0].value, 2);
  ASSERT_EQ(log.samples.size(), 1u);
  EXPECT_EQ(log.samples[0].text, "t");
  expect_error(ExitStatus::kData, {"metrics.jsonl", "dump folder"},
               [&] { read_run_log(folder / "none/metrics.jsonl"); });
  expect_error(ExitStatus::kData, {"no metrics file"}, [&] { read_run_log(folder.path()); });
}

/// A run with everything that a page can show.
ReportRun full_run(const std::string& name, int64_t steps, int64_t layers) {
  ReportRun run;
  run.name = name;
  for (const char* key :
       {"loss", "grad_norm", "lr", "tps", "mfu", "memory_peak_bytes", "step_seconds",
        "data_seconds", "validation_metrics/loss", "n_tokens_seen", "time"})
    run.log.series[key] = ramp(steps);
  for (int64_t layer = 0; layer < layers; ++layer)
    for (const char* metric : {"input_amax", "weight_amax", "grad_amax", "underflow"})
      run.log.series["float8/layers." + std::to_string(layer) + ".wq." + metric] = ramp(steps);
  run.log.samples.push_back({steps, 0, "first", "It <is>", " & was"});
  RunFile file;
  file.made_by = "titan 0.1.0, LibTorch 2.11.0";
  file.config = {{"training.steps", std::to_string(steps)},
                 {"optimizer.lr", "0.0008"},
                 {"float8.recipe", "rowwise"}};
  file.converters = {
      {"float8", "float8", "float8", "0.1.0", "/opt/float8.so", std::string(64, 'a')}};
  file.device = "Some CPU";
  file.sessions = {{1000, 1060.5, 1, steps, "completed"}};
  file.warnings = {"careful <now>"};
  run.file = file;
  return run;
}

TEST(ReportPageTest, IsCompleteAndNeedsNothingElse) {
  const std::string page = report_page({full_run("outputs/a", 10, 3)},
                                       {{"optimizer.lr", "0.001"}, {"training.steps", "10"}});
  for (const char* part :
       {"Loss", "Validation loss", "Gradient norm", "Learning rate", "Throughput",
        "Model FLOPs utilisation", "Peak memory", "float8: input_amax", "layers.2.wq",
        "optimizer.lr", "float8.recipe", "rowwise", "careful &lt;now&gt;", "Some CPU", "completed",
        "1 min 01 s", "It &lt;is&gt;", " &amp; was", "prefers-color-scheme:dark"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  EXPECT_NE(page.find(std::string(64, 'a')), std::string::npos);
  for (const char* outside : {"<script", "<link", "<img", "@import", "url(", "href="})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  // Names of XML languages are no addresses that anybody asks.
  std::string rest = page;
  for (const std::string name : {"http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg"})
    for (size_t at; (at = rest.find(name)) != std::string::npos;) rest.erase(at, name.size());
  EXPECT_EQ(rest.find("http"), std::string::npos);
  EXPECT_NE(page.find(kReportMark), std::string::npos);
  EXPECT_LT(page.find(kReportMark), 400u);
}

TEST(ReportPageTest, ALongRunOfALargeModelIsSmall) {
  const std::string page = report_page({full_run("a", 100000, 225)}, {});
  EXPECT_LT(page.size(), 200000u);
  EXPECT_NE(page.find("class=\"spread"), std::string::npos);
  EXPECT_NE(page.find("and 213 layers with smaller values"), std::string::npos);
}

TEST(ReportPageTest, SeveralRunsAreOverlaidAndCompared) {
  ReportRun b = full_run("b & c", 20, 2);
  b.file->config["optimizer.lr"] = "0.1";
  b.file->sessions.push_back({2000, std::nullopt, 21, 20, ""});
  ReportRun c = full_run("d", 20, 0);
  c.file.reset();
  c.log.bad_lines = 3;
  c.log.lines = 40;
  c.log.series["loss"][4].value = NAN;
  c.log.series["skipped_steps"] = {{20, 2}};
  const std::string page = report_page({full_run("a", 20, 2), b, c}, {});
  EXPECT_LT(page.size(), 200000u);
  for (const char* part :
       {"3 runs", "What differs", "b &amp; c", "line s2", "mean over layers", "3 of 40 lines",
        "not finite in the reported steps 5", "no run.json", "did not end", "not recorded"})
    EXPECT_NE(page.find(part), std::string::npos) << part;
  const size_t differs = page.find("What differs"), set = page.find("What is set");
  EXPECT_NE(page.substr(differs, set - differs).find("optimizer.lr"), std::string::npos);
  EXPECT_EQ(page.substr(differs, set - differs).find("float8.recipe"), std::string::npos);
}

TEST(ReportPageTest, WhatIsSetIsWhatIsNotTheDefault) {
  ReportRun run = full_run("a", 5, 0);
  const std::string page =
      report_page({run}, {{"optimizer.lr", "0.0008"}, {"training.steps", "10000"}});
  const size_t set = page.find("What is set"), every = page.find("every key");
  EXPECT_EQ(page.substr(set, every - set).find("optimizer.lr"), std::string::npos);
  EXPECT_NE(page.substr(set, every - set).find("training.steps"), std::string::npos);
  EXPECT_NE(page.substr(every).find("optimizer.lr"), std::string::npos);
}

TEST(ReportPageTest, AnEmptyRun) {
  ReportRun run;
  run.name = "empty";
  const std::string page = report_page({run}, {});
  EXPECT_NE(page.find("the metrics hold no training step"), std::string::npos);
}

TEST(ReportPageTest, NamesFromFilesCannotBecomeMarkup) {
  ReportRun run = full_run("<b>\"'&", 5, 0);
  run.log.series["<i>/<u>.\x01]]>"] = ramp(5);
  run.file->warnings = {"</ul><script>alert(1)</script>"};
  run.file->config["<k>"] = "<v>";
  run.file->sessions[0].outcome = "<o>";
  const std::string page = report_page({run}, {});
  EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(ReportSectionsTest, WallTimeIsThatOfTheSessions) {
  ReportRun run = full_run("a", 5, 0);
  EXPECT_EQ(wall_seconds(run), 60.5);
  run.file->sessions.push_back({2000, std::nullopt, 6, 5, ""});
  EXPECT_EQ(wall_seconds(run), 60.5) << "no line after it began";
  run.log.series["time"] = {{1, 1010}, {7, 2040}};
  EXPECT_EQ(wall_seconds(run), 100.5) << "killed: until its last line";
  run.file.reset();
  EXPECT_EQ(wall_seconds(run), 1030);
}

}  // namespace
}  // namespace titan::observe
