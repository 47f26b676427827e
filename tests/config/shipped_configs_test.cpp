/// The configs in configs/ load, hold what they promise, and convert once their list is enabled.
#include <algorithm>
#include <regex>
#include <sstream>

#include "config/resolve.h"
#include "config_files.h"
#include "converter_schemas.h"

namespace titan::config {
namespace {

const std::filesystem::path kConfigFolder = std::filesystem::path(TITAN_SOURCE_DIR) / "configs";

LoadedConfig load_shipped(const std::string& name, const std::vector<std::string>& options = {}) {
  return load_config(kConfigFolder / name, options);
}

std::vector<std::string> shipped_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kConfigFolder))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(ShippedConfigs, AreTheKnownOnes) {
  EXPECT_EQ(shipped_names(),
            (std::vector<std::string>{"llama3_405b.yaml", "llama3_70b.yaml", "llama3_8b.yaml",
                                      "llama3_debug.yaml", "qwen3_8b.yaml", "qwen3_debug.yaml"}));
}

TEST(ShippedConfigs, HaveAFloat8SectionThatIsNotApplied) {
  for (const std::string& name : shipped_names()) {
    SCOPED_TRACE(name);
    const LoadedConfig config = load_shipped(name);
    EXPECT_TRUE(config.values.model.converters.empty());
    ASSERT_EQ(config.converter_sections.size(), 1u);
    EXPECT_EQ(config.converter_sections[0].name, "float8");
    EXPECT_TRUE(resolve_converters(config, schemas()).empty());
    const auto applied =
        resolve_converters(load_shipped(name, {"--model.converters=float8"}), schemas());
    ASSERT_EQ(applied.size(), 1u);
    EXPECT_EQ(applied[0].exclude, (std::vector<std::string>{"output"}));
    EXPECT_EQ(applied[0].options.at("emulate"), one(false));
  }
}

TEST(ShippedConfigs, TheCommentedOutListWorksOnceEnabled) {
  for (const std::string& name : shipped_names()) {
    std::ifstream file(kConfigFolder / name);
    std::stringstream text;
    text << file.rdbuf();
    const std::string enabled =
        std::regex_replace(text.str(), std::regex("# *(converters: \\[float8\\])"), "$1");
    EXPECT_NE(enabled, text.str()) << name;
    EXPECT_EQ(resolve_converters(load_text(enabled), schemas()).size(), 1u) << name;
  }
}

TEST(ShippedConfigs, EveryKeyHasAComment) {
  for (const std::string& name : shipped_names()) {
    std::ifstream file(kConfigFolder / name);
    for (std::string line; std::getline(file, line);) {
      if (!std::regex_search(line, std::regex("^ +[a-z_0-9]+: "))) continue;
      EXPECT_NE(line.find("  # "), std::string::npos) << name << ": " << line;
    }
  }
}

TEST(ShippedConfigs, Debug) {
  const Config config = load_shipped("llama3_debug.yaml").values;
  EXPECT_EQ(config.model.flavor, "debugmodel");
  EXPECT_EQ(config.training.dataset, "pride_and_prejudice");
  EXPECT_EQ(config.training.local_batch_size, 4);
  EXPECT_EQ(config.training.seq_len, 256);
  EXPECT_EQ(config.training.steps, 60);
  EXPECT_EQ(config.optimizer.lr, 8e-4);
  EXPECT_EQ(config.lr_scheduler.warmup_steps, 2);
  EXPECT_EQ(config.lr_scheduler.decay_ratio, 0.8);
  EXPECT_EQ(config.metrics.log_freq, 1);
}

TEST(ShippedConfigs, TheFamiliesDifferInNamesOnly) {
  for (const std::string size : {"8b", "debug"}) {
    Config qwen3 = load_shipped("qwen3_" + size + ".yaml").values;
    const Config llama3 = load_shipped("llama3_" + size + ".yaml").values;
    EXPECT_EQ(qwen3.model.name, "qwen3");
    qwen3.model.name = llama3.model.name;
    qwen3.job.description = llama3.job.description;
    EXPECT_EQ(qwen3, llama3) << size;
  }
}

TEST(ShippedConfigs, LargeModels) {
  const Config small = load_shipped("llama3_8b.yaml").values;
  EXPECT_EQ(small.model.flavor, "8B");
  EXPECT_EQ(small.training.dataset, "text");
  EXPECT_EQ(small.optimizer.lr, 3e-4);
  EXPECT_EQ(small.training.local_batch_size, 1);
  EXPECT_EQ(small.training.seq_len, 8192);
  EXPECT_EQ(small.training.steps, 1000);
  const Config middle = load_shipped("llama3_70b.yaml").values;
  EXPECT_EQ(middle.model.flavor, "70B");
  EXPECT_EQ(middle.optimizer.lr, 1.5e-4);
  EXPECT_EQ(middle.training.local_batch_size, 8);
  const Config large = load_shipped("llama3_405b.yaml").values;
  EXPECT_EQ(large.model.flavor, "405B");
  EXPECT_EQ(large.optimizer.lr, 8e-5);
  EXPECT_EQ(large.lr_scheduler.warmup_steps, 600);
  EXPECT_EQ(large.training.local_batch_size, 2);
  EXPECT_EQ(large.training.steps, 3000);
}

}  // namespace
}  // namespace titan::config
