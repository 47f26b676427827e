/// ModelConvertersContainer: order, hooks, conflicts, selection, all or nothing.
#include "converters/container.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "support/tiny_model.h"

namespace titan::converters {
namespace {

using test::TinyModel;

/// Multiplies a module's own result by a factor.
class ScaledReplacement final : public model::Replacement {
 public:
  explicit ScaledReplacement(double factor) : factor_(factor) {}
  at::Tensor forward(model::Module& module, const model::CallContext&,
                     const model::Inputs& inputs) override {
    return at::matmul(inputs[0], module.parameter("weight").tensor.t()) * factor_;
  }

 private:
  double factor_;
};

class AddingWrap final : public model::Wrap {
 public:
  explicit AddingWrap(double value, double factor = 1) : value_(value), factor_(factor) {}
  at::Tensor after(model::Module&, const model::CallContext&, const model::Inputs&,
                   at::Tensor y) override {
    return y * factor_ + value_;
  }

 private:
  double value_, factor_;
};

using Convert = std::function<void(Recorder&)>;

/// Writes what happens to it into a journal.
class Scripted final : public ModelConverter {
 public:
  Scripted(std::string name, std::vector<std::string>& journal, Convert convert)
      : name_(std::move(name)), journal_(journal), convert_(std::move(convert)) {
    journal_.push_back(name_ + ".create");
  }
  ~Scripted() override { journal_.push_back(name_ + ".destroy"); }
  void convert(Recorder& recorder) override {
    journal_.push_back(name_ + ".convert");
    convert_(recorder);
  }
  void after_init(HookContext& context) override {
    journal_.push_back(name_ + ".after_init");
    seen = context.tensors.size();
  }
  bool wants_after_init() const override { return true; }
  void post_optimizer_hook(HookContext& context) override {
    journal_.push_back(name_ + ".post " + std::to_string(context.step));
  }
  bool wants_post_optimizer_hook() const override { return true; }
  size_t seen = 0;

