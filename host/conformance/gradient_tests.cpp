/// The test gradients: the plugin's backward against differences of its forward.
#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include <cmath>

#include "base/error.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
#include "conformance/wide_model.h"
#include "model/init.h"
#include "model/loss.h"

namespace titan::conformance {
namespace {

/// How far along a direction, how much may be missing of a gradient's length, and the length
/// (beside that of all gradients together) below which rounding is all that is measured.
struct Fineness {
  double step, tolerance, shortest;
  int directions;  ///< one may lie almost across an error that the tolerance hides
};
Fineness fineness_of(at::ScalarType dtype) {
  return dtype == at::kDouble ? Fineness{1e-5, 1e-6, 1e-3, 1} : Fineness{1e-2, 5e-3, 5e-2, 2};
}

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2g", value);
  return text;
}

/// The loss as a function of the parameters alone: state does not change (the second forward of
/// activation checkpointing must not change it), and random numbers are the same each time.
at::Tensor repeatable_loss(TrialModel& model) {
  at::manual_seed(17);
  model.repeat_forward = model.wide_loss = true;
  return model.loss(0);
}

struct WorstGradient {
  double error = 0;
  std::string name;
  int64_t parameters = 0;
};

WorstGradient check_gradients_of(const converters::Registry& registry, const Subject& subject,
                                 at::ScalarType dtype) {
  TrialModel model(registry, {subject.request()},
                   {.dtype = dtype, .n_layers = 2, .seed = subject.seed});
  repeatable_loss(model).backward();
  const Fineness fineness = fineness_of(dtype);
  WorstGradient worst;
  const at::NoGradGuard no_grad;
  double squares = 0;
  for (const auto& named : model::named_parameters(model.root()))
    if (const at::Tensor& grad = named.parameter->tensor.grad(); grad.defined())
      squares += grad.to(at::kDouble).square().sum().item<double>();
  const double shortest = fineness.shortest * std::sqrt(squares);
  for (const auto& named : model::named_parameters(model.root())) {
    at::Tensor tensor = named.parameter->tensor;
    if (!tensor.requires_grad() || !tensor.grad().defined()) continue;
    ++worst.parameters;
    set_progress_note("the gradient of '" + named.fqn + "'");
    const at::Tensor kept = tensor.detach().clone();
    for (int i = 0; i < fineness.directions; ++i) {
      const at::Tensor direction =
          model::draw(model::InitRule::normal(0, 1), tensor.sizes(),
                      subject.seed + static_cast<uint64_t>(i), "direction/" + named.fqn)
              .to(dtype);
      const auto loss_at = [&](double distance) {
        tensor.copy_(kept).add_(direction, distance);
        ++named.parameter->version;
        return repeatable_loss(model).item<double>();
      };
      // Differences of fourth order: the curvature of the loss does not count.
      const double h = fineness.step;
      const double slope =
          (8 * (loss_at(h) - loss_at(-h)) - (loss_at(2 * h) - loss_at(-2 * h))) / (12 * h);
      tensor.copy_(kept);
      ++named.parameter->version;
      const double told =
          at::sum(at::mul(tensor.grad().to(at::kDouble), direction.to(at::kDouble))).item<double>();
      const double length = tensor.grad().to(at::kDouble).norm().item<double>();
      const double error = std::abs(slope - told) / std::max({length, std::abs(slope), shortest});
      if (error > worst.error || worst.name.empty() || std::isnan(error)) {
        worst.error = error;
        worst.name = named.fqn;
      }
      if (std::isnan(error)) return worst;
    }
  }
  return worst;
}

}  // namespace

void test_gradients(const Subject& subject, Findings& findings) {
  using Kind = plugins::NumericsClaim::Kind;
  const Kind claim = subject.claims.numerics.kind;
  if (claim == Kind::kApproximate)
    return findings.skip(
        "the note says that it rounds on purpose (sqnr_db): the test numerics measures its "
        "gradients");
  if (claim == Kind::kStraightThrough)
    return findings.skip(
        "the note says that its gradients are not the derivative of its forward "
        "(straight_through)");
  const converters::Registry registry = registry_of(subject);
  WorstGradient worst;
  const at::ScalarType dtype = in_widest_type(
      [&](at::ScalarType type) { worst = check_gradients_of(registry, subject, type); });
  set_progress_note("");
  const Fineness fineness = fineness_of(dtype);
  const std::string type = dtype == at::kDouble ? "float64" : "float32 (float64 is refused)";
  if (!(worst.error <= fineness.tolerance))
    findings.fail("the gradient of '" + worst.name +
                      "' is not that of the loss: along a random direction it is off by " +
                      short_number(worst.error) + " of its length, " +
                      short_number(fineness.tolerance) + " is allowed in " + type,
                  "compare backward with the derivative of forward on paper; if another gradient "
                  "is meant, claim "
                  "\"numerics\": \"straight_through\" in the note; refuse types that the code does "
                  "not handle");
  findings.pass("max error " + short_number(worst.error) + " over " +
                std::to_string(worst.parameters) + " parameters in " + type);
}

}  // namespace titan::conformance
