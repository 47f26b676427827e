/// Layers of the float8 plugin on the device against reference layers and against the CPU's
/// emulation.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "float8/compare.h"
#include "matrices.h"
#include "parts.h"
#include "reference.h"

namespace titan::device_check {
namespace {

using float8::Backend;
using float8::Plan;
using float8::Recipe;
using float8::recipe_name;
using float8::test::make_matrix;
using float8::test::relative_error;
using float8::test::values_of;

/// Of the largest element. A bfloat16 result is rounded once, to 8 digits; in float32 the order of
/// the sum counts.
constexpr double kOfBFloat16 = 0x1p-7, kOfFloat32 = 2e-5;
/// With fast accumulation the tensor cores keep about 14 digits of a running sum (DeepSeek-V3,
/// arXiv:2412.19437, section 3.3.2), so no element is near the exact one for sure, but the noise is
/// far below that of the casts.
constexpr double kFastSqnrDb = 40;

/// The largest error of some results, each over its tolerance.
class Errors {
 public:
  void add(const std::string& where, double error, double tolerance) {
    ++count_;
    const double share = std::isnan(error) ? INFINITY : error / tolerance;
    if (share > worst_ || count_ == 1)
      worst_ = share, at_ = where + " " + text(error) + " of " + text(tolerance);
  }
  void report(Report& report, const std::string& what, int at_least) const {
    if (count_ == 0) return;
    report.check(what, worst_ <= 1 && count_ >= at_least,
                 std::to_string(count_) + " results; the largest error: " + at_,
                 "errors within the tolerances, at least " + std::to_string(at_least) + " results");
  }

 private:
  static std::string text(double value) {
    char buffer[32];
    std::snprintf(buffer, sizeof buffer, "%.2e", value);
    return buffer;
  }
  int count_ = 0;
  double worst_ = 0;
  std::string at_;
};

LayerResult run_on_device(Platform& platform, Backend& backend, const Matrix& x, const Matrix& w,
                          const Matrix& grad_y, const float8::StoredScales& stored = {}) {
  LayerResult result = run_layer(backend, on_device(platform, x), on_device(platform, w),
                                 on_device(platform, grad_y), platform.stream(), stored);
  result.y = on_cpu(result.y), result.grad_x = on_cpu(result.grad_x),
  result.grad_w = on_cpu(result.grad_w);
  return result;
}

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](double value) { return std::isfinite(value); });
}

void reference_layers(Platform& platform, Report& report, Recipe recipe) {
  const ReferenceFile file("float8/linear_cases.safetensors");
  const Json cases = reference_json("float8/linear_cases.json");
  const Plan plan = float8::plan_of(recipe);
  const auto exact = device_backend(platform, plan, false),
             fast = device_backend(platform, plan, true);
  Errors errors;
  double least_db = INFINITY;
  int fast_results = 0;
  for (const auto& [name, facts] : cases.members()) {
    if (name.substr(0, name.find('/')) != recipe_name(recipe)) continue;
    const Matrix x = make_matrix(file[name + "/x"]), w = make_matrix(file[name + "/w"]),
                 grad = make_matrix(file[name + "/grad_output"]);
    const double tolerance = name.find("/bf16/") != std::string::npos ? kOfBFloat16 : kOfFloat32;
    const LayerResult got = run_on_device(platform, *exact, x, w, grad);
    const std::vector<double> y = file[name + "/ref64/y_nobias"].as_double();
    errors.add(name + " y", relative_error(values_of(got.y), y), tolerance);
    errors.add(name + " grad_input",
               relative_error(values_of(got.grad_x), file[name + "/ref64/grad_input"].as_double()),
               tolerance);
    errors.add(name + " grad_weight",
               relative_error(values_of(got.grad_w), file[name + "/ref64/grad_weight"].as_double()),
               tolerance);
    if (!finite(y)) continue;
    least_db =
        std::min(least_db, sqnr_db(y, values_of(run_on_device(platform, *fast, x, w, grad).y)));
    ++fast_results;
  }
  const std::string title = std::string(recipe_name(recipe)) + ", reference layers";
  errors.report(report, title, 30);
  if (fast_results > 0)
    report.check(title + " with fast accumulation", least_db >= kFastSqnrDb,
                 std::to_string(fast_results) +
                     " results; the least signal to noise: " + digits(least_db, 1) + " dB",
                 digits(kFastSqnrDb, 0) + " dB");
}

