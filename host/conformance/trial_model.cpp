#include "conformance/trial_model.h"

#include <ATen/Context.h>
#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>

#include "checkpoint/load_weights.h"
#include "conformance/probe.h"
#include "converters/plugin_converter.h"
#include "model/init.h"
#include "model/layout.h"
#include "model/loss.h"
#include "model/train_spec.h"
#include "train/device.h"

namespace titan::conformance {
namespace {

constexpr int64_t kTrialBatch = 2;

/// Number `index` of a fixed series of batches: int64 [2, length + 1].
at::Tensor trial_batch(int64_t index) {
  const at::Tensor n = at::arange(kTrialBatch * (kTrialLength + 1), at::kLong);
  return (n * 7 + n * n + 13 * index)
      .remainder(kTrialVocabulary)
      .view({kTrialBatch, kTrialLength + 1});
}

/// Stock tensors by name with what writes them back, and added parameters.
struct ShakenTensors {
  std::vector<model::StockTensor> stock;
  std::vector<model::StockTensor> added;
};

ShakenTensors tensors_to_shake(model::Module& root) {
  ShakenTensors tensors;
  std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>> wholes;
  for (const auto& named : model::named_parameters(root)) {
    const model::Parameter& parameter = *named.parameter;
    if (!parameter.layout.empty())
      wholes.emplace_back(parameter.layout, parameter.tensor);
    else
      (parameter.stored_as.empty() ? tensors.stock : tensors.added)
          .emplace_back(named.fqn, parameter.tensor);
  }
  for (model::StockTensor& stock : model::stock_tensors(wholes))
    tensors.stock.push_back(std::move(stock));
  return tensors;
}

void shake_values(model::Module& root, bool added, uint64_t seed) {
  const at::NoGradGuard no_grad;
  const ShakenTensors tensors = tensors_to_shake(root);
  const auto shake = [&](const std::vector<model::StockTensor>& list) {
    for (const model::StockTensor& stock : list) {
      at::Tensor value = stock.tensor();
      const auto rule = model::InitRule::normal(0, value.dim() > 1 ? 0.15 : 0.2);
      value.add_(
          model::draw(rule, value.sizes(), seed, "shake/" + stock.name()).to(value.scalar_type()));
      stock.write_back();
    }
  };
  shake(tensors.stock);
  if (added) shake(tensors.added);
  for (const auto& named : model::named_parameters(root)) ++named.parameter->version;
}

std::string number_text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.scalar_type() != b.scalar_type() || a.sizes() != b.sizes()) return false;
  // As bytes: NaN is equal to the same NaN, and 0 differs from -0.
  const at::Tensor one = a.contiguous().view(-1).view(at::kByte),
                   other = b.contiguous().view(-1).view(at::kByte);
  return at::equal(one, other);
}

}  // namespace

plugins::LoadedPlugin load_subject(const Subject& subject, const titan_host* host) {
  return plugins::load_plugin(subject.judged, host ? *host : probed_host());
}

converters::Registry registry_of(const Subject& subject) {
  at::set_num_threads(1);
  converters::Registry registry;
  converters::register_plugin(registry, load_subject(subject));
  registry.freeze();
  return registry;
}

model::ModelArgs trial_model_args(int64_t n_layers) {
  model::ModelArgs args;
  args.dim = 32;
  args.n_layers = n_layers;
  args.n_heads = 4;
  args.n_kv_heads = 2;
  args.vocab_size = kTrialVocabulary;
  args.multiple_of = 16;
  args.max_seq_len = 2 * kTrialLength;
  return args;
}

TrialModel::TrialModel(const converters::Registry& registry,
                       std::vector<config::ConverterRequest> requests, const TrialOptions& options)
    : root_(model::llama3_train_spec().build(trial_model_args(options.n_layers), options.dtype)) {
  const train::Device device = train::resolve_device("cpu");
  converters_ = std::make_unique<converters::ModelConvertersContainer>(
      registry, requests, device.facts,
      converters::RunFacts{kTrialBatch * kTrialLength, options.dtype, options.dtype});
  converters_->convert(*root_);
  model::materialize(*root_, device.device, options.seed);
  if (options.shake) shake_values(*root_, options.shake_added, options.seed);
  converters_->after_init(*root_, converters::HookReason::kFresh, {});
}

TrialModel::~TrialModel() { destroy(); }

