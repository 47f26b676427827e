/// How fast products and casts are by themselves, against what the device was seen to reach.
#include <algorithm>
#include <functional>
#include <titan/torch.hpp>

#include "cuda/gemm.h"
#include "float8/cast_reference.h"
#include "matrices.h"
#include "parts.h"
#include "recipes.h"

namespace titan::device_check {
namespace {

using float8::Cast;
using float8::Format;
using float8::Granularity;
using float8::device::CastArguments;
using float8::device::CastRequest;
using float8::device::Operand;
using float8::device::quantise;
using float8::device::ScaleMode;
using titan::sdk::torch_op;

// What is asked of Hopper, as a share of the rate in bfloat16.
constexpr double kFastOverBFloat16 = 1.85, kNotFastOverBFloat16 = 1.6;
// A cast should reach this share of the bandwidth: of an H200's 4.4 TB/s; elsewhere it is held
// against a copy's, and not judged.
constexpr double kShareOfBandwidth = 0.85, kBandwidthOfH200 = 4.4e12;

/// Both layouts of a random matrix in fp8.
struct Fp8Matrix {
  Operand rows, columns;
};
Fp8Matrix fp8_matrix(Platform& platform, int64_t rows, int64_t columns, const Cast& cast) {
  const auto made = quantise(random_on_device(platform, rows, columns, ScalarType::BFloat16),
                             {cast, cast, std::nullopt, false, rows, platform.stream()});
  return {*made.rows, *made.columns};
}

ScaleMode mode_of(Granularity granularity) {
  switch (granularity) {
    case Granularity::kVector: return ScaleMode::kVector;
    case Granularity::k1x128: return ScaleMode::k1x128;
    case Granularity::k128x128: return ScaleMode::k128x128;
    case Granularity::k1x32: return ScaleMode::k1x32;
    default: return ScaleMode::kScalar;
  }
}

class Products {
 public:
  Products(Platform& platform, Report& report, int64_t size)
      : platform_(platform),
        report_(report),
        size_(size),
        gemm_(float8::device::load_cublaslt(),
              {platform.facts().capability_major, platform.facts().capability_minor}),
        workspace_(empty_on_device(platform, 1, static_cast<int64_t>(gemm_.workspace_bytes()) + 256,
                                   ScalarType::Byte)),
        result_(empty_on_device(platform, size, size, ScalarType::BFloat16)) {}

  /// left times right transposed, to bfloat16; TFLOP/s.
  double measure(const std::string& name, const Operand& left, const Operand& right, bool fast) {
    float8::device::GemmShape shape{size_,
                                    size_,
                                    size_,
                                    right.format,
                                    left.format,
                                    float8::InputType::kBFloat16,
                                    mode_of(right.granularity),
                                    mode_of(left.granularity)};
    shape.fast_accumulation = fast;
    const auto address = reinterpret_cast<uintptr_t>(workspace_.mutable_data_ptr());
    return note(name, [&] {
      gemm_.run(
          shape,
          {right.bytes.const_data_ptr(), left.bytes.const_data_ptr(), right.scales.const_data_ptr(),
           left.scales.const_data_ptr(), result_.mutable_data_ptr(), nullptr,
           reinterpret_cast<void*>((address + 255) / 256 * 256)},
          platform_.stream());
    });
  }
  double note(const std::string& name, const std::function<void()>& work) {
    const std::vector<double> samples = platform_.time(work, {});
    const double rate = tflops_of_cube(size_, median(samples));
    Json& entry = report_.measured("products").push(Json::object());
    entry["product"] = name;
    entry["size"] = size_;
    entry["ms"] = samples;
    entry["tflops"] = rate;
    report_.say("  measured         " + name + ": " + digits(rate, 0) + " TFLOP/s");
    return rate;
  }

