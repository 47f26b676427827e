/// The merged config reads back as itself, and says where each value is from.
#include "config/dump.h"

#include "config/resolve.h"
#include "config_files.h"
#include "converter_schemas.h"

namespace titan::config {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

/// Everything but places, which differ between the original and the dump.
void expect_round_trip(const LoadedConfig& config, bool origins) {
  const auto requests = resolve_converters(config, schemas());
  const std::string text = dump_config(config, requests, origins);
  SCOPED_TRACE(text);
  const LoadedConfig again = load_text(text);
  const auto again_requests = resolve_converters(again, schemas());
  ASSERT_EQ(again_requests.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(again_requests[i].converter, requests[i].converter);
    EXPECT_EQ(again_requests[i].instance, requests[i].instance);
    EXPECT_EQ(again_requests[i].include, requests[i].include);
    EXPECT_EQ(again_requests[i].exclude, requests[i].exclude);
    EXPECT_EQ(again_requests[i].options, requests[i].options);
  }
  Config left = config.values, right = again.values;
  left.model.converters.clear();
  right.model.converters.clear();
  EXPECT_EQ(left, right);
  EXPECT_EQ(dump_config(again, again_requests, false), dump_config(config, requests, false));
}

const char* const kRichConfig =
    "job: {description: \"a # b: 'c' \\\"d\\\" \\\\ \\n \xc3\xa4 [x] {y}, *z\"}\n"
    "model:\n"
    "  flavor: 8B\n"
    "  args: {dim: 64, norm_eps: 1e-6}\n"
    "  converters:\n"
    "    - {use: float8, as: f8, include: [\"layers.*.w[12]\"], margin: 0.1}\n"
    "    - {use: float8, as: yes, tags: [\"a, b\", \"null\", \"\", \"3\"]}\n"
    "training: {dataset: text, dataset_path: \"-x\"}\n"
    "lr_scheduler: {decay_ratio: 0.3333333333333333}\n"
    "plugins: {paths: [\"a b\", /c]}\n"
    "float8: {filter_fqns: [output]}\n"
    "lora: {rank: 3, target: \"3\"}\n";

TEST(Dump, RoundTripOfDefaults) {
  expect_round_trip(load_options({}), false);
  expect_round_trip(load_options({}), true);
}

TEST(Dump, RoundTripOfARichConfig) {
  const LoadedConfig config = load_text(
      kRichConfig, {"--f8.emulate", "--training.steps=5", "--job.dump_folder=out # not a comment"});
  expect_round_trip(config, false);
  expect_round_trip(config, true);
}

TEST(Dump, KeepsEntriesBeforeTheyAreResolved) {
  const LoadedConfig config = load_text(kRichConfig);
  const LoadedConfig again = load_text(dump_config(config, {}, true));
  EXPECT_EQ(requested_converters(again), requested_converters(config));
  const auto left = resolve_converters(config, schemas());
  const auto right = resolve_converters(again, schemas());
  ASSERT_EQ(left.size(), right.size());
  for (size_t i = 0; i < left.size(); ++i) EXPECT_EQ(left[i].options, right[i].options);
  ASSERT_EQ(again.converter_sections.size(), 2u);
}

TEST(Dump, SaysWhereValuesComeFrom) {
  const TempFolder folder;
  const std::string path =
      folder
          .write(
              "run.yaml",
              "training:\n  seq_len: 64\nmodel:\n  converters: [float8]\nfloat8:\n  history: 3\n")
          .string();
  const LoadedConfig config =
      load_config(path, {"--training.steps", "5", "--float8.recipe=rowwise"});
  const std::string text = dump_config(config, resolve_converters(config, schemas()), true);
  SCOPED_TRACE(text);
  EXPECT_TRUE(has_line(text, "  seq_len: 64  # " + path + ":2:12"));
  EXPECT_TRUE(has_line(text, "  steps: 5  # --training.steps 5"));
  EXPECT_TRUE(has_line(text, "  lr: 0.0008  # default"));
  EXPECT_TRUE(has_line(text, "  decay_ratio: null  # default"));
  EXPECT_TRUE(has_line(text, "      recipe: rowwise  # --float8.recipe=rowwise"));
  EXPECT_TRUE(has_line(text, "      history: 3  # " + path + ":6:12"));
  EXPECT_TRUE(has_line(text, "      emulate: false  # default"));
  const std::string plain = dump_config(config, resolve_converters(config, schemas()), false);
  EXPECT_EQ(plain.find('#'), std::string::npos);
}

TEST(Dump, ACommentCannotOpenALine) {
  const LoadedConfig config = load_options({"--job.description=a\ntraining: {steps: 3}"});
  const LoadedConfig again = load_text(dump_config(config, {}, true));
  EXPECT_EQ(again.values, config.values);
}

}  // namespace
}  // namespace titan::config
