/// The table of keys is complete: every row has a doc line and reaches its own member.
#include "config/fields.h"

#include <algorithm>
#include <set>

#include "config/option_text.h"
#include "config_files.h"

namespace titan::config {
namespace {

/// A valid value of the field that differs from its default.
std::string other_value(const Field& field) {
  const OptionSchema& option = field.option;
  if (field.full_name() == "activation_checkpoint.selective_ac_option") return "op";
  if (field.full_name() == "training.mixture") return R"(["one:1:text:x"])";
  if (option.is_list) return option.values.empty() ? "[x]" : "[" + option.values.back() + "]";
  switch (option.type) {
    case OptionType::kBool:
      return option.default_value == OptionValue{false, {true}} ? "false" : "true";
    case OptionType::kInt:
      return option.default_value == OptionValue{false, {int64_t{4}}} ? "8" : "4";
    case OptionType::kFloat: return option.min && *option.min >= 1 ? "4.5" : "0.625";
    case OptionType::kEnum: return option.values.back();
    case OptionType::kString:
    case OptionType::kPath: break;
  }
  return "other";
}

/// The YAML path of a full name: "a.b.c" with value v is {a: {b: {c: v}}}.
std::string yaml_for(const std::string& full_name, const std::string& value) {
  std::string opening, closing;
  for (const char c : full_name) {
    if (c == '.') {
      opening += ": {";
      closing += "}";
    } else {
      opening += c;
    }
  }
  return opening + ": " + value + closing + "\n";
}

/// Some values need other keys to be valid together, or to have an effect.
std::vector<std::string> companions(const Field& field) {
  const std::string name = field.full_name();
  if (name == "training.dataset") return {"--training.mixture=one:1:text:x"};
  if (name == "training.mixture") return {"--training.dataset=mixture"};
  if (name == "training.dataset_key")
    return {"--training.dataset=jsonl", "--training.dataset_path=x"};
  if (name == "training.shuffle_buffer")
    return {"--training.shuffle=true", "--training.dataset=jsonl", "--training.dataset_path=x"};
  if (name.starts_with("training.chat_"))
    return {"--training.dataset=chat", "--training.dataset_path=x"};
  if (name == "training.parse_special_tokens") return {"--model.tokenizer_path=x"};
  if (name == "metrics.save_tb_folder") return {"--metrics.enable_tensorboard=true"};
  if (field.section == "samples" && name != "samples.enable") return {"--samples.enable=true"};
  if (field.section == "profiling" && name != "profiling.enable_profiling")
    return {"--profiling.enable_profiling=true"};
  if (name == "training.global_batch_size") return {"--training.local_batch_size=2"};
  if (name == "training.max_skipped_steps") return {"--training.on_nonfinite=skip"};
  if (name == "checkpoint.export_dtype" || name == "checkpoint.adapter_only")
    return {"--checkpoint.enable=true", "--checkpoint.last_save_model_only=true"};
  if (field.section == "checkpoint" && name != "checkpoint.enable" &&
      name != "checkpoint.initial_load_path" && name != "checkpoint.adapter_load_path")
    return {"--checkpoint.enable=true"};
  return {};
}

TEST(Fields, EveryKeyIsReadFromFileAndCommandLine) {
  for (const Field& field : fields()) {
    SCOPED_TRACE(field.full_name());
    const std::string value = other_value(field);
    if (field.option.type == OptionType::kEnum && field.option.values.size() == 1) {
      EXPECT_EQ(load_text(yaml_for(field.full_name(), value)).values, Config{});
      continue;
    }
    const std::vector<std::string> others = companions(field);
    std::vector<std::string> options = others;
    options.push_back("--" + field.full_name() + "=" + value);
    const Config from_file = load_text(yaml_for(field.full_name(), value), others).values;
    const Config from_option = load_options(options).values;
    const auto written = field.get(from_file);
    ASSERT_TRUE(written.has_value());
    const bool text = field.option.type == OptionType::kEnum && !field.option.is_list;
    EXPECT_EQ(to_yaml(*written), text ? to_yaml(std::string_view(value)) : value);
    EXPECT_NE(written, field.get(Config{}));
    EXPECT_EQ(field.get(from_option), written);
    // Exactly this member changed, and no other row sees it.
    for (const Field& other : fields()) {
      if (other.full_name() == field.full_name()) continue;
      const auto sets_other = [&](const std::string& option) {
        return option.starts_with("--" + other.full_name() + "=");
      };
      if (std::any_of(others.begin(), others.end(), sets_other)) continue;
      EXPECT_EQ(other.get(from_file), other.get(Config{})) << other.full_name();
    }
  }
}

TEST(Fields, HaveDocLinesAndUniqueNames) {
  std::set<std::string> names;
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.insert(field.full_name()).second) << field.full_name();
    EXPECT_GE(field.option.help.size(), 10u) << field.full_name();
    EXPECT_EQ(field.option.help.find('\n'), std::string::npos) << field.full_name();
    EXPECT_TRUE(field.nullable || field.option.default_value.has_value()) << field.full_name();
    EXPECT_EQ(field.option.type == OptionType::kEnum, !field.option.values.empty());
  }
  EXPECT_EQ(names.count("optimizer.lr"), 1u);
}

