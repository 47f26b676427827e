/// Forward and backward of a linear layer in each recipe: time, gain over bfloat16, and the model's
/// prediction.
#include <algorithm>
#include <titan/torch.hpp>

#include "matrices.h"
#include "parts.h"
#include "roofline.h"

namespace titan::device_check {
namespace {

using float8::Recipe;
using float8::device::Operand;
using float8::device::quantise;
using titan::sdk::torch_op;

/// y [tokens, out] = x [tokens, in] w^T.
struct Shape {
  int64_t tokens, in, out;
  std::string text() const {
    return std::to_string(tokens) + " x " + std::to_string(in) + " x " + std::to_string(out);
  }
  double elements() const { return static_cast<double>(tokens * in + out * in + tokens * out); }
  double operations() const {
    return 6.0 * static_cast<double>(tokens) * static_cast<double>(in) * static_cast<double>(out);
  }
};
const std::vector<Shape>& shapes(const Platform& platform) {
  static const std::vector<Shape> large = {{2048, 2048, 2048}, {4096, 4096, 4096},
                                           {8192, 4096, 4096}, {8192, 4096, 14336},
                                           {8192, 8192, 8192}, {16384, 8192, 28672}};
  static const std::vector<Shape> tiny = {{32, 64, 32}, {33, 32, 64}};
  return platform.is_gpu() ? large : tiny;
}

/// Times of one thing: as torch runs it, and recorded, without the CPU's part.
struct Times {
  std::vector<double> eager, recorded;
  std::string not_recorded;  ///< why
  /// Of the device alone, where it could be recorded.
  double device_ms() const { return median(recorded.empty() ? eager : recorded); }
};

class LayerTable {
 public:
  LayerTable(Platform& platform, Report& report, const Shape& shape)
      : platform_(platform),
        report_(report),
        shape_(shape),
        x_(random_on_device(platform, shape.tokens, shape.in, ScalarType::BFloat16)),
        w_(random_on_device(platform, shape.out, shape.in, ScalarType::BFloat16, 0.02)),
        grad_(random_on_device(platform, shape.tokens, shape.out, ScalarType::BFloat16, 1e-3)) {}

  void measure() {
    bfloat16_ = time([&] {
      torch_product(x_, w_);
      torch_op("aten::mm", "", grad_, w_);
      torch_op("aten::mm", "", torch::stable::transpose(grad_, 0, 1), x_);
    });
    note("bfloat16", bfloat16_);
    for (const Recipe recipe : recipes_of(platform_)) measure_recipe(recipe);
    measure_torch(Recipe::kTensorwise);
    // torch's product on a CPU knows one scale a tensor.
    if (platform_.is_gpu() && has_vector_scales(platform_)) measure_torch(Recipe::kRowwise);
  }

 private:
  Times time(const std::function<void()>& work) {
    Times times;
    const Repetition repetition{5, 20, 50};
    times.eager = platform_.time(work, repetition);
    try {
      const auto recording = platform_.record(work);
      times.recorded = platform_.time([&] { recording->replay(); }, repetition);
    } catch (const std::exception& error) {
      times.not_recorded = error.what();
    }
    return times;
  }

  Json& note(const std::string& name, const Times& times) {
    Json& entry = report_.measured("layers").push(Json::object());
    entry["tokens"] = shape_.tokens;
    entry["in"] = shape_.in;
    entry["out"] = shape_.out;
    entry["how"] = name;
    entry["eager_ms"] = times.eager;
    entry["recorded_ms"] = times.recorded;
    if (!times.not_recorded.empty()) entry["not_recorded"] = times.not_recorded;
    entry["speedup_eager"] = median(bfloat16_.eager) / median(times.eager);
    entry["speedup"] = bfloat16_.device_ms() / times.device_ms();
    entry["tflops"] = shape_.operations() / (times.device_ms() * 1e9);
    return entry;
  }

