/// Texts: the same with and without cache, in any batch, and how they end.
#include "generate/text_generator.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <map>

#include "model/flavors.h"
#include "model/transformer.h"
#include "support/expect_error.h"

namespace titan::generate {
namespace {

using test::expect_error;

std::unique_ptr<model::Transformer> small_model(int64_t max_seq_len = 64) {
  model::ModelArgs args = model::llama3_flavors().front().args;
  args.n_layers = 2;
  args.vocab_size = 320;  // more than the tokenizer has
  args.max_seq_len = max_seq_len;
  auto made = std::make_unique<model::Transformer>(args, at::kFloat);
  model::materialize(*made, at::kCPU, 11);
  return made;
}

const data::ByteTokenizer kBytes;

std::vector<int64_t> ids_of(const std::string& text) {
  std::vector<int64_t> ids = {data::ByteTokenizer::kBos};
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  return ids;
}

std::vector<Completion> write(model::Module& model, const std::vector<std::string>& prompts,
                              const GenerationOptions& options, const OnText& on_text = {},
                              const std::function<bool()>& stopped = {}) {
  std::vector<std::vector<int64_t>> ids;
  for (const std::string& prompt : prompts) ids.push_back(ids_of(prompt));
  return generate(model, {}, at::kCPU, kBytes, ids, options, on_text, stopped);
}

GenerationOptions options_of(int64_t tokens) {
  GenerationOptions options;
  options.max_new_tokens = tokens;
  options.stop_at_eos = false;
  return options;
}

TEST(TextGenerator, TextsDependOnNeitherCacheNorBatch) {
  const auto model = small_model();
  const std::vector<std::string> prompts = {"a", "some longer prompt", "", "four"};
  GenerationOptions options = options_of(12);
  const auto cached = write(*model, prompts, options);
  options.use_cache = false;
  const auto whole = write(*model, prompts, options);
  options.use_cache = true;
  options.batch_size = 1;
  const auto alone = write(*model, prompts, options);
  options.batch_size = 3;
  const auto threes = write(*model, prompts, options);
  ASSERT_EQ(cached.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(cached[i].ids.size(), 12u);
    EXPECT_EQ(cached[i].finish, Finish::kLength);
    EXPECT_EQ(cached[i].ids, whole[i].ids) << i;
    EXPECT_EQ(cached[i].ids, alone[i].ids) << i;
    EXPECT_EQ(cached[i].ids, threes[i].ids) << i;
    for (const int64_t id : cached[i].ids) EXPECT_LT(id, kBytes.vocab_size());
  }
  EXPECT_NE(cached[0].ids, cached[3].ids);
}

TEST(TextGenerator, SeedDecides) {
  const auto model = small_model();
  GenerationOptions options = options_of(10);
  const auto first = write(*model, {"x", "x"}, options);
  EXPECT_EQ(write(*model, {"x", "x"}, options)[0].ids, first[0].ids);
  EXPECT_NE(first[0].ids, first[1].ids);  // every text draws its own numbers
  options.sampling.seed = 1;
  EXPECT_NE(write(*model, {"x"}, options)[0].ids, first[0].ids);
  options.sampling.temperature = 0;
  const auto greedy = write(*model, {"x", "x"}, options);
  EXPECT_EQ(greedy[0].ids, greedy[1].ids);
}

TEST(TextGenerator, PiecesArriveWholeAndMakeTheText) {
  const auto model = small_model();
  std::map<int64_t, std::string> told;
  const auto texts =
      write(*model, {"ab", "c"}, options_of(30), [&](int64_t index, const std::string& piece) {
        EXPECT_FALSE(piece.empty());
        told[index] += piece;
      });
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(told[i], texts[i].text);
    EXPECT_EQ(texts[i].ids.size(), 30u);
  }
}

TEST(TextGenerator, EndsAtStopStringsAndAtTheEndToken) {
  const auto model = small_model();
  const auto free = write(*model, {"begin"}, options_of(40));
  // Any character that it wrote alone will do as a stop string.
  const std::string stop = free[0].text.substr(free[0].text.size() / 2, 1);
  GenerationOptions options = options_of(40);
  options.stop = {stop};
  if (static_cast<unsigned char>(stop[0]) < 0x80) {
    const auto stopped = write(*model, {"begin"}, options);
    EXPECT_EQ(stopped[0].finish, Finish::kStop);
    EXPECT_EQ(stopped[0].text, free[0].text.substr(0, free[0].text.find(stop)));
    EXPECT_LT(stopped[0].ids.size(), 40u);
  }
  // A head that says nothing but EOS.
  const at::NoGradGuard no_grad;
  model->find("output")->parameter("weight").tensor.zero_();
  const auto norm = model->find("norm")->parameter("weight").tensor;
  model->find("output")->parameter("weight").tensor[data::ByteTokenizer::kEos].fill_(1.0);
  GenerationOptions greedy = options_of(5);
  greedy.sampling.temperature = 0;
  norm.fill_(0.0);  // all logits 0: id 0 is the first
  EXPECT_EQ(write(*model, {"x"}, greedy)[0].ids, std::vector<int64_t>(5, 0));
  greedy.stop_at_eos = true;
  greedy.sampling.temperature = 1;
  greedy.max_new_tokens = 60;
  const auto drawn = write(*model, std::vector<std::string>(32, ""), greedy);
  int64_t ended = 0;
  for (const Completion& text : drawn)
    if (text.finish == Finish::kEos) {
      ++ended;
      EXPECT_EQ(text.ids.back(), data::ByteTokenizer::kEos);
    }
  EXPECT_GT(ended, 0);  // 60 draws of 259: each ends with probability 0.2
  EXPECT_LT(ended, 32);
}

TEST(TextGenerator, EndsWhereTheModelEnds) {
  const auto model = small_model(16);
  GenerationOptions options = options_of(100);
  for (const bool cache : {true, false}) {
    options.use_cache = cache;
    const auto text = write(*model, {"abc"}, options);  // 4 tokens with BOS
    EXPECT_EQ(text[0].finish, Finish::kContext);
    EXPECT_EQ(text[0].ids.size(), 13u);  // the last one is written, not read
  }
  expect_error(ExitStatus::kUsage, {"prompt 2", "17", "16"}, [&] {
    write(*model, {"a", std::string(16, 'b')}, options);
  });
  expect_error(ExitStatus::kUsage, {"prompt 1", "no tokens"},
               [&] { generate(*model, {}, at::kCPU, kBytes, {{}}, options); });
}

TEST(TextGenerator, LeavesRandomGeneratorsAndGradientsAlone) {
  const auto model = small_model();
  at::manual_seed(5);
  const at::Tensor expected = at::rand({4});
  at::manual_seed(5);
  write(*model, {"a"}, options_of(3));
  EXPECT_TRUE(at::equal(at::rand({4}), expected));
  for (const auto& named : model::named_parameters(*model))
    EXPECT_FALSE(named.parameter->tensor.grad().defined());
}

TEST(TextGenerator, StopsWhenAsked) {
  const auto model = small_model();
  int asked = 0;
  const auto texts = write(*model, {"a", "b"}, options_of(50), {}, [&] { return ++asked > 3; });
  ASSERT_EQ(texts.size(), 2u);
  EXPECT_EQ(texts[0].ids.size(), 3u);
  EXPECT_EQ(texts[1].finish, Finish::kInterrupted);
}

}  // namespace
}  // namespace titan::generate