 private:
  std::string name_;
  std::vector<std::string>& journal_;
  Convert convert_;
};

class ContainerTest : public ::testing::Test {
 protected:
  void add(const std::string& name, Convert convert) {
    registry.register_model_converter({name, "test", "built in", {}},
                                      [this, name, convert](const CreateContext&) {
                                        return std::make_unique<Scripted>(name, journal, convert);
                                      });
  }
  /// A converter that replaces module `fqn` by factor times itself.
  static Convert replacing(const std::string& fqn, double factor = 2.0) {
    return [=](Recorder& recorder) {
      recorder.replace(static_cast<size_t>(recorder.model().find(fqn)),
                       std::make_unique<ScaledReplacement>(factor));
    };
  }
  static Convert wrapping(const std::string& fqn, double value, double factor = 1) {
    return [=](Recorder& recorder) {
      recorder.wrap(static_cast<size_t>(recorder.model().find(fqn)),
                    std::make_unique<AddingWrap>(value, factor));
    };
  }
  static config::ConverterRequest request(const std::string& name) {
    return {name, name, {}, {}, {}, {}};
  }
  std::unique_ptr<ModelConvertersContainer> make(const std::vector<std::string>& names) {
    std::vector<config::ConverterRequest> requests;
    for (const auto& name : names) requests.push_back(request(name));
    return std::make_unique<ModelConvertersContainer>(registry, requests, DeviceFacts{});
  }
  /// The message of the usage error that converting with these converters gives.
  std::string refusal(const std::vector<std::string>& names) {
    TinyModel model;
    try {
      make(names)->convert(model);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      EXPECT_FALSE(error.hint().empty());
      for (const auto& named : model::named_parameters(model))
        EXPECT_TRUE(named.parameter->stored_as.empty());
      model::visit_modules(
          model, [](model::Module& module) { EXPECT_FALSE(module.replaced()) << module.fqn(); });
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  std::vector<std::string> journal;
  Registry registry;
};

TEST_F(ContainerTest, CreatesAllThenConvertsAllThenHooksInListOrder) {
  add("a", wrapping("a", 1));
  add("b", wrapping("b", 1));
  {
    auto container = make({"b", "a"});
    TinyModel model;
    container->convert(model);
    model::materialize(model, at::kCPU, 1);
    container->after_init(model, HookReason::kFresh, {});
    container->post_optimizer_hook(model, 1);
  }
  EXPECT_EQ(journal,
            (std::vector<std::string>{"b.create", "a.create", "b.convert", "a.convert",
                                      "b.after_init", "a.after_init", "b.post 0", "a.post 0",
                                      "b.post 1", "a.post 1", "a.destroy", "b.destroy"}));
}

TEST_F(ContainerTest, EmptyListChangesNothing) {
  TinyModel plain, converted;
  auto container = make({});
  container->convert(converted);
  EXPECT_TRUE(container->empty());
  model::materialize(plain, at::kCPU, 7);
  model::materialize(converted, at::kCPU, 7);
  const at::Tensor x = at::rand({3, 4});
  EXPECT_TRUE(at::equal(plain.run(x), converted.run(x)));
}

TEST_F(ContainerTest, UnknownNameSuggestsTheNearest) {
  add("float8", wrapping("a", 1));
  try {
    make({"floot8"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::kUsage);
    EXPECT_NE(error.hint().find("float8"), std::string::npos) << error.hint();
  }
}

TEST_F(ContainerTest, FailureOfOneCreateDestroysTheOthers) {
  add("good", wrapping("a", 1));
  registry.register_model_converter(
      {"bad", "", "built in", {}}, [](const CreateContext&) -> std::unique_ptr<ModelConverter> {
        throw usage_error("this device cannot do it", "bad", "use another");
      });
  EXPECT_THROW(make({"good", "bad"}), Error);
  EXPECT_EQ(journal, (std::vector<std::string>{"good.create", "good.destroy"}));
}

TEST_F(ContainerTest, ConflictsAreFoundInBothOrdersWithTheSameWords) {
  add("one", replacing("a"));
  add("two", replacing("a", 3.0));
  const std::string forward = refusal({"one", "two"});
  EXPECT_EQ(forward, refusal({"two", "one"}));
  EXPECT_NE(forward.find("'one' and 'two'"), std::string::npos) << forward;
  EXPECT_NE(forward.find("'a'"), std::string::npos) << forward;
}

TEST_F(ContainerTest, ReplacementExcludesRecordsBelowItInBothOrders) {
  add("outer", [](Recorder& recorder) {
    recorder.replace(static_cast<size_t>(recorder.model().find("box")),
                     std::make_unique<ScaledReplacement>(1));
  });
  add("inner", wrapping("box.c", 1));
  const std::string forward = refusal({"outer", "inner"});
  EXPECT_EQ(forward, refusal({"inner", "outer"}));
  EXPECT_NE(forward.find("box.c"), std::string::npos) << forward;
}

TEST_F(ContainerTest, WrapsRunOverAReplacementWhateverTheOrder) {
  add("doubled", replacing("a", 2.0));
  add("plus", wrapping("a", 10));
  const at::Tensor x = at::rand({3, 4});
  TinyModel plain;
  model::materialize(plain, at::kCPU, 3);
  const at::Tensor weight = plain.find("a")->parameter("weight").tensor;
  const at::Tensor expected = at::matmul(x, weight.t()) * 2 + 10;
  for (const auto& names : {std::vector<std::string>{"doubled", "plus"}, {"plus", "doubled"}}) {
    TinyModel model;
    auto container = make(names);
    container->convert(model);
    model::materialize(model, at::kCPU, 3);
    model::CallContext context;
    EXPECT_TRUE(at::allclose((*model.find("a"))(context, {x}), expected));
  }
}

TEST_F(ContainerTest, TheFirstWrapIsInnermost) {
  add("plus", wrapping("a", 1));
  add("times", wrapping("a", 0, 100));
  TinyModel plain;
  model::materialize(plain, at::kCPU, 3);
  const at::Tensor x = at::rand({2, 4});
  const at::Tensor y = at::matmul(x, plain.find("a")->parameter("weight").tensor.t());
  model::CallContext context;
  TinyModel first, second;
  auto one = make({"plus", "times"});
  one->convert(first);
  model::materialize(first, at::kCPU, 3);
  EXPECT_TRUE(at::allclose((*first.find("a"))(context, {x}), (y + 1) * 100));
  auto two = make({"times", "plus"});
  two->convert(second);
  model::materialize(second, at::kCPU, 3);
  EXPECT_TRUE(at::allclose((*second.find("a"))(context, {x}), y * 100 + 1));
}

TEST_F(ContainerTest, NothingRecordedIsAnErrorThatRepeatsTheReason) {
  add("idle",
      [](Recorder& recorder) { recorder.keep(1, "in_features 4 is not a multiple of 16"); });
  const std::string text = refusal({"idle"});
  EXPECT_NE(text.find("changes nothing"), std::string::npos) << text;
  EXPECT_NE(text.find("multiple of 16"), std::string::npos) << text;
}

TEST_F(ContainerTest, FailureInTheMiddleLeavesTheModelAsItWas) {
  add("first", [](Recorder& recorder) {
    recorder.add_parameter(1, {"extra", {4}, at::kFloat, model::InitRule::constant(1)});
    recorder.replace(1, std::make_unique<ScaledReplacement>(5));
    recorder.freeze(1, "weight");
  });
  add("second", [](Recorder&) { throw usage_error("no", "second", "do not"); });
  refusal({"first", "second"});
}

TEST_F(ContainerTest, SelectorWithoutMatchNamesTheNearest) {
  add("w", wrapping("a", 1));
  TinyModel model;
  auto bad = request("w");
  bad.exclude = {"box.d"};
  ModelConvertersContainer container(registry, {bad}, DeviceFacts{});
  try {
    container.convert(model);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("'box.d'"), std::string::npos) << error.what();
    EXPECT_NE(error.hint().find("box.c"), std::string::npos) << error.hint();
  }
}

TEST_F(ContainerTest, SelectionCoversSubtreesAndIsEnforced) {
  std::vector<std::string> chosen;
  add("look", [&](Recorder& recorder) {
    chosen.clear();
    for (size_t i = 0; i < recorder.model().size(); ++i)
      if (recorder.selected(i)) chosen.push_back(recorder.model()[i].fqn);
    recorder.wrap(static_cast<size_t>(recorder.model().find("box.c")),
                  std::make_unique<AddingWrap>(1));
  });
  auto only = request("look");
  only.include = {"box"};
  TinyModel model;
  ModelConvertersContainer(registry, {only}, DeviceFacts{}).convert(model);
  EXPECT_EQ(chosen, (std::vector<std::string>{"box", "box.c"}));
  only.include = {"a"};
  TinyModel other;
  ModelConvertersContainer strict(registry, {only}, DeviceFacts{});
  EXPECT_THROW(strict.convert(other), Error);  // box.c was not selected
}

TEST_F(ContainerTest, AddedParametersAreStoredUnderTheInstanceAndLeaveStockOnesAlone) {
  add("adder", [](Recorder& recorder) {
    recorder.add_parameter(
        1, {"lora_a", {2, 4}, at::kFloat, {model::InitRule::Kind::kKaimingUniform}});
    recorder.add_buffer(1, {"amax", {3}, at::kFloat, model::InitRule::constant(0.5)});
    recorder.wrap(1, std::make_unique<AddingWrap>(1));
  });
  TinyModel plain, converted;
  auto container = make({"adder"});
  container->convert(converted);
  model::materialize(plain, at::kCPU, 11);
  model::materialize(converted, at::kCPU, 11);
  std::map<std::string, at::Tensor> before, after;
  for (const auto& named : model::named_parameters(plain))
    before[named.fqn] = named.parameter->tensor;
  for (const auto& named : model::named_parameters(converted))
    after[named.fqn] = named.parameter->tensor;
  EXPECT_EQ(after.size(), before.size() + 1);
  for (const auto& [name, tensor] : before) EXPECT_TRUE(at::equal(tensor, after.at(name))) << name;
  const at::Tensor added = after.at("adder/a.lora_a");
  EXPECT_TRUE(added.requires_grad());
  EXPECT_LE(added.abs().max().item<float>(), 0.5f);
  EXPECT_GT(added.abs().max().item<float>(), 0.0f);
  ASSERT_EQ(model::named_buffers(converted).size(), 1u);
  EXPECT_EQ(model::named_buffers(converted)[0].buffer->tensor.sum().item<float>(), 1.5f);
}

TEST_F(ContainerTest, FreezeAndTieChangeTheParameters) {
  add("freezer", [](Recorder& recorder) { recorder.freeze(0, "box.c.weight"); });
  add("tier", [](Recorder& recorder) {
    recorder.tie(static_cast<size_t>(recorder.model().find("box.c")), "weight",
                 static_cast<size_t>(recorder.model().find("a")), "weight");
  });
  TinyModel frozen;
  make({"freezer"})->convert(frozen);
  EXPECT_FALSE(frozen.find("box.c")->parameter("weight").tensor.requires_grad());
  EXPECT_TRUE(frozen.find("a")->parameter("weight").tensor.requires_grad());
  TinyModel tied;
  make({"tier"})->convert(tied);
  EXPECT_EQ(&tied.find("box.c")->parameter("weight"), &tied.find("a")->parameter("weight"));
  EXPECT_EQ(model::named_parameters(tied).size(), 2u);
}

TEST_F(ContainerTest, TiesOfDifferentShapesAreRefused) {
  add("tier", [](Recorder& recorder) {
    recorder.tie(static_cast<size_t>(recorder.model().find("b")), "weight",
                 static_cast<size_t>(recorder.model().find("a")), "weight");
  });
  EXPECT_NE(refusal({"tier"}).find("shape or type differ"), std::string::npos);
}

TEST_F(ContainerTest, HooksSeeOwnAddedTensorsOnly) {
  std::vector<std::string> seen;
  class Looker final : public ModelConverter {
   public:
    Looker(std::string name, std::vector<std::string>& seen)
        : name_(std::move(name)), seen_(seen) {}
    void convert(Recorder& recorder) override {
      recorder.add_parameter(1, {name_ + "_p", {1}, at::kFloat, model::InitRule::constant(0)});
    }
    void post_optimizer_hook(HookContext& context) override {
      for (const HookTensor& tensor : context.tensors)
        seen_.push_back(name_ + " sees " + tensor.fqn);
    }
    bool wants_post_optimizer_hook() const override { return true; }

   private:
    std::string name_;
    std::vector<std::string>& seen_;
  };
  for (const char* name : {"x", "y"})
    registry.register_model_converter(
        {name, "", "built in", {}},
        [name, &seen](const CreateContext&) { return std::make_unique<Looker>(name, seen); });
  TinyModel model;
  auto container = make({"x", "y"});
  container->convert(model);
  model::materialize(model, at::kCPU, 1);
  container->post_optimizer_hook(model, 1);
  const auto count = [&](const std::string& text) {
    return std::count(seen.begin(), seen.end(), text);
  };
  EXPECT_EQ(count("x sees a.x_p"), 1);
  EXPECT_EQ(count("y sees a.y_p"), 1);
  EXPECT_EQ(count("x sees a.weight"), 1);
  EXPECT_EQ(seen.size(), 8u);  // three stock weights and one own tensor each
}

TEST(RegistryTest, DuplicatesNameBothOriginsAndFreezeHolds) {
  Registry registry;
  registry.register_model_converter({"x", "", "/one.so", {}}, nullptr);
  try {
    registry.register_model_converter({"x", "", "/two.so", {}}, nullptr);
    FAIL();
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("/one.so"), std::string::npos);
    EXPECT_NE(text.find("/two.so"), std::string::npos);
  }
  registry.freeze();
  EXPECT_THROW(registry.register_model_converter({"y", "", "/y.so", {}}, nullptr), Error);
}

}  // namespace
}  // namespace titan::converters
