/// The command line: every accepted spelling, and what is refused.
#include "config/overrides.h"

#include "config_files.h"

namespace titan::config {
namespace {

TEST(Overrides, SpellingsOfAValue) {
  for (const std::vector<std::string>& options :
       std::vector<std::vector<std::string>>{{"--optimizer.lr=3e-4"},
                                             {"--optimizer.lr", "3e-4"},
                                             {"--optimizer.lr= 3e-4 "},
                                             {"--optimizer.lr=1", "--optimizer.lr=3e-4"}})
    EXPECT_EQ(load_options(options).values.optimizer.lr, 3e-4) << options.front();
  EXPECT_EQ(load_options({"--lr-scheduler.warmup-steps=5"}).values.lr_scheduler.warmup_steps, 5);
  EXPECT_EQ(load_options({"--model.args.dim=64"}).values.model.args.dim, 64);
  EXPECT_EQ(load_options({"--training.global_batch_size", "-1"}).values.training.global_batch_size,
            -1);
  EXPECT_EQ(load_options({"--job.description=a=b"}).values.job.description, "a=b");
  EXPECT_EQ(load_options({"--job.description="}).values.job.description, "");
  EXPECT_EQ(load_options({"--job.description", "two words"}).values.job.description, "two words");
}

TEST(Overrides, SpellingsOfAFlag) {
  const struct {
    std::vector<std::string> options;
    bool value;
  } cases[] = {
      {{"--model.print_after_conversion"}, true},
      {{"--model.print-after-conversion"}, true},
      {{"--model.print_after_conversion=true"}, true},
      {{"--model.print_after_conversion=True"}, true},
      {{"--model.print_after_conversion=1"}, true},
      {{"--model.print_after_conversion=on"}, true},
      {{"--model.print_after_conversion=YES"}, true},
      {{"--model.print_after_conversion", "true"}, true},
      {{"--model.print_after_conversion=false"}, false},
      {{"--model.print_after_conversion=False"}, false},
      {{"--model.print_after_conversion=0"}, false},
      {{"--model.print_after_conversion=off"}, false},
      {{"--model.print_after_conversion=no"}, false},
      {{"--model.print_after_conversion", "false"}, false},
      {{"--no-model.print_after_conversion"}, false},
      {{"--model.no_print_after_conversion"}, false},
      {{"--model.no-print-after-conversion"}, false},
      {{"--model.print_after_conversion", "--training.steps=3"}, true},
  };
  for (const auto& c : cases) {
    // The other value comes from the file, so that an option without effect is noticed.
    const std::string file =
        std::string("model: {print_after_conversion: ") + (c.value ? "false" : "true") + "}\n";
    EXPECT_EQ(load_text(file, c.options).values.model.print_after_conversion, c.value)
        << c.options.front();
  }
}

TEST(Overrides, SpellingsOfAList) {
  const auto paths = [](const std::string& text) {
    return load_options({"--plugins.paths=" + text}).values.plugins.paths;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(paths("a"), (Names{"a"}));
  EXPECT_EQ(paths("a,b"), (Names{"a", "b"}));
  EXPECT_EQ(paths(" a , b "), (Names{"a", "b"}));
  EXPECT_EQ(paths("[a, 'b, c']"), (Names{"a", "b, c"}));
  EXPECT_EQ(paths("[]"), Names{});
  EXPECT_EQ(paths("[ab].x"), (Names{"[ab].x"}));
  for (const char* text : {"", " ", "a,", ",a", "a,,b", ","})
    expect_option_error({"--plugins.paths=" + std::string(text)}, "plugins.paths has an empty item",
                        "--plugins.paths=" + std::string(text), "[] for an empty list");
  expect_option_error({"--plugins.paths=[a, {]"}, "broken YAML", "--plugins.paths=[a, {]", "");
  EXPECT_EQ(load_text("plugins: {paths: [x, y]}\n", {"--plugins.paths=a"}).values.plugins.paths,
            (Names{"a"}));
}

TEST(Overrides, UnknownNamesSuggestTheNearest) {
  expect_option_error({"--optimizer.lrr=1"}, "unknown key 'lrr' in section 'optimizer'",
                      "--optimizer.lrr=1", "did you mean 'lr'?");
  expect_option_error({"--lr=1"}, "unknown option '--lr'", "--lr=1",
                      "did you mean '--optimizer.lr'?");
  expect_option_error({"--optimizerlr=1"}, "unknown option", "", "did you mean '--optimizer.lr'?");
  expect_option_error({"--model.args=3"}, "'model.args' is a section", "",
                      "--model.args.dim=VALUE");
  expect_option_error({"--job.config_file=x"}, "unknown key 'config_file'", "", "--config");
  expect_option_error({"--no-training.steps"}, "training.steps is no flag", "--no-training.steps",
                      "--training.steps=VALUE");
}

TEST(Overrides, MalformedArgumentsAreRefused) {
  expect_option_error({"steps=3"}, "unexpected argument 'steps=3'", "", "--section.key=value");
  expect_option_error({"-x"}, "unexpected argument '-x'", "", "");
  expect_option_error({"--training.steps=3", "4"}, "unexpected argument '4'", "", "");
  for (const char* argument : {"--", "--.", "--a.", "--.a", "--=3", "--training..steps=3", "---"})
    expect_option_error({argument}, "unknown option", "", "--section.key=value");
  expect_option_error({"--training=3"}, "'training' is a section", "--training=3", "one by one");
  expect_option_error({"--training.steps"}, "'--training.steps' needs a value", "",
                      "--training.steps=VALUE");
  expect_option_error({"--training.steps", "--training.seq_len=8"}, "needs a value",
                      "--training.steps", "");
  expect_option_error({"--training.steps="}, "must be an integer, found ''", "", "");
  expect_option_error({"--model.print_after_conversion=maybe"}, "must be true or false", "", "");
  expect_option_error({"--model.print_after_conversion", "maybe"}, "must be true or false", "", "");
  expect_option_error({"--no-model.print_after_conversion=true"}, "takes no value", "", "");
  expect_option_error({"--model.no_print_after_conversion", "1"}, "takes no value", "", "");
  expect_option_error({"--job.description=\xff"}, "byte that is no text", "", "");
  expect_option_error({"--job.description", "\x1b[31m"}, "byte that is no text", "", "");
}

TEST(Overrides, NamesAreEqualUpToDashes) {
  EXPECT_TRUE(same_name("lr-scheduler", "lr_scheduler"));
  EXPECT_FALSE(same_name("lr", "lr_"));
  EXPECT_FALSE(same_name("lr", "LR"));
}

}  // namespace
}  // namespace titan::config
