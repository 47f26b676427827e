/// The estimated peak of a step against what a real one holds, at the allocator.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "commands/model_setup.h"
#include "commands/plugin_setup.h"
#include "model/allocation_meter.h"
#include "support/scratch_folder.h"
#include "train/estimate.h"
#include "train/trainer.h"

namespace titan::commands {
namespace {

constexpr const char* kBase = R"(model:
  args: {dim: 128, n_layers: 6, n_heads: 4, n_kv_heads: 2, vocab_size: 1024, multiple_of: 64}
training:
  dataset: text
  local_batch_size: 4
  seq_len: 192
  steps: 2
  device: cpu
  mixed_precision_param: float32
lr_scheduler: {warmup_steps: 1}
activation_checkpoint: {mode: none}
)";

struct Case {
  std::string name;
  std::vector<std::string> overrides;
  std::string plugin = {};  ///< its folder below the build folder
};

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

class EstimateTest : public ::testing::TestWithParam<Case> {};

TEST_P(EstimateTest, IsWithinTenPercentOfTheAllocatorsPeak) {
  const test::ScratchFolder folder;
  std::ofstream(folder.path() / "config.yaml") << kBase;
  {
    std::ofstream text(folder.path() / "text.txt");
    for (int i = 0; i < 2000; ++i) text << "sentence number " << i * i << "\n";
  }
  std::vector<std::string> overrides = GetParam().overrides;
  overrides.push_back("--training.dataset_path=" + (folder.path() / "text.txt").string());
  overrides.push_back("--job.dump_folder=" + folder.path().string());
  if (!GetParam().plugin.empty())
    overrides.push_back("--plugins.paths=" TITAN_BINARY_DIR "/" + GetParam().plugin);
  const config::LoadedConfig loaded = config::load_config(folder.path() / "config.yaml", overrides);
  const model::TrainSpecRegistry specs = train_specs();
  const AppliedConverters applied = load_converters(loaded, find_plugins(&loaded));
  const train::Device device = train::resolve_device("cpu");

  const train::StepEstimate estimate = train::estimate_config(
      loaded.values, specs.get("llama3"), applied.registry, applied.requests, device.facts);

  model::AllocationMeter meter(at::kCPU);
  train::Trainer trainer({loaded.values, applied.requests, device, {}}, specs, applied.registry);
  for (int step = 1; step <= 2; ++step) {
    meter.reset_peak();
    trainer.step();
    const auto measured = static_cast<double>(meter.peak_total());
    const auto estimated = static_cast<double>(estimate.peak.total());
    std::cout << GetParam().name << ", step " << step << ": measured " << measured << ", estimated "
              << estimated << ", off by " << 100 * (estimated / measured - 1) << " %\n";
    EXPECT_LT(std::abs(estimated / measured - 1), 0.1) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Configs, EstimateTest,
    ::testing::Values(
        Case{"plain", {}}, Case{"full", {"--activation_checkpoint.mode=full"}},
        Case{"every_second_block", {"--activation_checkpoint.mode=selective"}},
        Case{"selective_op",
             {"--activation_checkpoint.mode=selective",
              "--activation_checkpoint.selective_ac_option=op"}},
        Case{"float8", {"--model.converters=float8", "--float8.emulate=true"}, "lib/titan/plugins"},
        Case{"float8_mixed",
             {"--model.converters=float8", "--float8.emulate=true", "--float8.recipe=rowwise",
              "--training.mixed_precision_param=bfloat16", "--activation_checkpoint.mode=full"},
             "lib/titan/plugins"},
        Case{"lora",
             {"--model.converters=lora", "--lora.targets=wq,wv,w2"},
             "plugins/examples/lora"},
        Case{"fused_projections",
             {"--model.converters=fused_projections"},
             "plugins/examples/fused_projections"},
        Case{"accumulation", {"--training.global_batch_size=12"}},
        Case{"mixed_precision", {"--training.mixed_precision_param=bfloat16"}},
        Case{"bfloat16",
             {"--training.dtype=bfloat16", "--training.mixed_precision_param=bfloat16"}},
        Case{"longer_sequence", {"--training.seq_len=768", "--training.local_batch_size=1"}},
        Case{"wide_vocabulary",
             {"--model.args.vocab_size=16384", "--activation_checkpoint.mode=full"}}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace titan::commands
