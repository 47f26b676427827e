#include "model/init.h"

#include <ATen/Parallel.h>
#include <ATen/core/PhiloxRNGEngine.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/Math.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <string>

#include "base/error.h"
#include "model/module.h"

namespace titan::model {
namespace {

using Bits = std::array<uint32_t, 4>;
constexpr int64_t kBlock = 4;  // values from one counter of the generator

/// FNV-1a over the key, then the finaliser of SplitMix64 over both: near seeds and near names give
/// unrelated generators.
uint64_t generator_key(uint64_t seed, std::string_view key) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  uint64_t mixed = hash + seed * 0x9e3779b97f4a7c15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
  return mixed ^ (mixed >> 31);
}

Bits random_bits(uint64_t key, int64_t block) {
  at::Philox4_32 engine(key, static_cast<uint64_t>(block));
  Bits bits;
  for (uint32_t& word : bits) word = engine();
  return bits;
}

/// 24 bits, so that every value is exact in float32: [0, 1).
float unit_float(uint32_t bits) { return static_cast<float>(bits >> 8) * 0x1p-24f; }

/// All 32 bits in double: (0, 1), both ends excluded.
double open_unit(uint32_t bits) { return (static_cast<double>(bits) + 0.5) * 0x1p-32; }

/// Box-Muller on both pairs of a block.
void fill_normal(const InitRule& rule, const Bits& bits, float* out) {
  for (int pair = 0; pair < 2; ++pair) {
    const auto radius = static_cast<float>(std::sqrt(-2.0 * std::log(open_unit(bits[2 * pair]))));
    const float angle = 2.0f * std::numbers::pi_v<float> * unit_float(bits[2 * pair + 1]);
    out[2 * pair] = static_cast<float>(rule.a + rule.b * radius * std::cos(angle));
    out[2 * pair + 1] = static_cast<float>(rule.a + rule.b * radius * std::sin(angle));
  }
}

/// Inverse of the distribution function, restricted to [low, high]: one draw per value, however
/// narrow the bounds. Drawn on an open interval, so no value is ever put onto a far bound.
void fill_trunc_normal(const InitRule& rule, const Bits& bits, float* out) {
  const auto cdf = [&](double bound) {
    return std::erf((bound - rule.a) / (rule.b * std::numbers::sqrt2));  // in (-1, 1)
  };
  const double low = cdf(rule.low), high = cdf(rule.high);
  for (int64_t i = 0; i < kBlock; ++i) {
    const double z = calc_erfinv(low + (high - low) * open_unit(bits[i]));
    const double value = rule.a + rule.b * std::numbers::sqrt2 * z;
    out[i] = static_cast<float>(std::clamp(value, rule.low, rule.high));
  }
}

void fill_uniform(double low, double high, const Bits& bits, float* out) {
  for (int64_t i = 0; i < kBlock; ++i)
    out[i] = static_cast<float>(low + (high - low) * unit_float(bits[i]));
}

void fill_block(const InitRule& rule, at::IntArrayRef shape, const Bits& bits, float* out) {
  switch (rule.kind) {
    case InitRule::Kind::kNormal: return fill_normal(rule, bits, out);
    case InitRule::Kind::kTruncNormal: return fill_trunc_normal(rule, bits, out);
    case InitRule::Kind::kUniform: return fill_uniform(rule.a, rule.b, bits, out);
    case InitRule::Kind::kKaimingUniform: {
      const double bound = 1.0 / std::sqrt(static_cast<double>(shape[1]));
      return fill_uniform(-bound, bound, bits, out);
    }
    case InitRule::Kind::kConstant:
    case InitRule::Kind::kCopy: break;
  }
}

void check_rule(const InitRule& rule, at::IntArrayRef shape, std::string_view key) {
  const std::string where = "init rule of '" + std::string(key) + "'";
  if (rule.kind == InitRule::Kind::kCopy) throw internal_error("a copy cannot be drawn", where);
  if (rule.kind == InitRule::Kind::kKaimingUniform && (shape.size() < 2 || shape[1] == 0))
    throw usage_error("kaiming_uniform needs at least two dimensions, the second not empty", where,
                      "choose normal, uniform or a constant for this shape");
  const bool spread =
      rule.kind == InitRule::Kind::kNormal || rule.kind == InitRule::Kind::kTruncNormal;
  if (spread && !(rule.b >= 0.0 && std::isfinite(rule.b)))
    throw usage_error("the standard deviation is " + std::to_string(rule.b), where,
                      "give a finite number that is not negative");
  if (rule.kind == InitRule::Kind::kTruncNormal && !(rule.low < rule.high))
    throw usage_error("the bounds " + std::to_string(rule.low) + " .. " +
                          std::to_string(rule.high) + " hold no value",
                      where, "give a lower bound below the upper one");
}

}  // namespace

