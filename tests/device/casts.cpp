/// The kernels of the float8 plugin on the device against the CPU's casts and the reference data,
/// bit for bit.
#include <algorithm>
#include <functional>
#include <random>

#include "float8/cast_reference.h"
#include "matrices.h"
#include "parts.h"
#include "reference.h"

namespace titan::device_check {
namespace {

using float8::Along;
using float8::Cast;
using float8::Format;
using float8::Granularity;
using float8::ScaleRule;
using float8::device::CastRequest;
using float8::device::Operand;
using float8::device::Quantised;
using float8::device::round_up;
using float8::test::bytes_of;
using float8::test::difference;
using float8::test::floats_of;
using float8::test::Kind;
using float8::test::layout_difference;

/// Counts comparisons, keeps the first that failed, and gives the report one line.
class Comparison {
 public:
  void add(const std::string& where, const std::string& found) {
    ++count_;
    if (!found.empty() && ++failed_ == 1) first_ = where + ": " + found;
  }
  void report(Report& report, const std::string& what, int at_least) const {
    const std::string of = std::to_string(count_);
    if (failed_ > 0)
      report.check(what, false,
                   std::to_string(failed_) + " of " + of + " differ; the first: " + first_,
                   "the same bits");
    else
      report.check(what, count_ >= at_least, of + " compared, the same bits",
                   "at least " + std::to_string(at_least) + " comparisons");
  }