void TrialModel::destroy() {
  converters_.reset();
  root_.reset();
}

at::Tensor TrialModel::logits(int64_t index) {
  const at::NoGradGuard no_grad;
  model::CallContext context;
  context.step = step;
  return (*root_)(context, {trial_batch(index).narrow(1, 0, kTrialLength)});
}

at::Tensor TrialModel::loss(int64_t index, at::Tensor* logits) {
  model::CallContext context;
  context.step = step;
  context.training = true;
  context.recompute = repeat_forward;
  const at::Tensor batch = trial_batch(index);
  at::Tensor out = (*root_)(context, {batch.narrow(1, 0, kTrialLength)});
  if (wide_loss) out = out.to(at::kDouble);
  if (logits) *logits = out.detach().clone();
  return model::cross_entropy(out, batch.narrow(1, 1, kTrialLength).contiguous(),
                              kTrialBatch * kTrialLength);
}

TrialPass TrialModel::take_gradients() {
  TrialPass pass;
  std::vector<std::pair<std::vector<model::LayoutPart>, at::Tensor>> wholes;
  for (const auto& named : model::named_parameters(*root_)) {
    const model::Parameter& parameter = *named.parameter;
    if (!parameter.tensor.requires_grad()) continue;
    const at::Tensor grad = parameter.tensor.grad();
    if (!parameter.layout.empty() && grad.defined())
      wholes.emplace_back(parameter.layout, grad);
    else
      pass.gradients[named.fqn] = grad.defined() ? grad.clone() : grad;
    at::Tensor(parameter.tensor).mutable_grad() = at::Tensor();
  }
  for (const model::StockTensor& stock : model::stock_tensors(wholes))
    pass.gradients[stock.name()] = stock.tensor().clone();
  return pass;
}

TrialPass TrialModel::pass(int64_t index) {
  at::Tensor logits;
  const at::Tensor loss = this->loss(index, &logits);
  loss.backward();
  TrialPass pass = take_gradients();
  pass.logits = logits;
  pass.loss = loss.item<double>();
  return pass;
}

void TrialModel::hook() { converters_->post_optimizer_hook(*root_, step); }

TrialPass TrialModel::train_step(int64_t index) {
  constexpr double kRate = 0.05;
  at::Tensor logits;
  const at::Tensor loss = this->loss(index, &logits);
  loss.backward();
  {
    const at::NoGradGuard no_grad;
    for (const auto& named : model::named_parameters(*root_)) {
      at::Tensor tensor = named.parameter->tensor;
      if (tensor.requires_grad() && tensor.grad().defined()) tensor.sub_(tensor.grad(), kRate);
      ++named.parameter->version;
    }
  }
  TrialPass pass = take_gradients();
  pass.logits = logits;
  pass.loss = loss.item<double>();
  hook();
  ++step;
  return pass;
}

std::map<std::string, at::Tensor> copy_of_state(model::Module& root) {
  std::map<std::string, at::Tensor> copies;
  for (const auto& [name, tensor] : checkpoint::model_tensors(root))
    copies[name] = tensor.detach().clone();
  return copies;
}

std::string difference(const std::map<std::string, at::Tensor>& a,
                       const std::map<std::string, at::Tensor>& b) {
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return "'" + name + "' is there once and once not";
    if (same_bits(value, other->second)) continue;
    if (!value.defined() || !other->second.defined())
      return "'" + name + "' is there once and once not";
    if (value.sizes() != other->second.sizes()) return "'" + name + "' has another shape";
    const double most =
        at::sub(value.to(at::kDouble), other->second.to(at::kDouble)).abs().max().item<double>();
    return "'" + name + "' differs by up to " + number_text(most);
  }
  for (const auto& [name, value] : b)
    if (!a.count(name)) return "'" + name + "' is there once and once not";
  return {};
}

std::string difference(const TrialPass& a, const TrialPass& b) {
  const std::string logits =
      difference(std::map<std::string, at::Tensor>{{"logits", a.logits}}, {{"logits", b.logits}});
  if (!logits.empty()) return logits;
  if (a.loss != b.loss) return "the loss is " + number_text(a.loss) + " and " + number_text(b.loss);
  const std::string gradients = difference(a.gradients, b.gradients);
  return gradients.empty() ? "" : "the gradient of " + gradients;
}

}  // namespace titan::conformance