TEST(Fields, DefaultsPassTheirOwnChecks) {
  for (const Field& field : fields()) {
    if (!field.option.default_value) continue;
    SCOPED_TRACE(field.full_name());
    EXPECT_EQ(load_text(yaml_for(field.full_name(), to_yaml(*field.option.default_value))).values,
              Config{});
  }
}

TEST(Fields, ValuesWithoutEffectAreRefused) {
  const auto refused = [](const std::vector<std::string>& options, const std::string& text,
                          std::initializer_list<std::string> parts) {
    try {
      text.empty() ? load_options(options) : load_text(text, options);
      ADD_FAILURE() << "accepted: " << text << (options.empty() ? "" : options.front());
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      for (const std::string& part : parts)
        EXPECT_NE(error.render().find(part), std::string::npos) << part << "\n" << error.render();
    }
  };
  const std::string not_enabled = "checkpoints are not enabled";
  refused({"--checkpoint.interval=5"}, "",
          {"checkpoint.interval", not_enabled, "checkpoint.enable: true"});
  refused({}, "checkpoint: {enable: false, keep_latest_k: 3}",
          {"checkpoint.keep_latest_k", not_enabled});
  refused({"--checkpoint.enable=false", "--checkpoint.load_step=3"}, "",
          {"checkpoint.load_step", not_enabled});
  refused({}, "checkpoint: {enable: true, export_dtype: bfloat16}",
          {"checkpoint.export_dtype", "last_save_model_only"});
  refused({"--training.max_skipped_steps=3"}, "", {"training.max_skipped_steps", "on_nonfinite"});
  refused({"--checkpoint.enable=true", "--checkpoint.keep_latest_k=1"}, "",
          {"checkpoint.keep_latest_k", "2 or more"});
  // The default says nothing, and turning checkpoints off for once is not a mistake.
  load_text("checkpoint: {enable: false, interval: 500}");
  load_text("checkpoint: {enable: true, interval: 5}", {"--checkpoint.enable=false"});
}

TEST(Fields, SectionsAndLookups) {
  EXPECT_TRUE(is_section("model"));
  EXPECT_TRUE(is_section("model.args"));
  EXPECT_FALSE(is_section("args"));
  EXPECT_NE(find_field("model.args", "dim"), nullptr);
  EXPECT_EQ(find_field("model", "dim"), nullptr);
  const auto keys = keys_of("model");
  EXPECT_NE(std::find(keys.begin(), keys.end(), "args"), keys.end());
}

}  // namespace
}  // namespace titan::config