  void measure_recipe(Recipe recipe) {
    const std::string name(recipe_name(recipe));
    const float8::Plan plan = float8::plan_of(recipe);
    const auto backend = device_backend(platform_, plan, true);
    DelayedLayer layer(platform_, plan, 1024);
    const bool delayed = recipe == Recipe::kDelayed;
    // Without a memory of the weight: it is quantised in each run, as in each step of training.
    const Times times = time([&] {
      const LayerResult result = run_layer(*backend, x_, w_, grad_, platform_.stream(),
                                           delayed ? layer.stored() : float8::StoredScales{});
      if (delayed) layer.update(*backend, result, platform_.stream());
    });
    const double predicted =
        float8::predict_linear(recipe, shape_.tokens, shape_.in, shape_.out).speedup();
    Json& entry = note(name, times);
    const double speedup = entry.at("speedup").number();
    entry["predicted_speedup"] = predicted;
    entry["measured_over_predicted"] = speedup / predicted;
    report_.say("  measured         " + shape_.text() + " " + name + ": " +
                digits(times.device_ms(), 3) + " ms, " + digits(speedup, 2) +
                " x bfloat16 (eager " + digits(entry.at("speedup_eager").number(), 2) +
                " x), predicted " + digits(predicted, 2) + " x, measured / predicted " +
                digits(speedup / predicted, 2));
  }

  /// The three products alone through aten::_scaled_mm, of operands that are quantised already.
  void measure_torch(Recipe recipe) {
    const std::string name =
        "aten::_scaled_mm " + std::string(recipe_name(recipe)) + ", products alone";
    const float8::Plan plan = float8::plan_of(recipe);
    // Tokens have to be a multiple of 16: the shapes of the table are, and others are padded as the
    // backend does it.
    const int64_t padded = float8::device::round_up(shape_.tokens, 16);
    const auto cast = [&](const Matrix& a, const float8::Cast& how, int64_t rows) {
      return quantise(a, {how, how, std::nullopt, false, rows, platform_.stream()});
    };
    const auto x = cast(x_, plan.y.left, padded), w = cast(w_, plan.y.right, shape_.out),
               grad = cast(grad_, plan.dx.left, padded);
    const auto product = [&](const Operand& left, const Operand& right, bool fast) {
      const auto as_fp8 = [](const Operand& operand) {
        return torch_op("aten::view", "dtype", operand.bytes,
                        operand.format == float8::Format::kE4M3 ? ScalarType::Float8_e4m3fn
                                                                : ScalarType::Float8_e5m2);
      };
      const bool rows = left.granularity == float8::Granularity::kVector;
      const auto scales = [&](const Operand& operand, int64_t height, int64_t width) {
        const int64_t size[2] = {height, width};
        return rows ? torch::stable::reshape(operand.scales, {size, 2}) : operand.scales;
      };
      torch_op("aten::_scaled_mm", "", as_fp8(left), torch::stable::transpose(as_fp8(right), 0, 1),
               scales(left, left.bytes.size(0), 1), scales(right, 1, right.bytes.size(0)),
               std::nullopt, std::nullopt, std::optional<ScalarType>(ScalarType::BFloat16), fast);
    };
    try {
      const Times times = time([&] {
        product(*x.rows, *w.rows, true);
        product(*grad.rows, *w.columns, false);
        product(*grad.columns, *x.columns, false);
      });
      const double speedup = note(name, times).at("speedup").number();
      report_.say("  measured         " + shape_.text() + " " + name + ": " +
                  digits(times.device_ms(), 3) + " ms, " + digits(speedup, 2) + " x bfloat16");
    } catch (const std::exception& error) {
      report_.leave_out(shape_.text() + " " + name, error.what());
    }
  }

  Platform& platform_;
  Report& report_;
  Shape shape_;
  Matrix x_, w_, grad_;
  Times bfloat16_;
};

}  // namespace

void measure_layers(Platform& platform, Report& report) {
  report.begin("speed of layers");
  report.measured("prediction") = std::string(float8::kRooflineBasis);
  const double rate = report.facts().at("bfloat16_tflops").number() * 1e12;
  for (const Shape& shape : shapes(platform)) {
    // Operands, gradients and results in bfloat16, and two layouts of each in fp8.
    const double bytes = 8 * shape.elements();
    if (platform.is_gpu() && bytes > 0.8 * static_cast<double>(platform.facts().memory_bytes)) {
      report.leave_out(shape.text(), "needs " + digits(bytes / 1e9, 0) + " GB of memory");
      continue;
    }
    // Eight ways, each twice, in five samples of at least one run and some to warm up.
    const double seconds = platform.is_gpu() ? 8 * 2 * (0.12 + 9 * shape.operations() / rate) : 1;
    if (!report.has_time_for("layers of " + shape.text(), seconds)) continue;
    try {
      LayerTable(platform, report, shape).measure();
    } catch (const std::exception& error) {
      report.check(shape.text(), false, error.what(), "no error");
    }
    report.write();
  }
}

}  // namespace titan::device_check
