/// Recipe delayed against the reference walks: scales and histories step by step, and the layer's
/// numbers.
#include "delayed.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <limits>
#include <nlohmann/json.hpp>

#include "cpu_cast.h"
#include "support.h"
#if defined(FLOAT8_TEST_DEVICE)
#include "device_double.h"
#endif

namespace float8::test {
namespace {

using Json = nlohmann::json;

DelayedOptions options_of(const Json& config) {
  DelayedOptions options;
  options.history_length = config.at("L").get<int64_t>();
  options.margin = config.at("margin").get<int64_t>();
  options.algorithm = config.at("algo") == "max" ? AmaxAlgorithm::kMax : AmaxAlgorithm::kMostRecent;
  return options;
}

struct NamedBackend {
  std::string name;
  std::unique_ptr<Backend> backend;
};
/// What computes recipe delayed: both must move its state alike.
std::vector<NamedBackend> backends(const Plan& plan) {
  std::vector<NamedBackend> list;
  list.push_back({"emulated ", make_emulate_backend(plan)});
#if defined(FLOAT8_TEST_DEVICE)
  list.push_back({"device ", make_device_backend(plan)});
#endif
  return list;
}

Matrix one(float value) { return make_matrix(&value, 1, 1, ScalarType::Float); }

/// The state of one tensor, driven by hand.
struct State {
  std::vector<float> history;
  float scale = 1;
};

TEST(Delayed, ReferenceSteps) {
  const GoldenFile file("float8/delayed.safetensors");
  const Json data = titan::test::golden_json("float8/delayed.json");
  for (const auto& [name, config] : data.at("configs").items()) {
    const DelayedOptions options = options_of(config);
    const Format gradients = config.at("grad_fmt") == "e4m3" ? Format::kE4M3 : Format::kE5M2;
    Plan plan = plan_of(Recipe::kDelayed);
    plan.dx.left.format = plan.dw.left.format = gradients;
    for (const auto& [backend_name, backend] : backends(plan)) {
      State states[3];
      for (State& state : states)
        state.history.assign(static_cast<size_t>(options.history_length), 0.0F);
      const char* keys[3] = {"x", "w", "g"};
      for (const auto& row : config.at("rows")) {
        const int step = row.at("step").get<int>();
        const auto& guarded = row.at("guarded");
        const std::string in = "in/" + std::to_string(step) + "/",
                          out = name + "/" + std::to_string(step) + "/";
        const std::string where = backend_name + out;
        const Matrix x = make_matrix(file[in + "x"]), w = make_matrix(file[in + "w"]),
                     grad = make_matrix(file[in + "grad_output"]);
        for (int i = 0; i < 3; ++i)
          EXPECT_EQ(states[i].scale, guarded.at("scale_used").at(keys[i]).get<float>())
              << where << keys[i];
        const StoredScales stored{one(states[0].scale), one(states[1].scale), one(states[2].scale)};
        ForwardCall forward_with = forward_call(x, w);
        forward_with.stored = stored;
        const Forward forward = backend->forward(forward_with);
        BackwardCall backward_with = backward_call(grad, forward, x.size(1));
        backward_with.stored = stored;
        const Backward backward = backend->backward(backward_with);
        const auto value = [](const Matrix& a) {
          return *static_cast<const float*>(a.const_data_ptr());
        };
        const float amax[3] = {value(*forward.amax_x), value(*forward.amax_w),
                               value(*backward.amax)};
        // The reference keeps an infinity finite and passes a NaN of a gradient on; here both
        // poison the tensor.
        const bool finite = std::isfinite(find_amax(x)) && std::isfinite(find_amax(grad));
        // Its bytes and products come from the variant whose history took the infinity in: the same
        // while the scales are.
        const bool same_scales = row.at("fused").at("scale_used") == guarded.at("scale_used");
        if (finite && !same_scales) {
          EXPECT_GT(step, 4) << where;
        } else if (finite) {
          EXPECT_LE(relative_error(values_of(forward.y), file[out + "y"].as_double()), 0x1p-7)
              << where;
          EXPECT_LE(relative_error(values_of(*backward.x), file[out + "grad_input"].as_double()),
                    0x1p-7)
              << where;
          EXPECT_LE(relative_error(values_of(*backward.w), file[out + "grad_weight"].as_double()),
                    0x1p-7)
              << where;
          const Cast e4m3{Granularity::kTensor, Format::kE4M3, ScaleRule::kExact};
          const auto bytes = [&](const Matrix& a, Format format, float scale) {
            const Matrix cast = cast_to_bytes(a, {Granularity::kTensor, format, ScaleRule::kExact},
                                              Along::kColumns, one(scale));
            const auto* data = static_cast<const uint8_t*>(cast.const_data_ptr());
            return std::vector<uint8_t>(data, data + cast.numel());
          };
          EXPECT_EQ(difference(e4m3.format, bytes(x, e4m3.format, states[0].scale),
                               file[out + "x_fp8"].as<uint8_t>()),
                    "")
              << where;
          EXPECT_EQ(difference(e4m3.format, bytes(w, e4m3.format, states[1].scale),
                               file[out + "w_fp8"].as<uint8_t>()),
                    "")
              << where;
          EXPECT_EQ(difference(gradients, bytes(grad, gradients, states[2].scale),
                               file[out + "g_fp8"].as<uint8_t>()),
                    "")
              << where;
        } else {
          EXPECT_EQ(count_nan(values_of(forward.y)), forward.y.numel()) << where;
          EXPECT_EQ(count_nan(values_of(*backward.x)), backward.x->numel()) << where;
        }
        for (int i = 0; i < 3; ++i) {
          EXPECT_EQ(amax[i], guarded.at("amax_seen").at(keys[i]).get<float>()) << where << keys[i];
          Matrix history =
              make_matrix(states[i].history.data(), 1, options.history_length, ScalarType::Float);
          Matrix scale = one(states[i].scale);
          backend->stage({{history, one(amax[i])}}, nullptr);
          backend->stage({{history, one(amax[i] / 2)}}, nullptr);  // another micro-batch, smaller
          backend->update({{history, scale, i == 2 ? gradients : Format::kE4M3}}, options, nullptr);
          const auto* moved = static_cast<const float*>(history.const_data_ptr());
          states[i].history.assign(moved, moved + options.history_length);
          states[i].scale = value(scale);
          EXPECT_EQ(states[i].scale, guarded.at("scale_next").at(keys[i]).get<float>())
              << where << keys[i];
          const auto& next = guarded.at("history_next").at(keys[i]);
          const auto expected =
              (next.is_array() ? next : next.at("last8")).get<std::vector<float>>();
          ASSERT_LE(expected.size(), states[i].history.size());
          const std::vector<float> tail(
              states[i].history.end() - static_cast<std::ptrdiff_t>(expected.size()),
              states[i].history.end());
          EXPECT_EQ(tail, expected) << where << keys[i];
          EXPECT_EQ(states[i].history[0], 0.0F);
        }
      }
    }
  }
}

TEST(Delayed, ReferenceWalk) {
  const Json walk = titan::test::golden_json("float8/delayed.json").at("scalar_walk_len3_max_e4m3");
  State state{{0, 0, 0}, 1};
  DelayedOptions options;
  options.history_length = 3;
  for (const auto& step : walk) {
    EXPECT_EQ(state.scale, step.at("scale_used").get<float>());
    state.history[0] = step.at("amax").get<float>();
    update_delayed(state.history.data(), &state.scale, Format::kE4M3, options);
    EXPECT_EQ(state.scale, step.at("scale_next").get<float>());
    EXPECT_EQ(state.history, step.at("history_next").get<std::vector<float>>());
  }
}

TEST(Delayed, NothingThatIsNotFiniteEntersAHistory) {
  for (const float amax : {0.0F, INFINITY, -INFINITY, NAN, -1.0F}) {
    State state{{amax, 2, 3}, 7};
    DelayedOptions options;
    options.history_length = 3;
    update_delayed(state.history.data(), &state.scale, Format::kE4M3, options);
    EXPECT_EQ(state.history, (std::vector<float>{0, 2, 3})) << amax;
    EXPECT_EQ(state.scale, 7);
  }
  State tiny{{std::numeric_limits<float>::denorm_min()}, 7};
  DelayedOptions options;
  options.history_length = 1;
  update_delayed(tiny.history.data(), &tiny.scale, Format::kE5M2, options);
  EXPECT_EQ(tiny.scale, FLT_MAX);
}

TEST(Delayed, TheFirstTensorDecidesWhereThereIsNoScaleYet) {
  const GoldenFile file("float8/delayed.safetensors");
  const Matrix x = make_matrix(file["in/0/x"]), w = make_matrix(file["in/0/w"]),
               grad = make_matrix(file["in/0/grad_output"]);
  const auto dynamic = make_emulate_backend();
  for (const auto& [name, delayed] : backends(plan_of(Recipe::kDelayed))) {
    ForwardCall call = forward_call(x, w);
    call.stored = {one(0), one(0), one(0)};
    const Forward first = delayed->forward(call), same = dynamic->forward(forward_call(x, w));
    EXPECT_LE(relative_error(values_of(first.y), values_of(same.y)), 1e-6) << name;
    BackwardCall back = backward_call(grad, first, x.size(1));
    back.stored = call.stored;
    EXPECT_LE(relative_error(values_of(*delayed->backward(back).w),
                             values_of(*dynamic->backward(backward_call(grad, same, x.size(1))).w)),
              1e-6)
        << name;
  }
}

TEST(Delayed, AWeightIsCastWithOneScaleInAllMicroBatches) {
  const GoldenFile file("float8/delayed.safetensors");
  const Json facts = titan::test::golden_json("float8/delayed.json").at("cached_weight");
  const Matrix x = make_matrix(file["in/0/x"]), w = make_matrix(file["in/0/w"]);
  ForwardCall call = forward_call(x, w);
  call.stored = {one(1), one(facts.at("scale_at_cast").get<float>()), one(1)};
  for (const auto& [name, backend] : backends(plan_of(Recipe::kDelayed))) {
    const Matrix first = backend->forward(call).y;
    EXPECT_EQ(values_of(backend->forward(call).y), values_of(first)) << name;
    ForwardCall other = call;
    other.stored.w = one(facts.at("scale_at_cast").get<float>() * 64);
    EXPECT_NE(values_of(backend->forward(other).y), values_of(first)) << name;
  }
}

/// Its version stays while its scale moves: what is remembered must not differ from what a resumed
/// run casts.
TEST(Delayed, AFrozenWeightFollowsItsScale) {
  const GoldenFile file("float8/delayed.safetensors");
  const Matrix x = make_matrix(file["in/0/x"]), w = make_matrix(file["in/0/w"]);
  DelayedOptions options;
  options.history_length = 2;
  options.margin = 12;
  for (const auto& [name, backend] : backends(plan_of(Recipe::kDelayed))) {
    const auto memory = backend->make_memory();
    ForwardCall call{x, w};
    call.memory = memory.get();
    call.stored = {one(0), one(0), one(0)};
    const Forward first = backend->forward(call);
    const float empty[2] = {};
    Matrix history = make_matrix(empty, 1, 2, ScalarType::Float);
    backend->stage({{history, *first.amax_w}}, nullptr);
    Matrix scale = *call.stored.w;
    backend->update({{history, scale, Format::kE4M3}}, options, nullptr);
    const Matrix later = backend->forward(call).y;
    call.memory = nullptr;
    EXPECT_EQ(values_of(later), values_of(backend->forward(call).y)) << name;
    EXPECT_NE(values_of(later), values_of(first.y)) << name;
  }
}

}  // namespace
}  // namespace float8::test
