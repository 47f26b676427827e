/// Types, ranges and enums of single values, from files and from the command line.
#include "config_files.h"

namespace titan::config {
namespace {

std::string training(const std::string& key_and_value) {
  return "training:\n  " + key_and_value + "\n";
}

TEST(Value, IntegersAreExactlyIntegers) {
  const struct {
    const char* text;
    const char* hint;
  } cases[] = {
      {"\"3\"", "remove the quotes"},
      {"'3'", "remove the quotes"},
      {"3.5", "integer"},
      {"1_000", "write 1000"},
      {"1e3", "write 1000"},
      {"3.0", "write 3"},
      {"0x10", "integer"},
      {"010", "leading zeros"},
      {"many", "integer"},
      {"true", "integer"},
      {"3 4", "integer"},
      {"1,000", "integer"},
  };
  for (const auto& c : cases)
    expect_load_error(training("steps: " + std::string(c.text)),
                      "training.steps must be an integer", "/debug.yaml:2:10", c.hint);
  expect_load_error(training("steps: 99999999999999999999"), "does not fit into 64 bits",
                    "/debug.yaml:2:10", "");
  EXPECT_EQ(load_text(training("steps: +5")).values.training.steps, 5);
  EXPECT_EQ(load_text(training("steps: 9223372036854775807")).values.training.steps, INT64_MAX);
}

TEST(Value, NumbersAreFinite) {
  for (const char* text : {"fast", "\"0.1\"", "1.0.0", "0x1p3", "1e", "1_0.5", "true", "3e-4x"})
    expect_load_error("optimizer:\n  lr: " + std::string(text) + "\n",
                      "optimizer.lr must be a number", "/debug.yaml:2:7",
                      "lr: number, from 0.0 to 1e+30; default 0.0008; peak learning rate");
  for (const char* text : {"nan", "inf", "-inf", "1e999"})
    expect_load_error("optimizer:\n  lr: " + std::string(text) + "\n",
                      "optimizer.lr must be a finite", "/debug.yaml:2:7", "");
  expect_load_error("optimizer: {lr: .inf}\n", "must be a number", "", "");
  EXPECT_EQ(load_text("optimizer: {lr: 3e-4}\n").values.optimizer.lr, 3e-4);
  EXPECT_EQ(load_text("optimizer: {lr: 1}\n").values.optimizer.lr, 1.0);
  EXPECT_EQ(load_text("optimizer: {lr: .5}\n").values.optimizer.lr, 0.5);
}

TEST(Value, RangesNameTheAllowedOnes) {
  expect_load_error(training("steps: -1"), "training.steps must be at least 1, found -1",
                    "/debug.yaml:2:10", "optimizer steps to train");
  expect_load_error(training("steps: 0"), "must be at least 1, found 0", "", "");
  expect_load_error("optimizer: {beta1: 1}\n", "optimizer.beta1 must be at least 0.0 and below 1.0",
                    "debug.yaml:1:20", "");
  expect_load_error(training("max_norm: 0"), "training.max_norm must be above 0.0, found 0.0", "",
                    "");
  // Below what float32 can hold a number would silently become 0.
  expect_load_error("optimizer: {eps: 1e-60}\n", "optimizer.eps must be from 1e-37", "", "");
  expect_load_error("lr_scheduler: {decay_ratio: 1.5}\n", "must be from 0.0 to 1.0, found 1.5", "",
                    "share of the steps");
  expect_load_error(training("seq_len: 9999999999"), "must be from 1 to 2147483647", "", "");
  EXPECT_EQ(load_text("lr_scheduler: {decay_ratio: 1}\n").values.lr_scheduler.decay_ratio, 1.0);
}

TEST(Value, EnumsListWhatIsAllowed) {
  expect_load_error("lr_scheduler:\n  decay_type: cosinus\n",
                    "lr_scheduler.decay_type must be one of linear, sqrt, cosine; found 'cosinus'",
                    "/debug.yaml:2:15", "did you mean 'cosine'?");
  expect_load_error("model: {flavor: 8b}\n",
                    "one of debugmodel, 0.6B, 1.7B, 4B, 8B, 14B, 32B, 70B, 405B, from_hf", "",
                    "did you mean '8B'?");
  expect_option_error({"--training.device=tpu"}, "one of auto, cpu, cuda; found 'tpu'",
                      "--training.device=tpu", "");
}

TEST(Value, BooleansInFilesAreTrueOrFalse) {
  const auto read = [](const std::string& text) {
    return load_text("model: {print_after_conversion: " + text + "}\n")
        .values.model.print_after_conversion;
  };
  EXPECT_TRUE(read("true"));
  EXPECT_TRUE(read("True"));
  EXPECT_FALSE(read("false"));
  for (const char* text : {"yes", "no", "on", "off", "1", "0", "\"true\"", "tru"})
    expect_load_error("model:\n  print_after_conversion: " + std::string(text) + "\n",
                      "model.print_after_conversion must be true or false, found ",
                      "debug.yaml:2:27", "");
}

TEST(Value, TextIsTakenAsWritten) {
  const auto read = [](const std::string& text) {
    return load_text("job: {description: " + text + "}\n").values.job.description;
  };
  EXPECT_EQ(read("no"), "no");
  EXPECT_EQ(read("1.50"), "1.50");
  EXPECT_EQ(read("\"two  words\\n\""), "two  words\n");
  EXPECT_EQ(read("''"), "");
  expect_load_error("job: {description: }\n", "job.description has no value", "debug.yaml:1:7", "");
}

TEST(Value, NullMeansNotGivenWhereThatIsPossible) {
  const auto ratio = [](const std::string& text) {
    return load_text("lr_scheduler: {decay_ratio: 0.5}\n", {"--lr_scheduler.decay_ratio=" + text})
        .values.lr_scheduler.decay_ratio;
  };
  EXPECT_EQ(ratio("null"), std::nullopt);
  EXPECT_EQ(ratio("none"), std::nullopt);
  EXPECT_EQ(ratio("0.25"), 0.25);
  EXPECT_EQ(load_text("lr_scheduler: {decay_ratio: ~}\n").values.lr_scheduler.decay_ratio,
            std::nullopt);
  expect_load_error("training: {steps: null}\n", "training.steps has no value", "", "");
  expect_option_error({"--training.steps=null"}, "must be an integer, found 'null'", "", "");
}

TEST(Value, ListsInFilesAreLists) {
  EXPECT_EQ(load_text("plugins: {paths: [a, \"b c\"]}\n").values.plugins.paths,
            (std::vector<std::string>{"a", "b c"}));
  EXPECT_TRUE(load_text("plugins: {paths: []}\n").values.plugins.paths.empty());
  expect_load_error("plugins: {paths: build}\n", "plugins.paths must be a list, found 'build'",
                    "debug.yaml:1:18", "write [build]");
  expect_load_error("plugins: {paths: {a: 1}}\n", "must be a list, found a map", "", "");
  expect_load_error("plugins: {paths: [[a]]}\n", "must be one value, found a list",
                    "debug.yaml:1:19", "");
  expect_load_error("plugins: {paths: [a, ]}\nx:\n - ~\n", "", "", "");
}

}  // namespace
}  // namespace titan::config
