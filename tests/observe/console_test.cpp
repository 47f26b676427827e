/// The console line of a step: columns in torchtitan's order and width.
#include "observe/console.h"

#include <gtest/gtest.h>

#include <cmath>

namespace titan::observe {
namespace {

StepMetrics example() {
  StepMetrics metrics;
  metrics.step = 1;
  metrics.loss = 8.137561;
  metrics.grad_norm = 1.23449;
  metrics.tps = 3190.4;
  metrics.tflops = 0.234;
  metrics.memory_peak_bytes = 429496730;
  metrics.memory_total_bytes = uint64_t{20} << 30;
  return metrics;
}

TEST(ConsoleTest, ColumnsKeepTheirWidth) {
  EXPECT_EQ(console_line(example(), false),
            "step:  1  loss:  8.13756  grad_norm:  1.2345  memory:  0.40GiB(2%)  tps: 3,190  "
            "tflops: 0.23  mfu: N/A");
  StepMetrics metrics = example();
  metrics.step = 12345;
  metrics.loss = 12.5;
  metrics.memory_total_bytes = 0;
  metrics.mfu = 12.345678;
  EXPECT_EQ(console_line(metrics, false),
            "step: 12345  loss: 12.50000  grad_norm:  1.2345  memory:  0.40GiB  tps: 3,190  "
            "tflops: 0.23  mfu: 12.35%");
}

TEST(ConsoleTest, ValidationHasALineOfItsOwn) {
  ValidationMetrics metrics;
  metrics.step = 10;
  metrics.loss = 5.5;
  metrics.tps = 12345.6;
  metrics.memory_peak_bytes = 429496730;
  metrics.memory_total_bytes = uint64_t{20} << 30;
  EXPECT_EQ(console_line(metrics, false),
            "validate step: 10  loss:  5.50000  memory:  0.40GiB(2%)  tps: 12,346");
}

TEST(ConsoleTest, ColoursAddNothingElse) {
  const std::string colored = console_line(example(), true);
  std::string plain;
  for (size_t i = 0; i < colored.size(); ++i) {
    if (colored[i] == '\033')
      i = colored.find('m', i);
    else
      plain += colored[i];
  }
  EXPECT_EQ(plain, console_line(example(), false));
  EXPECT_NE(colored, plain);
  EXPECT_EQ(console_line(example(), false).find('\033'), std::string::npos);
}

TEST(ConsoleTest, ShowsNumbersThatAreNotFinite) {
  StepMetrics metrics = example();
  metrics.loss = NAN;
  metrics.grad_norm = INFINITY;
  const std::string line = console_line(metrics, false);
  EXPECT_NE(line.find("loss:      nan"), std::string::npos) << line;
  EXPECT_NE(line.find("grad_norm:     inf"), std::string::npos) << line;
}

}  // namespace
}  // namespace titan::observe