void reference_layer(Errors& errors, Platform& platform, const Plan& plan,
                     const ReferenceFile& file, const std::string& in, const std::string names[3]) {
  const LayerResult got =
      run_on_device(platform, *device_backend(platform, plan, false), make_matrix(file[in + "x"]),
                    make_matrix(file[in + "w"]), make_matrix(file[in + "grad_output"]));
  const Matrix* results[3] = {&got.y, &got.grad_x, &got.grad_w};
  for (int i = 0; i < 3; ++i)
    errors.add(names[i], relative_error(values_of(*results[i]), file[names[i]].as_double()),
               kOfBFloat16);
}

void reference_layers_of_blocks(Platform& platform, Report& report, Recipe recipe) {
  Errors errors;
  if (recipe == Recipe::kBlockwise) {
    const ReferenceFile file("float8/blockwise.safetensors");
    for (const bool power_of_two : {false, true}) {
      const std::string base = std::string("lin/") + (power_of_two ? "te/" : "torchao/");
      const std::string names[3] = {base + "y_f32", base + "grad_input_f32",
                                    base + "grad_weight_f32"};
      reference_layer(errors, platform, float8::plan_of(recipe, power_of_two), file, "lin/", names);
    }
  } else {
    const std::string base = "lin/rceil/";
    const std::string names[3] = {base + "ref64_y", base + "grad_input", base + "grad_weight"};
    reference_layer(errors, platform, float8::plan_of(recipe),
                    ReferenceFile("float8/mxfp8.safetensors"), base, names);
  }
  errors.report(report, std::string(recipe_name(recipe)) + ", reference layers", 3);
}

Matrix random_matrix(std::mt19937& random, int64_t rows, int64_t columns, ScalarType type,
                     float size) {
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(rows * columns));
  for (float& value : values) value = normal(random) * size;
  const Matrix matrix = make_matrix(values.data(), rows, columns, ScalarType::Float);
  return type == ScalarType::Float ? matrix : torch::stable::to(matrix, type);
}

/// A layer larger than the reference's, a number of tokens that fits nothing, a bias, and a
/// gradient that is added up.
void emulated_layer(Platform& platform, Report& report, Recipe recipe, ScalarType type) {
  const bool gpu = platform.is_gpu();
  const int64_t tokens = gpu ? 1003 : 41, in = gpu ? 2048 : 160, out = gpu ? 1280 : 96;
  std::mt19937 random(21);
  const Matrix x = random_matrix(random, tokens, in, type, 1),
               w = random_matrix(random, out, in, type, 0.02F);
  const Matrix grad = random_matrix(random, tokens, out, type, 1e-3F),
               sum = random_matrix(random, out, in, ScalarType::Float, 0.05F);
  const int64_t shape[1] = {out};
  const Matrix bias = torch::stable::reshape(random_matrix(random, 1, out, type, 1), {shape, 1});
  const Plan plan = float8::plan_of(recipe);
  const auto run = [&](Backend& backend, const std::function<Matrix(const Matrix&)>& place,
                       void* stream) {
    const Matrix start = place(sum);
    const Matrix one =
        recipe == Recipe::kDelayed
            ? place(make_matrix(std::vector<float>{0}.data(), 1, 1, ScalarType::Float))
            : start;
    float8::StoredScales stored;
    if (recipe == Recipe::kDelayed) stored = {one, one, one};
    float8::ForwardCall call{place(x), place(w), place(bias), stored};
    call.needs_x = call.needs_w = true;
    call.stream = stream;
    const float8::Forward forward = backend.forward(call);
    float8::BackwardCall back{place(grad), forward.kept, stored};
    back.in_features = in;
    back.needs_x = back.needs_w = back.needs_bias = back.float32_w = true;
    back.stream = stream;
    const float8::Backward first = backend.backward(back);
    back.accumulate_w = start;
    const float8::Backward second = backend.backward(back);
    // Either it was added in place, or the caller is to add it.
    std::vector<double> added = values_of(on_cpu(start));
    if (second.w) {
      const std::vector<double> apart = values_of(on_cpu(*second.w));
      for (size_t i = 0; i < added.size(); ++i) added[i] += apart[i];
    }
    return std::vector<std::vector<double>>{
        values_of(on_cpu(forward.y)), values_of(on_cpu(*first.x)), values_of(on_cpu(*first.w)),
        values_of(on_cpu(*first.bias)), added};
  };
  const auto exact = device_backend(platform, plan, false);
  const auto got = run(
      *exact, [&](const Matrix& a) { return on_device(platform, a); }, platform.stream());
  const auto expected = run(
      *float8::make_emulate_backend(plan), [](const Matrix& a) { return torch::stable::clone(a); },
      nullptr);
  const char* names[] = {"y", "grad_input", "grad_weight in float32", "grad_bias",
                         "grad_weight added up"};
  Errors errors;
  // What leaves in float32 shows how the tensor cores add up: with about 14 digits within 128
  // elements, where the emulation has 24.
  for (size_t i = 0; i < expected.size(); ++i) {
    const bool in_float32 = type == ScalarType::Float || i == 2 || i == 4;
    errors.add(names[i], relative_error(got[i], expected[i]), in_float32 ? 0x1p-10 : kOfBFloat16);
  }
  errors.report(report,
                std::string(recipe_name(recipe)) +
                    (type == ScalarType::Float ? ", float32" : ", bfloat16") + ", " +
                    std::to_string(tokens) + " x " + std::to_string(in) + " to " +
                    std::to_string(out) + " as emulated",
                5);
}

