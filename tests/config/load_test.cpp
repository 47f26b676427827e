/// Pass 1: files, sections, keys, and the places named in errors.
#include "config/load.h"

#include "config_files.h"

namespace titan::config {
namespace {

TEST(Load, WithoutAnythingGivesTheDocumentedDefaults) {
  const Config config = load_options({}).values;
  EXPECT_EQ(config, Config{});
  EXPECT_EQ(config.job.dump_folder, "./outputs");
  EXPECT_EQ(config.model.name, "llama3");
  EXPECT_EQ(config.model.flavor, "debugmodel");
  EXPECT_EQ(config.training.dataset, "pride_and_prejudice");
  EXPECT_EQ(config.training.local_batch_size, 8);
  EXPECT_EQ(config.training.global_batch_size, -1);
  EXPECT_EQ(config.training.seq_len, 2048);
  EXPECT_EQ(config.training.max_norm, 1.0);
  EXPECT_EQ(config.training.steps, 10000);
  EXPECT_EQ(config.optimizer.lr, 8e-4);
  EXPECT_EQ(config.optimizer.beta2, 0.95);
  EXPECT_EQ(config.lr_scheduler.warmup_steps, 200);
  EXPECT_FALSE(config.lr_scheduler.decay_ratio.has_value());
  EXPECT_EQ(config.metrics.log_freq, 10);
}

TEST(Load, CommandLineBeatsFileBeatsDefault) {
  const LoadedConfig config =
      load_text("training: {steps: 7, seq_len: 64}\n", {"--training.steps=9"});
  EXPECT_EQ(config.values.training.steps, 9);
  EXPECT_EQ(config.values.training.seq_len, 64);
  EXPECT_EQ(config.values.training.local_batch_size, 8);
  EXPECT_EQ(config.origins.at("training.steps"), "--training.steps=9");
  EXPECT_TRUE(ends_with(config.origins.at("training.seq_len"), "debug.yaml:1:31"));
  EXPECT_EQ(config.origins.count("training.local_batch_size"), 0u);
}

TEST(Load, SectionsMayBeEmptyAndNested) {
  const LoadedConfig config = load_text(
      "training:\n  # steps: 1\noptimizer:\nmodel:\n  args:\n"
      "    dim: 64\n    n_heads: 4\n");
  EXPECT_EQ(config.values.model.args.dim, 64);
  EXPECT_EQ(config.values.model.args.n_heads, 4);
  EXPECT_EQ(config.values.model.args.n_layers, std::nullopt);
}

TEST(Load, AliasesAndByteOrderMarkAndWindowsLineEndsWork) {
  const LoadedConfig config = load_text(
      "\xEF\xBB\xBFtraining:\r\n  steps: &n 5\r\nlr_scheduler:\r\n  warmup_steps: *n\r\n");
  EXPECT_EQ(config.values.training.steps, 5);
  EXPECT_EQ(config.values.lr_scheduler.warmup_steps, 5);
}

TEST(Load, UnknownKeyNamesPlaceAndNearest) {
  expect_load_error("job:\n  description: x\n\noptimizer:\n  name: AdamW\n  lrr: 1\n",
                    "unknown key 'lrr' in section 'optimizer'", "/debug.yaml:6:3",
                    "did you mean 'lr'? keys of optimizer: name, lr, beta1");
  expect_load_error("model: {args: {dmi: 1}}\n", "'dmi' in section 'model.args'",
                    "/debug.yaml:1:16", "did you mean 'dim'?");
  expect_load_error("job: {config_file: x}\n", "unknown key 'config_file'", "/debug.yaml:1:7",
                    "--config");
  expect_load_error("training: {zzzzzz: 1}\n", "zzzzzz", "/debug.yaml:1:12",
                    "keys of training: dataset");
}

TEST(Load, DuplicateKeysNameBothPlaces) {
  const Error error =
      usage_error_of([] { load_text("training:\n  steps: 1\n  seq_len: 8\n  steps: 2\n"); });
  expect_error(error, "'steps' is given twice", "/debug.yaml:4:3", "remove one");
  EXPECT_NE(std::string(error.what()).find("debug.yaml:2:3 and at "), std::string::npos);
  expect_load_error("job: {}\ntraining: {}\njob: {}\n", "'job' is given twice", "debug.yaml:3:1",
                    "");
  expect_load_error("float8:\n  a: 1\n  \"a\": 2\n", "'a' is given twice", "debug.yaml:3:3", "");
}

TEST(Load, WrongShapesAreRefused) {
  expect_load_error("- 1\n", "the config must be a map, found a list", "debug.yaml:1:1", "");
  expect_load_error("hello\n", "the config must be a map, found 'hello'", "debug.yaml:1:1", "");
  expect_load_error("training: 5\n", "section 'training' must be a map", "debug.yaml:1:11", "");
  expect_load_error("training: [a]\n", "section 'training' must be a map", "debug.yaml:1:11", "");
  expect_load_error("trainig: 5\n", "'trainig' is no section", "debug.yaml:1:1",
                    "did you mean 'training'?");
  expect_load_error("model: {args: 3}\n", "section 'model.args' must be a map", "debug.yaml:1:15",
                    "");
  expect_load_error("training: {steps: [1]}\n", "training.steps must be one value, found a list",
                    "debug.yaml:1:19", "");
  expect_load_error("training:\n  steps:\n  seq_len: 3\n", "training.steps has no value",
                    "debug.yaml:2:3", "steps: integer, at least 1");
  expect_load_error("model.args: {dim: 3}\n", "section 'model.args' must be nested",
                    "debug.yaml:1:1", "inside 'model'");
}

TEST(Load, EmptyFilesAreRefused) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~\n"})
    expect_load_error(text, "the config file is empty", "debug.yaml", "configs/");
}

TEST(Load, BrokenYamlNamesThePlace) {
  expect_load_error("training: {steps: 1\n", "'{' that is never closed", "debug.yaml:1:19", "");
  expect_load_error("training: [1,\n\n\n", "'[' that is never closed", "debug.yaml:1:13", "");
  expect_load_error("training:\n\tsteps: 1\n", "broken YAML", "debug.yaml:2:7",
                    "indent with spaces, not tabs");
  expect_load_error("training:\n  steps: 1\n  seq_len\njob: {}\n", "':' cannot stand here",
                    "debug.yaml:4:4", "indentation");
  expect_load_error("training:\n  steps: 1\n   seq_len: 3\n", "':' cannot stand here",
                    "debug.yaml:3:11", "indentation");
  expect_load_error("a: b: c\n", "':' cannot stand here", "debug.yaml:1:5", "");
  expect_load_error("a: *nothing\n", "broken YAML", "debug.yaml:1:4", "");
  expect_load_error("job:\n  description: \"never closed\n", "quote that opens here",
                    "debug.yaml:2:16", "closing quote");
  expect_load_error("job:\n  description: 'never closed\n", "quote that opens here",
                    "debug.yaml:2:16", "");
}

TEST(Load, FilesThatAreNoConfigAreRefused) {
  const TempFolder folder;
  folder.write("llama3_debug.yaml", "job: {}\n");
  expect_error(usage_error_of([&] { load_config(folder.path() / "lama3_debug.yaml", {}); }),
               "cannot be opened: No such file", "lama3_debug.yaml",
               "did you mean 'llama3_debug.yaml'?");
  expect_error(usage_error_of([&] { load_config(folder.path(), {}); }), "not a regular file", "",
               "folder");
  expect_error(usage_error_of([&] { load_config("/dev/zero", {}); }), "not a regular file",
               "/dev/zero", "");
  ASSERT_EQ(mkfifo((folder.path() / "pipe.yaml").c_str(), 0600), 0);
  expect_error(usage_error_of([&] { load_config(folder.path() / "pipe.yaml", {}); }),
               "not a regular file", "pipe.yaml", "");
}

TEST(Load, RulesBetweenKeys) {
  expect_load_error("training: {local_batch_size: 4, global_batch_size: 6}\n",
                    "global_batch_size (6) must be -1 or a multiple of "
                    "training.local_batch_size (4)",
                    "debug.yaml:1:52", "");
  expect_option_error({"--training.global_batch_size=0"}, "must be -1 or a multiple",
                      "--training.global_batch_size=0", "");
  EXPECT_EQ(load_options({"--training.global_batch_size=24"}).values.training.global_batch_size,
            24);
  expect_option_error({"--training.dataset=text"}, "needs training.dataset_path",
                      "--training.dataset=text", "--training.dataset_path=");
  expect_option_error({"--model.args.n_heads=4", "--model.args.n_kv_heads=3"},
                      "n_heads (4) must be a multiple of model.args.n_kv_heads (3)",
                      "--model.args.n_kv_heads=3", "");
  expect_load_error("training:\n  dtype: bfloat16\n  mixed_precision_param: float32\n",
                    "mixed_precision_param (float32) is wider than training.dtype (bfloat16)",
                    "debug.yaml:3:26", "training.dtype: float32");
  for (const char* option : {"0", "-1", "1.5", "2x", "ops", "99999999999", "\"\""})
    expect_load_error(std::string("activation_checkpoint: {selective_ac_option: ") + option + "}\n",
                      "must be a positive number or op", "debug.yaml:1:46", "every second block");
  for (const char* option : {"1", "2", "op", "\"3\""})
    load_text(std::string("activation_checkpoint: {selective_ac_option: ") + option + "}\n");
  expect_option_error({"--validation.steps=0"}, "validation.steps is 0", "--validation.steps=0",
                      "-1 for all data once");
  expect_option_error({"--validation.enable=true", "--validation.dataset=tokens"},
                      "needs validation.dataset_path", "--validation.dataset=tokens",
                      "--validation.dataset_path=");
  load_options({"--validation.dataset=tokens"});  // not enabled
  expect_option_error({"--model.args.n_heads=4", "--model.args.dim=6"}, "model.args.dim (6)",
                      "--model.args.dim=6", "");
}

TEST(Load, KeepsWhatBelongsToConverters) {
  const LoadedConfig config = load_text(
      "model: {converters: [float8, {use: lora, as: adapter}, {use: float8, as: f8b}]}\n"
      "float8: {recipe: rowwise}\nlora:\n",
      {"--adapter.rank=4", "--float8.emulate"});
  EXPECT_EQ(requested_converters(config), (std::vector<std::string>{"float8", "lora"}));
  ASSERT_EQ(config.converter_sections.size(), 2u);
  EXPECT_EQ(config.converter_sections[0].name, "float8");
  EXPECT_EQ(config.converter_sections[1].name, "lora");
  ASSERT_EQ(config.converter_overrides.size(), 2u);
  EXPECT_EQ(config.converter_overrides[0].target, "adapter");
  EXPECT_EQ(config.converter_overrides[0].key, "rank");
  EXPECT_EQ(config.converter_overrides[0].value.text, "4");
}

}  // namespace
}  // namespace titan::config
