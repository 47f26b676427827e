/// Moments and counts by name: all come back, whatever does not fit is listed.
#include "checkpoint/optimizer_state.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include "support/scratch_folder.h"
#include "support/tiny_model.h"

namespace titan::checkpoint {
namespace {

using test::expect_error;
using test::ScratchFolder;
using test::TinyModel;

/// An optimizer over a tiny model whose states hold `value`.
struct Optimized {
  explicit Optimized(double value) {
    model::materialize(root, at::kCPU, 1);
    optimizer =
        std::make_unique<optim::Optimizer>(optim::trainable_tensors(root), optim::AdamOptions());
    for (auto& [name, tensor] : optimizer_tensors(*optimizer)) at::Tensor(tensor).fill_(value);
  }
  TinyModel root;
  std::unique_ptr<optim::Optimizer> optimizer;
};

TEST(OptimizerStateTest, ComesBack) {
  ScratchFolder folder;
  const Optimized saved(3);
  const auto tensors = optimizer_tensors(*saved.optimizer);
  EXPECT_EQ(tensors.size(), 9u);
  EXPECT_TRUE(tensors.count("box.c.weight.exp_avg_sq"));
  write_safetensors(folder / "o", tensors);
  Optimized loaded(0);
  load_optimizer(*loaded.optimizer, SafetensorsReader(folder / "o"), {});
  for (const auto& [name, tensor] : optimizer_tensors(*loaded.optimizer))
    EXPECT_TRUE(at::equal(tensor, tensors.at(name))) << name;
}

TEST(OptimizerStateTest, EverythingThatDoesNotFitIsListedAndNothingChanges) {
  ScratchFolder folder;
  auto tensors = optimizer_tensors(*Optimized(3).optimizer);
  tensors.erase("a.weight.step");
  tensors["b.weight.exp_avg"] = at::zeros({7});
  tensors["box.c.weight.exp_avg"] = at::zeros({4, 4}, at::kDouble);
  tensors["other.weight.exp_avg"] = at::zeros({1});
  write_safetensors(folder / "o", tensors);
  Optimized loaded(1);
  expect_error(ExitStatus::kData,
               {"missing in the file: a.weight.step", "b.weight.exp_avg, found [7], needed [2, 4]",
                "box.c.weight.exp_avg, found F64, needed Float",
                "no trainable parameter of this run: other.weight.exp_avg", "exclude_from_loading"},
               [&] { load_optimizer(*loaded.optimizer, SafetensorsReader(folder / "o"), {}); });
  for (const auto& [name, tensor] : optimizer_tensors(*loaded.optimizer))
    EXPECT_TRUE(at::equal(tensor, at::ones_like(tensor))) << name;
}

TEST(OptimizerStateTest, AParameterThatIsNewHasFreshState) {
  ScratchFolder folder;
  auto tensors = optimizer_tensors(*Optimized(3).optimizer);
  for (const char* part : {"exp_avg", "exp_avg_sq", "step"})
    tensors.erase(std::string("a.weight.") + part);
  write_safetensors(folder / "o", tensors);
  Optimized loaded(0);
  load_optimizer(*loaded.optimizer, SafetensorsReader(folder / "o"), {"a.weight"});
  const auto states = optimizer_tensors(*loaded.optimizer);
  EXPECT_EQ(states.at("a.weight.step").item<float>(), 0);
  EXPECT_EQ(states.at("b.weight.step").item<float>(), 3);
}

}  // namespace
}  // namespace titan::checkpoint