/// How much of a long sum is lost, with fast accumulation and without.
void long_sum(Platform& platform, Report& report) {
  const int64_t length = platform.is_gpu() ? 16384 : 512, side = platform.is_gpu() ? 256 : 32;
  std::mt19937 random(22);
  const Matrix x = random_matrix(random, side, length, ScalarType::Float, 1),
               w = random_matrix(random, side, length, ScalarType::Float, 1);
  const Plan plan = float8::plan_of(Recipe::kTensorwise);
  const std::vector<double> exact =
      values_of(float8::make_emulate_backend(plan)->forward({x, w}).y);
  for (const bool fast : {false, true}) {
    const auto backend = device_backend(platform, plan, fast);
    float8::ForwardCall call{on_device(platform, x), on_device(platform, w)};
    call.stream = platform.stream();
    const double db = sqnr_db(exact, values_of(on_cpu(backend->forward(call).y)));
    report.measured("long_sum_sqnr_db")[fast ? "fast" : "not_fast"] = db;
    report.check("a sum over " + std::to_string(length) + (fast ? " with fast accumulation" : ""),
                 db >= kFastSqnrDb, digits(db, 1) + " dB", digits(kFastSqnrDb, 0) + " dB");
  }
}

/// The walk of the reference: scales and histories after every step.
void reference_walk(Platform& platform, Report& report) {
  const ReferenceFile file("float8/delayed.safetensors");
  const Json data = reference_json("float8/delayed.json");
  int compared = 0;
  std::string first_wrong;
  for (const auto& [name, config] : data.at("configs").members()) {
    Plan plan = float8::plan_of(Recipe::kDelayed);
    plan.dx.left.format = plan.dw.left.format =
        config.at("grad_fmt").text() == "e4m3" ? float8::Format::kE4M3 : float8::Format::kE5M2;
    const auto backend = device_backend(platform, plan, false);
    DelayedLayer layer(platform, plan, config.at("L").integer());
    layer.options.margin = config.at("margin").integer();
    layer.options.algorithm = config.at("algo").text() == "max"
                                  ? float8::AmaxAlgorithm::kMax
                                  : float8::AmaxAlgorithm::kMostRecent;
    // The reference starts from a scale of 1, where this plugin takes the first tensor's own.
    for (auto& state : layer.states) state.scale = number_on_device(platform, 1);
    for (const Json& row : config.at("rows").items()) {
      const std::string step = std::to_string(row.at("step").integer()), in = "in/" + step + "/";
      const LayerResult got = run_on_device(platform, *backend, make_matrix(file[in + "x"]),
                                            make_matrix(file[in + "w"]),
                                            make_matrix(file[in + "grad_output"]), layer.stored());
      layer.update(*backend, got, platform.stream());
      const char* keys[3] = {"x", "w", "g"};
      for (size_t i = 0; i < 3; ++i) {
        const auto wrong = [&](const std::string& what) {
          if (first_wrong.empty())
            first_wrong = name + ", step " + step + ", " + keys[i] + ": " + what;
        };
        const Json& guarded = row.at("guarded");
        const std::vector<double> scale = values_of(on_cpu(layer.states[i].scale)),
                                  history = values_of(on_cpu(layer.states[i].history));
        if (static_cast<float>(scale[0]) !=
            static_cast<float>(guarded.at("scale_next").at(keys[i]).number()))
          wrong("scale " + digits(scale[0], 6));
        const Json& next = guarded.at("history_next").at(keys[i]);
        const std::vector<double> expected = (next.is_array() ? next : next.at("last8")).numbers();
        for (size_t j = 0; j < expected.size(); ++j)
          if (static_cast<float>(history[history.size() - expected.size() + j]) !=
              static_cast<float>(expected[j]))
            wrong("history");
        if (history[0] != 0) wrong("slot 0 of the history is not empty");
        compared += 2;
      }
    }
  }
  report.check("delayed, reference walk", first_wrong.empty() && compared >= 100,
               first_wrong.empty()
                   ? std::to_string(compared) + " scales and histories, the same bits"
                   : first_wrong,
               "the same bits in at least 100 scales and histories");
}