 private:
  Platform& platform_;
  Report& report_;
  int64_t size_;
  float8::device::Gemm gemm_;
  Matrix workspace_, result_;
};

void measure_products(Platform& platform, Report& report) {
  const int64_t size = platform.is_gpu() ? 8192 : 128;
  const Weight weight =
      platform.is_gpu() && platform.facts().capability_major == 9 ? Weight::kMust : Weight::kInform;
  Products products(platform, report, size);
  const float8::Plan plan = float8::plan_of(float8::Recipe::kTensorwise);
  const Fp8Matrix x = fp8_matrix(platform, size, size, plan.y.left),
                  grad = fp8_matrix(platform, size, size, plan.dx.left);
  double bfloat16 = 0;
  {
    const Matrix a = random_on_device(platform, size, size, ScalarType::BFloat16),
                 b = random_on_device(platform, size, size, ScalarType::BFloat16);
    bfloat16 = products.note("bfloat16, torch", [&] { torch_product(a, b); });
  }
  const double fast =
      products.measure("tensorwise, e4m3 x e4m3, fast accumulation", x.rows, x.columns, true);
  const double exact = products.measure("tensorwise, e4m3 x e4m3", x.rows, x.columns, false);
  products.measure("tensorwise, e5m2 x e4m3", grad.rows, x.columns, false);
  report.reach("fp8 with fast accumulation over bfloat16", fast / bfloat16, kFastOverBFloat16, " x",
               weight);
  report.reach("fp8 without fast accumulation over bfloat16", exact / bfloat16,
               kNotFastOverBFloat16, " x", weight);
  if (has_vector_scales(platform)) {
    const Fp8Matrix rows =
        fp8_matrix(platform, size, size, float8::plan_of(float8::Recipe::kRowwise).y.left);
    products.measure("rowwise, fast accumulation", rows.rows, rows.columns, true);
    products.measure("rowwise", rows.rows, rows.columns, false);
  }
  for (const float8::Recipe recipe : {float8::Recipe::kBlockwise, float8::Recipe::kMxfp8}) {
    if (refusal_of(platform, std::string(recipe_name(recipe)))) continue;
    const float8::Plan blocks = float8::plan_of(recipe);
    products.measure(std::string(recipe_name(recipe)),
                     fp8_matrix(platform, size, size, blocks.y.left).rows,
                     fp8_matrix(platform, size, size, blocks.y.right).rows, false);
  }
  for (const bool accumulate_fast : {true, false}) {
    const auto as_fp8 = [](const Operand& operand) {
      return torch_op("aten::view", "dtype", operand.bytes, ScalarType::Float8_e4m3fn);
    };
    const Matrix left = as_fp8(x.rows), right = torch::stable::transpose(as_fp8(x.columns), 0, 1);
    const std::string name = std::string("aten::_scaled_mm, tensorwise") +
                             (accumulate_fast ? ", fast accumulation" : "");
    try {
      products.note(name, [&] {
        torch_op("aten::_scaled_mm", "", left, right, x.rows.scales, x.columns.scales, std::nullopt,
                 std::nullopt, std::optional<ScalarType>(ScalarType::BFloat16), accumulate_fast);
      });
    } catch (const std::exception& error) {
      report.leave_out(name, error.what());
    }
  }
}

/// The cast kernel alone, into both layouts: one read of the matrix, two writes of fp8.
void measure_cast(Platform& platform, Report& report, const float8::test::Kind& kind, bool judged) {
  const int64_t rows = platform.is_gpu() ? 32768 : 128, columns = platform.is_gpu() ? 4096 : 64;
  const Matrix x = random_on_device(platform, rows, columns, ScalarType::BFloat16);
  const auto bytes = [&](int64_t count) {
    return empty_on_device(platform, 1, count, ScalarType::Byte);
  };
  Matrix row_out = bytes(rows * columns), column_out = bytes(rows * columns);
  const int64_t most_scales =
      std::max({4 * rows * ((columns + 127) / 128), 4 * columns * ((rows + 127) / 128),
                float8::device::swizzled_size(rows, columns / 32),
                float8::device::swizzled_size(columns, rows / 32)});
  Matrix row_scales = bytes(4 * most_scales), column_scales = bytes(4 * most_scales);
  Matrix maxima = empty_on_device(platform, 1, rows + columns, ScalarType::Int);
  torch::stable::zero_(maxima);
  const Matrix scale = number_on_device(platform, 100.0F);
  CastArguments a{};
  a.x = x.const_data_ptr(), a.rows = rows, a.columns = columns, a.padded_rows = rows;
  a.power_of_two = kind.cast.rule == float8::ScaleRule::kPowerOfTwo;
  a.row_out = static_cast<uint8_t*>(row_out.mutable_data_ptr()),
  a.column_out = static_cast<uint8_t*>(column_out.mutable_data_ptr());
  a.row_scales = row_scales.mutable_data_ptr(), a.column_scales = column_scales.mutable_data_ptr();
  a.amax_bits = a.row_amax = a.column_amax = static_cast<const int32_t*>(maxima.const_data_ptr());
  if (kind.cast.granularity == Granularity::kTensor)
    a.stored_scale = static_cast<const float*>(scale.const_data_ptr());
  const std::vector<double> kernel = platform.time(
      [&] {
        float8::device::check_launch(launch_cast(a, float8::InputType::kBFloat16, kind.cast.format,
                                                 kind.cast.granularity, platform.stream()),
                                     "cast");
      },
      {});
  // With what finds the scales, and torch's allocations.
  const std::vector<double> whole = platform.time(
      [&] {
        quantise(x, {kind.cast, kind.cast, std::nullopt, false, rows, platform.stream()});
      },
      {});
  const double moved = 4.0 * static_cast<double>(rows * columns),
               rate = moved / (median(kernel) * 1e-3);
  const double copy = report.facts().at("copy_bytes_per_s").number();
  const bool h200 = platform.facts().name.find("H200") != std::string::npos;
  const double share = rate / (h200 ? kBandwidthOfH200 : copy);
  Json& entry = report.measured("casts").push(Json::object());
  entry["cast"] = kind.name;
  entry["rows"] = rows;
  entry["columns"] = columns;
  entry["kernel_ms"] = kernel;
  entry["with_scales_ms"] = whole;
  entry["kernel_bytes_per_s"] = rate;
  entry["share_of_copy"] = rate / copy;
  report.say("  measured         cast " + std::string(kind.name) + ": " +
             digits(1e3 * median(kernel), 1) + " us, " + digits(rate / 1e9, 0) + " GB/s, " +
             digits(100 * rate / copy, 0) + " % of a copy; with finding the scales " +
             digits(1e3 * median(whole), 1) + " us");
  report.reach("cast " + std::string(kind.name) +
                   std::string(h200 ? ", share of 4.4 TB/s" : ", share of a copy's bandwidth"),
               share, kShareOfBandwidth, "", judged && h200 ? Weight::kMust : Weight::kInform);
}

void measure_maxima(Platform& platform, Report& report) {
  const int64_t rows = platform.is_gpu() ? 32768 : 128, columns = platform.is_gpu() ? 4096 : 64;
  const Matrix x = random_on_device(platform, rows, columns, ScalarType::BFloat16);
  Matrix maxima = empty_on_device(platform, 1, rows + columns, ScalarType::Int);
  auto* out = static_cast<int32_t*>(torch::stable::zero_(maxima).mutable_data_ptr());
  const double bytes = 2.0 * static_cast<double>(rows * columns);
  const auto note = [&](const char* name, const std::function<const char*()>& launch) {
    const std::vector<double> samples =
        platform.time([&] { float8::device::check_launch(launch(), "find maxima"); }, {});
    Json& entry = report.measured("maxima").push(Json::object());
    entry["of"] = name;
    entry["ms"] = samples;
    entry["bytes_per_s"] = bytes / (median(samples) * 1e-3);
    report.say("  measured         largest magnitude of " + std::string(name) + ": " +
               digits(1e3 * median(samples), 1) + " us, " +
               digits(bytes / (median(samples) * 1e6), 0) + " GB/s");
  };
  note("the tensor", [&] {
    return float8::device::launch_amax({x.const_data_ptr(), rows * columns, out, nullptr},
                                       float8::InputType::kBFloat16, platform.stream());
  });
  note("rows and columns", [&] {
    return float8::device::launch_vector_amax({x.const_data_ptr(), rows, columns, out, out + rows},
                                              float8::InputType::kBFloat16, platform.stream());
  });
}

}  // namespace

void measure_kernels(Platform& platform, Report& report) {
  report.begin("speed of kernels");
  if (report.has_time_for("products", 6)) measure_products(platform, report);
  const auto recipes = recipes_of(platform);
  const auto in_use = [&](Granularity granularity) {
    return std::any_of(recipes.begin(), recipes.end(), [&](float8::Recipe recipe) {
      const float8::Plan plan = float8::plan_of(recipe);
      for (const Cast* cast : {&plan.y.left, &plan.y.right, &plan.dx.left, &plan.dx.right,
                               &plan.dw.left, &plan.dw.right})
        if (cast->granularity == granularity) return true;
      return false;
    });
  };
  for (const float8::test::Kind& kind : float8::test::kKinds)
    if (report.has_time_for(std::string("cast ") + kind.name, 1))
      measure_cast(platform, report, kind, in_use(kind.cast.granularity));
  if (report.has_time_for("largest magnitudes", 1)) measure_maxima(platform, report);
}

}  // namespace titan::device_check