 private:
  int count_ = 0, failed_ = 0;
  std::string first_;
};

/// Both layouts of x, on the CPU. `stored`: a scale to use instead of the tensor's own.
Quantised cast_on_device(const Platform& platform, const Matrix& x, const Cast& cast,
                         int64_t multiple, std::optional<float> stored = {}) {
  CastRequest request{
      cast, cast, std::nullopt, false, round_up(x.size(0), multiple), platform.stream()};
  if (stored) request.stored = number_on_device(platform, *stored);
  const Quantised made = quantise(on_device(platform, x), request);
  return {on_cpu(*made.rows), on_cpu(*made.columns), std::nullopt, std::nullopt};
}

/// Matrices of sizes that fit tiles and groups and of sizes that do not, finite ones and poisoned
/// ones.
std::vector<std::pair<std::string, Matrix>> random_matrices(const Platform& platform,
                                                            std::mt19937& random) {
  const bool gpu = platform.is_gpu();
  const std::vector<int64_t> heights =
      gpu ? std::vector<int64_t>{1, 17, 64, 130, 1000} : std::vector<int64_t>{17, 130};
  const std::vector<int64_t> widths =
      gpu ? std::vector<int64_t>{32, 96, 160, 288, 2048} : std::vector<int64_t>{96, 288};
  std::vector<std::pair<std::string, Matrix>> matrices;
  for (const ScalarType type : {ScalarType::Float, ScalarType::BFloat16})
    for (const int64_t rows : heights)
      for (const int64_t columns : widths)
        for (const bool poisoned : {false, true})
          matrices.emplace_back(std::to_string(rows) + " x " + std::to_string(columns) +
                                    (type == ScalarType::Float ? " float32" : " bfloat16") +
                                    (poisoned ? ", poisoned" : ""),
                                float8::test::sample(random, rows, columns, type, poisoned));
  return matrices;
}

void compare_matrices(Platform& platform, Report& report, const Kind& kind,
                      const std::vector<std::pair<std::string, Matrix>>& matrices) {
  Comparison comparison;
  for (const auto& [name, x] : matrices) {
    const Quantised got = cast_on_device(platform, x, kind.cast, kind.multiple);
    const Matrix padded = float8::test::with_zero_rows(x, round_up(x.size(0), kind.multiple));
    comparison.add(name + ", rows",
                   layout_difference(padded, kind.cast, Along::kColumns, *got.rows));
    comparison.add(name + ", columns",
                   layout_difference(padded, kind.cast, Along::kRows, *got.columns));
  }
  comparison.report(report, std::string(kind.name) + ", random matrices in both layouts",
                    static_cast<int>(2 * matrices.size()));
}

/// Many blocks of threads at once: against the CPU once, then against itself, as a race shows now
/// and then only.
void compare_large_matrix(Platform& platform, Report& report, const Kind& kind, const Matrix& x) {
  const int runs = platform.is_gpu() ? 10 : 2;
  Comparison comparison;
  const Quantised first = cast_on_device(platform, x, kind.cast, kind.multiple);
  comparison.add("rows", layout_difference(x, kind.cast, Along::kColumns, *first.rows));
  comparison.add("columns", layout_difference(x, kind.cast, Along::kRows, *first.columns));
  for (int i = 1; i < runs; ++i) {
    const Quantised again = cast_on_device(platform, x, kind.cast, kind.multiple);
    const auto same = [](const Operand& a, const Operand& b) {
      return bytes_of(a.bytes) == bytes_of(b.bytes) &&
             std::memcmp(a.scales.const_data_ptr(), b.scales.const_data_ptr(),
                         static_cast<size_t>(a.scales.numel()) *
                             (a.scales.scalar_type() == ScalarType::Byte ? 1 : 4)) == 0;
    };
    comparison.add("run " + std::to_string(i + 1),
                   same(*first.rows, *again.rows) && same(*first.columns, *again.columns)
                       ? ""
                       : "another result");
  }
  comparison.report(report,
                    std::string(kind.name) + ", " + std::to_string(x.size(0)) + " x " +
                        std::to_string(x.size(1)) + ", again and again",
                    runs + 1);
}

/// The first `rows` x `columns` of a layout's bytes, `width` bytes a line.
std::vector<uint8_t> part_of(const Matrix& bytes, int64_t rows, int64_t columns) {
  const std::vector<uint8_t> all = bytes_of(bytes);
  const int64_t width = bytes.size(1);
  std::vector<uint8_t> part;
  for (int64_t i = 0; i < rows; ++i)
    part.insert(part.end(), all.begin() + i * width, all.begin() + i * width + columns);
  return part;
}

/// x with columns of zeros up to a multiple.
Matrix with_zero_columns(const Matrix& x, int64_t multiple) {
  const int64_t padding[2] = {0, round_up(x.size(1), multiple) - x.size(1)};
  return padding[1] == 0 ? x : torch::stable::pad(x, {padding, 2});
}

/// Scales as the device lays them out, of the first `lines` lines, as the reference has them: what
/// the tensor is multiplied by.
std::vector<float> inverses(std::vector<float> scales) {
  for (float& scale : scales) scale = 1.0F / scale;
  return scales;
}

void reference_tensors_and_rows(Platform& platform, Report& report) {
  const struct {
    const char* name;
    Cast cast;
    bool columns;
  } recipes[] = {
      {"tensorwise_e4m3", {Granularity::kTensor, Format::kE4M3, ScaleRule::kExact}, false},
      {"tensorwise_e5m2", {Granularity::kTensor, Format::kE5M2, ScaleRule::kExact}, true},
      {"tensorwise_e4m3_pow2",
       {Granularity::kTensor, Format::kE4M3, ScaleRule::kPowerOfTwo},
       false},
      {"rowwise_e4m3_lastdim", {Granularity::kVector, Format::kE4M3, ScaleRule::kExact}, false},
      {"rowwise_e4m3_lastdim_pow2",
       {Granularity::kVector, Format::kE4M3, ScaleRule::kPowerOfTwo},
       false},
      {"rowwise_e4m3_dim0_pow2",
       {Granularity::kVector, Format::kE4M3, ScaleRule::kPowerOfTwo},
       true},
  };
  const ReferenceFile file("float8/quant_cases.safetensors");
  const Json cases = reference_json("float8/quant_cases.json");
  Comparison bytes, scales;
  for (const auto& [name, facts] : cases.members())
    for (const auto& recipe : recipes) {
      if (!facts.at("recipes").find(recipe.name)) continue;
      const std::string base = name + "/" + recipe.name + "/";
      const Matrix x = float8::test::make_matrix(file[name + "/x"]);
      const int64_t height = x.size(0), width = x.size(1);
      const Quantised got = cast_on_device(platform, with_zero_columns(x, 16), recipe.cast, 16);
      std::vector<uint8_t> expected = file[base + "fp8"].as<uint8_t>();
      if (recipe.columns) expected = float8::test::transposed(expected, height, width);
      const Operand& layout = recipe.columns ? *got.columns : *got.rows;
      bytes.add(base, difference(recipe.cast.format,
                                 recipe.columns ? part_of(layout.bytes, width, height)
                                                : part_of(layout.bytes, height, width),
                                 expected));
      std::vector<float> undo = floats_of(layout.scales);
      const std::vector<float> needed = inverses(file[base + "scale"].as<float>());
      undo.resize(std::min(undo.size(), needed.size()));
      scales.add(base, difference(undo, needed));
    }
  bytes.report(report, "reference casts of tensors and rows: bytes", 120);
  scales.report(report, "reference casts of tensors and rows: scales", 120);
}

/// Every bfloat16 and the float32 probes, with scale 1.
void reference_tables(Platform& platform, Report& report) {
  const ReferenceFile file("float8/cast_tables.safetensors");
  std::vector<uint16_t> patterns(65536);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<uint16_t>(i);
  std::vector<float> probes(static_cast<size_t>(file["probe_f32_bits"].numel()));
  std::memcpy(probes.data(), file["probe_f32_bits"].bytes.data(),
              file["probe_f32_bits"].bytes.size());
  const size_t count = probes.size();
  probes.resize(static_cast<size_t>(round_up(static_cast<int64_t>(count), 64)), 0.0F);
  Comparison comparison;
  for (const Format format : {Format::kE4M3, Format::kE5M2}) {
    const std::string name = format == Format::kE4M3 ? "e4m3" : "e5m2";
    const Cast cast{Granularity::kTensor, format, ScaleRule::kExact};
    const auto codes = [&](const Matrix& x) {
      return bytes_of(cast_on_device(platform, x, cast, 16, 1.0F).rows->bytes);
    };
    comparison.add(name + " of every bfloat16",
                   difference(format,
                              codes(float8::test::make_matrix(patterns.data(), 1024, 64,
                                                              ScalarType::BFloat16)),
                              file[name + "_from_bf16_bits"].as<uint8_t>()));
    std::vector<uint8_t> got = codes(float8::test::make_matrix(
        probes.data(), static_cast<int64_t>(probes.size()) / 64, 64, ScalarType::Float));
    got.resize(count);
    comparison.add(name + " of probes",
                   difference(format, got, file[name + "_from_probe"].as<uint8_t>()));
  }
  comparison.report(report, "reference codes of every bfloat16 and of probes", 4);
}

void reference_blocks_of_128(Platform& platform, Report& report) {
  const ReferenceFile file("float8/blockwise.safetensors");
  Comparison comparison;
  for (const bool power_of_two : {false, true}) {
    const std::string base = std::string("lin/") + (power_of_two ? "te/" : "torchao/");
    const float8::Plan plan = float8::plan_of(float8::Recipe::kBlockwise, power_of_two);
    const auto add = [&](const Operand& got, const std::string& name, bool laid_out) {
      comparison.add(base + name, difference(Format::kE4M3, bytes_of(got.bytes),
                                             file[base + name + "/fp8"].as<uint8_t>()));
      if (laid_out)
        comparison.add(base + name + " scales",
                       difference(floats_of(got.scales),
                                  file[base + name + "/scale_inv_cublaslt"].as<float>()));
    };
    const Quantised x =
        cast_on_device(platform, float8::test::make_matrix(file["lin/x"]), plan.y.left, 128);
    add(*x.rows, "x_1x128", true);
    add(*x.columns, "xT_1x128", false);
    const Quantised grad = cast_on_device(
        platform, float8::test::make_matrix(file["lin/grad_output"]), plan.dx.left, 128);
    add(*grad.rows, "g_1x128", false);
    add(*grad.columns, "gT_1x128", false);
    add(*cast_on_device(platform, float8::test::make_matrix(file["lin/w"]), plan.y.right, 128).rows,
        "w_128x128", true);
  }
  comparison.report(report, "reference casts of blocks of 128: bytes and layouts of scales", 14);
}

void reference_blocks_of_32(Platform& platform, Report& report) {
  const ReferenceFile file("float8/mxfp8.safetensors");
  const Json facts = reference_json("float8/mxfp8.json");
  const Cast cast{Granularity::k1x32, Format::kE4M3, ScaleRule::kRoundUpE8M0};
  Comparison bytes, scales;
  for (const auto& [name, ignored] : facts.at("cases").members()) {
    // An infinity must show: of such a block all values are NaN.
    const std::string base =
        name + (file.has(name + "/rceil_poison/e8m0") ? "/rceil_poison/" : "/rceil_exact/");
    const Matrix x = float8::test::make_matrix(file[name + "/x"]);
    const int64_t height = x.size(0), width = x.size(1), blocks = width / 32;
    const Quantised got = cast_on_device(platform, x, cast, 32);
    bytes.add(base, difference(Format::kE4M3, part_of(got.rows->bytes, height, width),
                               file[base + "fp8"].as<uint8_t>()));
    const std::vector<uint8_t> laid_out = bytes_of(got.rows->scales),
                               expected = file[base + "e8m0"].as<uint8_t>();
    std::vector<uint8_t> exponents;
    for (int64_t row = 0; row < height; ++row)
      for (int64_t block = 0; block < blocks; ++block)
        exponents.push_back(
            laid_out[static_cast<size_t>(float8::device::swizzled(row, block, blocks))]);
    scales.add(base, exponents == expected ? "" : "the exponents differ");
  }
  bytes.report(report, "reference casts of blocks of 32: bytes", 20);
  scales.report(report, "reference casts of blocks of 32: exponents", 20);
}

}  // namespace

void check_casts(Platform& platform, Report& report) {
  report.begin("casts");
  const std::pair<const char*, void (*)(Platform&, Report&)> references[] = {
      {"reference casts of tensors and rows", reference_tensors_and_rows},
      {"reference codes", reference_tables},
      {"reference casts of blocks of 128", reference_blocks_of_128},
      {"reference casts of blocks of 32", reference_blocks_of_32}};
  for (const auto& [name, compare] : references)
    if (report.has_time_for(name, 2)) compare(platform, report);
  std::mt19937 random(5);
  const auto matrices = random_matrices(platform, random);
  const Matrix large =
      float8::test::sample(random, platform.is_gpu() ? 2048 : 160, platform.is_gpu() ? 4096 : 256,
                           ScalarType::BFloat16, false);
  for (const Kind& kind : float8::test::kKinds)
    if (report.has_time_for(kind.name, 3)) {
      compare_matrices(platform, report, kind, matrices);
      compare_large_matrix(platform, report, kind, large);
    }
}

}  // namespace titan::device_check
