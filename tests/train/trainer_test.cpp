/// The trainer as a whole, with converters that live in this test.
#include "train/trainer.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/error.h"

namespace titan::train {
namespace {

/// Counts calls; observes one layer so that it changes something.
struct Counts {
  int64_t after_init = 0;
  std::vector<int64_t> hook_steps;
  std::vector<int64_t> micro_batches;
};

class CountingObserver final : public model::Observer {
 public:
  explicit CountingObserver(Counts& counts) : counts_(counts) {}
  void observe(model::Module&, const model::CallContext& context, const model::Inputs&,
               const at::Tensor&) override {
    counts_.micro_batches.push_back(context.step * 100 + context.micro_batch);
  }

 private:
  Counts& counts_;
};

class Counting final : public converters::ModelConverter {
 public:
  explicit Counting(Counts& counts) : counts_(counts) {}
  void convert(converters::Recorder& recorder) override {
    recorder.observe(static_cast<size_t>(recorder.model().find("output")),
                     std::make_unique<CountingObserver>(counts_));
  }
  void after_init(converters::HookContext&) override { ++counts_.after_init; }
  bool wants_after_init() const override { return true; }
  void post_optimizer_hook(converters::HookContext& context) override {
    counts_.hook_steps.push_back(context.step);
    if (context.metrics)
      (*context.metrics)["counting/hooks"] = static_cast<double>(counts_.hook_steps.size());
  }
  bool wants_post_optimizer_hook() const override { return true; }

 private:
  Counts& counts_;
};

class TrainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "titan_trainer_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    std::ofstream text(folder_ / "text.txt");
    for (int i = 0; i < 300; ++i) text << "sentence number " << i * i << "\n";
    config.training.dataset = "text";
    config.training.dataset_path = folder_ / "text.txt";
    config.training.local_batch_size = 2;
    config.training.seq_len = 16;
    config.training.steps = 4;
    config.training.device = "cpu";
    config.training.mixed_precision_param = "float32";
    config.lr_scheduler.warmup_steps = 1;
    config.model.args.dim = 32;
    config.model.args.n_layers = 1;
    config.model.args.n_heads = 2;
    config.model.args.vocab_size = 272;
    config.model.args.multiple_of = 16;
    specs.add(model::llama3_train_spec());
    specs.freeze();
    registry.register_model_converter(
        {"counting", "", "built in", {}},
        [this](const converters::CreateContext&) { return std::make_unique<Counting>(counts); });
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Trainer make(bool counting) {
    TrainerOptions options{config, {}, resolve_device("cpu"), {}};
    if (counting) options.converters.push_back({"counting", "counting", {}, {}, {}, {}});
    return Trainer(std::move(options), specs, registry);
  }

  config::Config config;
  model::TrainSpecRegistry specs;
  converters::Registry registry;
  Counts counts;

 private:
  std::filesystem::path folder_;
};

TEST_F(TrainerTest, HooksRunOnceAStepUnderAccumulation) {
  config.training.global_batch_size = 6;
  Trainer trainer = make(true);
  EXPECT_EQ(counts.after_init, 1);
  EXPECT_EQ(counts.hook_steps, (std::vector<int64_t>{0}));  // once after initialisation
  const StepResult first = trainer.step();
  EXPECT_EQ(first.tokens, 6 * 16);
  EXPECT_EQ(first.converter_metrics.at("counting/hooks"), 2);
  trainer.step();
  EXPECT_EQ(counts.hook_steps, (std::vector<int64_t>{0, 1, 2}));
  EXPECT_EQ(counts.micro_batches, (std::vector<int64_t>{100, 101, 102, 200, 201, 202}));
}

TEST_F(TrainerTest, AStepThatIsNotFiniteRunsNoHookAndKeepsTheWeights) {
  Trainer trainer = make(true);
  trainer.step();
  std::vector<at::Tensor> before;
  for (const auto& named : model::named_parameters(trainer.model()))
    before.push_back(named.parameter->tensor.detach().clone());
  at::Tensor weight = trainer.model().find("norm")->parameter("weight").tensor.detach();
  const at::Tensor sound = weight.clone();
  weight.fill_(std::numeric_limits<float>::quiet_NaN());
  try {
    trainer.step();
    FAIL() << "a loss of nan was accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::kDiverged);
    EXPECT_NE(std::string(error.what()).find("step 2"), std::string::npos) << error.what();
    EXPECT_NE(error.where().find("counting"), std::string::npos) << error.where();
  }
  EXPECT_EQ(counts.hook_steps, (std::vector<int64_t>{0, 1}));
  weight.copy_(sound);
  size_t i = 0;
  for (const auto& named : model::named_parameters(trainer.model()))
    EXPECT_TRUE(at::equal(named.parameter->tensor, before[i++])) << named.fqn;
}

TEST_F(TrainerTest, ObservingChangesNoNumber) {
  Trainer plain = make(false), observed = make(true);
  for (int step = 0; step < 3; ++step) {
    const StepResult a = plain.step(), b = observed.step();
    EXPECT_EQ(a.loss, b.loss);
    EXPECT_EQ(a.grad_norm, b.grad_norm);
  }
}

TEST_F(TrainerTest, TheSameSeedGivesTheSameRunAndAnotherDoesNot) {
  Trainer one = make(false), two = make(false);
  config.training.seed = 1;
  Trainer other = make(false);
  const double loss = one.step().loss;
  EXPECT_EQ(loss, two.step().loss);
  EXPECT_NE(loss, other.step().loss);
}

}  // namespace
}  // namespace titan::train