/// The same layer on the device and on the CPU: the state after a first step is the same to the
/// bit.
void first_state(Platform& platform, Report& report) {
  std::mt19937 random(23);
  const int64_t tokens = 96, in = 256, out = 128;
  const Plan plan = float8::plan_of(Recipe::kDelayed);
  const Matrix x = random_matrix(random, tokens, in, ScalarType::BFloat16, 1),
               w = random_matrix(random, out, in, ScalarType::BFloat16, 0.02F);
  const Matrix grad = random_matrix(random, tokens, out, ScalarType::BFloat16, 1e-3F);
  const auto backend = device_backend(platform, plan, false),
             emulated = float8::make_emulate_backend(plan);
  DelayedLayer layer(platform, plan, 16);
  layer.update(*backend, run_on_device(platform, *backend, x, w, grad, layer.stored()),
               platform.stream());
  std::vector<std::vector<double>> cpu;
  std::vector<float8::DelayedState> states;
  for (size_t i = 0; i < 3; ++i) {
    const std::vector<float> zeros(16, 0.0F);
    states.push_back({make_matrix(zeros.data(), 1, 16, ScalarType::Float),
                      make_matrix(zeros.data(), 1, 1, ScalarType::Float), layer.states[i].format});
  }
  const LayerResult step = run_layer(*emulated, x, w, grad, nullptr,
                                     {states[0].scale, states[1].scale, states[2].scale});
  emulated->stage({{states[0].history, *step.amax_x}, {states[1].history, *step.amax_w}}, nullptr);
  emulated->stage({{states[2].history, *step.amax_grad_y}}, nullptr);
  emulated->update(states, layer.options, nullptr);
  bool same = true;
  std::string scales;
  for (size_t i = 0; i < 3; ++i) {
    const auto got = values_of(on_cpu(layer.states[i].scale)),
               expected = values_of(states[i].scale);
    same = same && got == expected &&
           values_of(on_cpu(layer.states[i].history)) == values_of(states[i].history) &&
           expected[0] != 0;
    scales += (i ? ", " : "scales ") + digits(got[0], 3) + " (" + digits(expected[0], 3) + ")";
  }
  report.check("delayed, the state after the first step", same, scales,
               "the CPU's bits, in brackets");
}

}  // namespace

void check_layers(Platform& platform, Report& report) {
  report.begin("layers");
  for (const Recipe recipe : recipes_of(platform, &report)) {
    const std::string name(recipe_name(recipe));
    if (!report.has_time_for("layers of " + name, 4)) continue;
    try {
      if (recipe == Recipe::kBlockwise || recipe == Recipe::kMxfp8)
        reference_layers_of_blocks(platform, report, recipe);
      else if (recipe != Recipe::kDelayed)
        reference_layers(platform, report, recipe);
      for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
        emulated_layer(platform, report, recipe, type);
      if (recipe == Recipe::kTensorwise) long_sum(platform, report);
      if (recipe == Recipe::kDelayed) {
        reference_walk(platform, report);
        first_state(platform, report);
      }
    } catch (const std::exception& error) {
      report.check(name + ", layers", false, error.what(), "no error");
    }
  }
}

}  // namespace titan::device_check
