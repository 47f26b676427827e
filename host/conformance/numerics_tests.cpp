/// The test numerics: outputs and gradients beside those of the stock model.
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/numbers.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
#include "conformance/wide_model.h"

namespace titan::conformance {
namespace {

/// Largest difference beside the largest value that an exact converter may have.
double exact_tolerance(at::ScalarType dtype) { return dtype == at::kDouble ? 1e-10 : 2e-5; }

struct Compared {
  std::string name;
  double relative = 0;  ///< largest difference / largest value of the stock model
  double sqnr_db = std::numeric_limits<double>::infinity();
};

Compared compare_tensor(const std::string& name, const at::Tensor& stock,
                        const at::Tensor& changed) {
  const at::Tensor wanted = stock.to(at::kDouble), noise = at::sub(changed.to(at::kDouble), wanted);
  Compared result{name};
  const double largest = wanted.abs().max().item<double>(),
               signal = wanted.square().sum().item<double>();
  const double power = noise.square().sum().item<double>();
  result.relative = power == 0 ? 0 : noise.abs().max().item<double>() / largest;
  if (power > 0 || std::isnan(power)) result.sqnr_db = 10 * std::log10(signal / power);
  return result;
}

/// Logits and every gradient that both models have.
std::vector<Compared> compare_with_stock(const converters::Registry& registry,
                                         const Subject& subject, at::ScalarType dtype,
                                         std::vector<std::string>& lost) {
  converters::Registry nothing;
  nothing.freeze();
  const TrialOptions options{.dtype = dtype, .shake_added = false, .seed = subject.seed};
  TrialModel stock_model(nothing, {}, options), model(registry, {subject.request()}, options);
  const TrialPass stock = stock_model.pass(), changed = model.pass();
  std::vector<Compared> list{compare_tensor("the logits", stock.logits, changed.logits)};
  lost.clear();
  for (const auto& [name, gradient] : stock.gradients) {
    const auto other = changed.gradients.find(name);
    if (other == changed.gradients.end()) continue;  // frozen
    if (!other->second.defined())
      lost.push_back(name);
    else
      list.push_back(compare_tensor("the gradient of '" + name + "'", gradient, other->second));
  }
  return list;
}

std::string small_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

void judge_exact(const std::vector<Compared>& list, at::ScalarType dtype, Findings& findings) {
  const double tolerance = exact_tolerance(dtype);
  const std::string type = dtype == at::kDouble ? "float64" : "float32 (float64 is refused)";
  double worst = 0;
  for (const Compared& compared : list) {
    if (!(compared.relative <= tolerance))
      findings.fail(compared.name + ": off by " + small_number(compared.relative) +
                        " of the stock model's largest value; \"exact\" allows " +
                        small_number(tolerance) + " in " + type,
                    "correct the code, or claim {\"sqnr_db\": ...} or nothing in the note");
    worst = std::max(worst, compared.relative);
  }
  findings.pass("exact in " + type + ": max error " + small_number(worst) + " over " +
                std::to_string(list.size()) + " tensors");
}

void judge_ratio(const std::vector<Compared>& list, double floor, Findings& findings) {
  const Compared* least = nullptr;
  for (const Compared& compared : list) {
    if (!(compared.sqnr_db >= floor))
      findings.fail(compared.name + ": SQNR " + fixed_point(compared.sqnr_db, 1) +
                        " dB against the stock model, the note claims " + fixed_point(floor, 1) +
                        " dB",
                    "correct the code, or claim what it reaches");
    if (!least || compared.sqnr_db < least->sqnr_db) least = &compared;
  }
  findings.pass("at least " + fixed_point(least->sqnr_db, 1) + " dB (" + least->name +
                "), claimed " + fixed_point(floor, 1) + " dB, over " + std::to_string(list.size()) +
                " tensors");
}

}  // namespace

void test_numerics(const Subject& subject, Findings& findings) {
  using Kind = plugins::NumericsClaim::Kind;
  const plugins::NumericsClaim& claim = subject.claims.numerics;
  if (claim.kind == Kind::kOtherFunction)
    return findings.skip("the note claims no closeness to the stock model (\"numerics\")");
  if (claim.kind == Kind::kStraightThrough)
    return findings.skip("the note claims straight-through gradients, no closeness");
  const converters::Registry registry = registry_of(subject);
  std::vector<Compared> list;
  std::vector<std::string> lost;
  const at::ScalarType dtype = in_widest_type(
      [&](at::ScalarType type) { list = compare_with_stock(registry, subject, type, lost); });
  for (const std::string& name : lost)
    findings.fail("'" + name + "' has a gradient in the stock model and none here",
                  "compute it in backward");
  if (claim.kind == Kind::kExact)
    judge_exact(list, dtype, findings);
  else
    judge_ratio(list, claim.sqnr_db, findings);
}

}  // namespace titan::conformance
