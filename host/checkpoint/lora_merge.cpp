#include "checkpoint/lora_merge.h"

#include <ATen/Functions.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "checkpoint/load_weights.h"

namespace titan::checkpoint {
namespace {

constexpr std::string_view kDown = ".lora_a", kUp = ".lora_b";

std::optional<double> alpha_of(const std::map<std::string, std::string>& settings,
                               const std::string& instance) {
  const auto found = settings.find(instance + ".alpha");
  if (found == settings.end()) return std::nullopt;
  double alpha = 0;
  const char* end = found->second.data() + found->second.size();
  const auto [at, error] = std::from_chars(found->second.data(), end, alpha);
  if (error != std::errc() || at != end || !std::isfinite(alpha)) return std::nullopt;
  return alpha;
}

}  // namespace

AddedState added_state(const WeightFiles& files,
                       const std::map<std::string, std::string>& settings) {
  AddedState state;
  std::set<std::string> used;
  for (const std::string& down : files.names()) {
    if (!is_added_name(down) || !down.ends_with(kDown)) continue;
    const std::string stem = down.substr(0, down.size() - kDown.size());
    const std::string up = stem + std::string(kUp), instance = stem.substr(0, stem.find('/'));
    const std::string weight = stem.substr(instance.size() + 1) + ".weight";
    const auto alpha = alpha_of(settings, instance);
    if (!alpha || !files.has(up) || !files.has(weight)) continue;
    const auto &a = files.entry(down).shape, &b = files.entry(up).shape,
               &w = files.entry(weight).shape;
    const bool fits = a.size() == 2 && b.size() == 2 && w.size() == 2 && a[0] > 0 && a[0] == b[1] &&
                      a[1] == w[1] && b[0] == w[0];
    if (!fits) continue;
    state.adapters[weight].push_back({instance, down, up, *alpha / static_cast<double>(a[0])});
    used.insert(down);
    used.insert(up);
  }
  for (const std::string& name : files.names())
    if (is_added_name(name) && !used.count(name)) state.others.push_back(name);
  return state;
}

at::Tensor merged_weight(const at::Tensor& weight, const std::vector<LowRankAdapter>& adapters,
                         const WeightFiles& files) {
  const at::ScalarType wide = weight.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  at::Tensor sum = weight.to(wide, /*non_blocking=*/false, /*copy=*/true);
  for (const LowRankAdapter& adapter : adapters)
    sum.add_(at::matmul(files.tensor(adapter.b).to(wide), files.tensor(adapter.a).to(wide)),
             adapter.scale);
  return sum;
}

}  // namespace titan::checkpoint