at::Tensor draw_range(const InitRule& rule, at::IntArrayRef shape, uint64_t seed,
                      std::string_view key, int64_t first, int64_t count) {
  check_rule(rule, shape, key);
  at::Tensor values = at::empty({count}, at::kFloat);
  float* out = values.mutable_data_ptr<float>();
  const bool constant = rule.kind == InitRule::Kind::kConstant ||
                        (rule.kind == InitRule::Kind::kTruncNormal && rule.b == 0.0);
  if (constant) {
    std::fill(out, out + count, static_cast<float>(rule.a));
    return values;
  }
  const uint64_t generator = generator_key(seed, key);
  const int64_t begin = first / kBlock, end = (first + count + kBlock - 1) / kBlock;
  at::parallel_for(begin, end, /*grain_size=*/4096, [&](int64_t from, int64_t to) {
    std::array<float, kBlock> block;
    for (int64_t b = from; b < to; ++b) {
      fill_block(rule, shape, random_bits(generator, b), block.data());
      for (int64_t i = 0; i < kBlock; ++i) {
        const int64_t at = b * kBlock + i - first;
        if (at >= 0 && at < count) out[at] = block[i];
      }
    }
  });
  return values;
}

at::Tensor draw(const InitRule& rule, at::IntArrayRef shape, uint64_t seed, std::string_view key) {
  return draw_range(rule, shape, seed, key, 0, c10::multiply_integers(shape)).view(shape);
}

namespace {

/// Puts `real` under the handle that optimizer, ties and modules already hold.
void put_under_handle(const at::Tensor& handle, const at::Tensor& real) {
  handle.unsafeGetTensorImpl()->shallow_copy_from(real.getIntrusivePtr());
}

using ParametersByName = std::map<std::string, const Parameter*>;

/// Every name of every parameter: a tied one is found under each.
ParametersByName parameters_by_name(Module& root) {
  ParametersByName result;
  visit_modules(root, [&](Module& module) {
    for (const auto& [name, parameter] : module.parameters()) {
      result.emplace(module.fqn().empty() ? name : module.fqn() + "." + name, parameter.get());
      if (!parameter->stored_as.empty()) result.emplace(parameter->stored_as, parameter.get());
    }
  });
  return result;
}

/// The parameter that `rule` of `name` takes its values from, through any chain of copies.
const Parameter& copy_source(const ParametersByName& by_name, const std::string& name,
                             const InitRule& rule, at::IntArrayRef shape) {
  const std::string where = "init rule of '" + name + "'";
  const InitRule* at = &rule;
  for (size_t hops = 0; hops <= by_name.size(); ++hops) {
    const auto found = by_name.find(at->source);
    if (found == by_name.end())
      throw usage_error("it copies '" + at->source + "', which is no parameter of the model", where,
                        "name a parameter of the model");
    const Parameter& source = *found->second;
    if (source.tensor.sizes() != shape)
      throw usage_error("it copies '" + at->source + "', which has another shape", where,
                        "copy a parameter of the same shape");
    if (source.init.kind != InitRule::Kind::kCopy) return source;
    at = &source.init;
  }
  throw usage_error("it copies itself, through '" + rule.source + "'", where,
                    "let one parameter of the circle have values of its own");
}

}  // namespace

void materialize(Module& root, at::Device device, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const ParametersByName by_name = parameters_by_name(root);

  // A copy is drawn a second time from its source's generator, so the order of parameters is free.
  const auto values = [&](const std::string& fqn, const std::string& key, const InitRule& rule,
                          const at::Tensor& handle) {
    if (key.empty()) throw internal_error("materialize() before assign_names()", fqn);
    if (rule.kind != InitRule::Kind::kCopy) return draw(rule, handle.sizes(), seed, key);
    const Parameter& source = copy_source(by_name, fqn, rule, handle.sizes());
    return draw(source.init, handle.sizes(), seed, source.init_key).to(source.tensor.scalar_type());
  };
  const auto fill = [&](const std::string& fqn, const std::string& key, const InitRule& rule,
                        const at::Tensor& handle) {
    put_under_handle(handle, values(fqn, key, rule, handle).to(device, handle.scalar_type()));
  };
  // A parameter in another layout is filled piece by piece, so that fresh weights do not change.
  const auto fill_layout = [&](const Parameter& parameter) {
    const at::Tensor real = at::empty(parameter.tensor.sizes(),
                                      at::TensorOptions().dtype(parameter.tensor.scalar_type()));
    for (const LayoutPart& part : parameter.layout) {
      at::Tensor value = draw(part.init, part.source_shape, seed, part.init_key);
      if (part.slice_dim >= 0)
        value = value.narrow(part.slice_dim, part.slice_start, part.slice_length);
      part.view_in(real).copy_(value);
    }
    put_under_handle(parameter.tensor, real.to(device));
  };
  for (const auto& [fqn, parameter, module] : named_parameters(root)) {
    if (parameter->layout.empty())
      fill(fqn, parameter->init_key, parameter->init, parameter->tensor);
    else
      fill_layout(*parameter);
  }
  for (const auto& [fqn, buffer, module] : named_buffers(root))
    fill(fqn, fqn, buffer->init, buffer->tensor);
}

}  // namespace titan::model
