#include "train/estimate.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/numbers.h"
#include "model/kinds.h"
#include "model/mixed_precision.h"
#include "train/activation_checkpoint.h"
#include "train/model_args.h"
#include "train/precision.h"
#include "train/step_profile.h"

namespace titan::train {
namespace {

int64_t bytes_of(const at::Tensor& tensor) {
  return tensor.numel() * static_cast<int64_t>(tensor.element_size());
}

int64_t share_of(int64_t bytes, int64_t degree) { return (bytes + degree - 1) / degree; }

int64_t micro_batches_of(const config::Config& config) {
  const config::Training& training = config.training;
  if (training.global_batch_size < 0) return 1;
  return std::max<int64_t>(
      1, training.global_batch_size / (training.local_batch_size * config.parallelism.devices()));
}

/// What FSDP2 gathers as one: each block, and all that is in none.
struct ShardUnit {
  int64_t gathered = 0;   ///< bytes of its parameters as they are computed with
  int64_t gradients = 0;  ///< bytes
};

std::vector<ShardUnit> shard_units(model::Module& root, c10::ScalarType compute_type) {
  std::map<std::string, ShardUnit> units;  // by the block's name
  std::string block;
  model::visit_modules(root, [&](model::Module& module) {
    if (module.kind() == "block") block = module.fqn() + ".";
    const std::string unit =
        !block.empty() && module.fqn().starts_with(block.substr(0, block.size() - 1)) ? block : "";
    for (const model::OwnParameter& own : module.parameters()) {
      const at::Tensor& tensor = own.parameter->tensor;
      const bool narrow = model::computes_in_mixed_precision(module.kind());
      units[unit].gathered +=
          narrow ? tensor.numel() * static_cast<int64_t>(c10::elementSize(compute_type))
                 : bytes_of(tensor);
      if (tensor.requires_grad()) units[unit].gradients += bytes_of(tensor);
    }
  });
  std::vector<ShardUnit> list;
  for (const auto& [name, unit] : units) list.push_back(unit);
  std::sort(list.begin(), list.end(),
            [](const ShardUnit& a, const ShardUnit& b) { return a.gathered > b.gathered; });
  return list;
}

int64_t gathered_bytes(const std::vector<ShardUnit>& largest_first) {
  int64_t bytes = 0, gradients = 0;
  for (size_t i = 0; i < largest_first.size() && i < 2; ++i) bytes += largest_first[i].gathered;
  for (const ShardUnit& unit : largest_first) gradients = std::max(gradients, unit.gradients);
  return bytes + gradients;
}

double flops_of_token(model::Module& root, const model::ModelArgs& args, int64_t seq_len) {
  auto flops = static_cast<double>(model::flops_per_token(args, seq_len));
  for (const auto& named : model::named_parameters(root)) {
    const at::Tensor& tensor = named.parameter->tensor;
    if (tensor.dim() < 2 || named.module->kind() == "embedding") continue;
    const bool added = !named.parameter->stored_as.empty() && named.parameter->layout.empty();
    if (!tensor.requires_grad()) flops -= 2.0 * static_cast<double>(tensor.numel());
    if (added) flops += 6.0 * static_cast<double>(tensor.numel());
  }
  return flops;
}

double forward_products(model::Module& module) {
  double values = 0;
  model::visit_modules(module, [&](model::Module& below) {
    for (const model::OwnParameter& own : below.parameters())
      if (own.parameter->tensor.dim() >= 2)
        values += static_cast<double>(own.parameter->tensor.numel());
  });
  return 2 * values;
}

/// FLOPs for each token that recomputation adds.
double recomputed_of_token(model::Module& root, const model::ModelArgs& args,
                           const config::Config& config) {
  const config::ActivationCheckpoint& recompute = config.activation_checkpoint;
  if (recompute.mode == "none") return 0;
  const bool by_op = recompute.mode == "selective" && recompute.selective_ac_option == "op";
  int64_t every = 1, number = 0;
  if (recompute.mode == "selective" && !by_op) {
    const std::string& option = recompute.selective_ac_option;
    std::from_chars(option.data(), option.data() + option.size(), every);
  }
  // Two products for each head: with the keys, and with the values.
  const double attention =
      4.0 * static_cast<double>(args.n_heads * args.head_dim() * config.training.seq_len);
  double flops = 0;
  model::visit_modules(root, [&](model::Module& block) {
    if (block.kind() != "block" || ++number % every != 0) return;
    if (!by_op) {
      flops += forward_products(block) + attention;
      return;
    }
    // Products in the order of the calls are wq, wk, wv, wo, w1, w3, w2; the first of each pair is
    // kept.
    for (const char* name : {"attention.wk", "attention.wo", "feed_forward.w3"})
      if (model::Module* again = block.find(name)) flops += forward_products(*again);
  });
  return flops;
}

/// Converters whose plugins do not say what they hold.
std::vector<std::string> unsaid(const converters::ModelConvertersContainer& container) {
  const std::vector<std::string> names = container.instance_names();
  std::vector<int64_t> modules(names.size(), 0);
  for (const converters::Record& record : container.records()) {
    using Kind = converters::Record::Kind;
    const bool runs = record.kind == Kind::kReplace || record.kind == Kind::kWrap;
    if (runs && !(record.prediction && record.prediction->memory)) ++modules[record.instance];
  }
  std::vector<std::string> lines;
  for (size_t i = 0; i < names.size(); ++i)
    if (modules[i])
      lines.push_back("converter " + names[i] + " does not say what its code holds in " +
                      with_commas(modules[i]) +
                      " modules: replaced ones are taken to hold what the stock ones do, wraps "
                      "what they are given");
  return lines;
}

}  // namespace

int64_t MemoryParts::total() const {
  return parameters + gradients + optimizer + buffers + compute_copies + gathered + activations +
         converters;
}

StepEstimate estimate_step(model::Module& root, const model::ModelArgs& args,
                           const config::Config& config,
                           const converters::ModelConvertersContainer& container) {
  StepEstimate estimate;
  const int64_t shard = config.parallelism.data_parallel_shard_degree;
  const int64_t local_tokens = config.training.local_batch_size * config.training.seq_len;
  estimate.devices = config.parallelism.devices();
  estimate.shard_degree = shard;
  estimate.micro_batches = micro_batches_of(config);
  estimate.tokens = local_tokens * estimate.micro_batches * estimate.devices;

  MemoryParts& states = estimate.states;
  for (const auto& named : model::named_parameters(root)) {
    const at::Tensor& tensor = named.parameter->tensor;
    estimate.parameters += tensor.numel();
    states.parameters += bytes_of(tensor);
    if (!tensor.requires_grad()) continue;
    estimate.trainable += tensor.numel();
    states.gradients += bytes_of(tensor);
    states.optimizer +=
        2 * bytes_of(tensor) + static_cast<int64_t>(sizeof(float));  // and the count of steps
  }
  for (int64_t* bytes : {&states.parameters, &states.gradients, &states.optimizer})
    *bytes = share_of(*bytes, shard);
  // A step that may be skipped keeps the buffers as they were.
  const int64_t buffer_copies = config.training.on_nonfinite == "skip" ? 2 : 1;
  for (const auto& named : model::named_buffers(root))
    states.buffers += buffer_copies * bytes_of(named.buffer->tensor);
  if (shard > 1)
    states.gathered = gathered_bytes(shard_units(root, run_facts(config.training).compute_type));

  // Sharded, only gathered units are there in the compute type, and gradients as shares.
  const double part = 1.0 / static_cast<double>(shard);
  const StepProfile profile = profile_step(root, config.training, estimate.micro_batches,
                                           {1, part, shard > 1 ? 0.0 : 1.0, 1});
  const auto fill = [&](MemoryParts& parts, const model::PurposeBytes& bytes) {
    const auto of = [&](model::Purpose purpose) { return bytes[static_cast<size_t>(purpose)]; };
    parts.activations = of(model::Purpose::kActivation);
    parts.converters = of(model::Purpose::kConverter);
    parts.compute_copies = shard > 1 ? 0 : of(model::Purpose::kComputeCopy);
  };
  fill(states, profile.kept);
  estimate.peak = states;
  fill(estimate.peak, profile.at_peak);
  estimate.peak.gradients =
      share_of(profile.at_peak[static_cast<size_t>(model::Purpose::kGradient)], shard);
  // The optimizer works in place on complete gradients, when activations and copies are gone.
  MemoryParts stepping = states;
  fill(stepping, profile.after);
  stepping.gathered = 0;
  if (stepping.total() > estimate.peak.total()) estimate.peak = stepping;

  const auto tokens_of_device = static_cast<double>(local_tokens * estimate.micro_batches);
  estimate.flops = flops_of_token(root, args, config.training.seq_len) * tokens_of_device;
  estimate.recomputed_flops = recomputed_of_token(root, args, config) * tokens_of_device;

  estimate.assumptions = unsaid(container);
  estimate.assumptions.emplace_back(
      "attention runs in a fused kernel, which keeps no matrix of all pairs of tokens");
  if (estimate.devices > 1)
    estimate.assumptions.emplace_back(
        shard > 1 ? "sharded as FSDP2 does it: parameters, gradients and optimizer state are "
                    "divided by the shard "
                    "degree; two units (a block each; embedding, last norm and head are one) are "
                    "gathered, and the "
                    "gradients of one are whole"
                  : "copies hold the same; buffers for their communication are not counted");
  return estimate;
}

StepEstimate estimate_config(const config::Config& config, const model::TrainSpec& spec,
                             const converters::Registry& registry,
                             const std::vector<config::ConverterRequest>& requests,
                             const converters::DeviceFacts& device) {
  const model::ModelArgs args = resolve_model_args(spec, config);
  converters::ModelConvertersContainer container(registry, requests, device,
                                                 run_facts(config.training));
  const auto root = spec.build(args, parameter_type(config.training));
  container.convert(*root);
  apply_activation_checkpoint(*root, config.activation_checkpoint);
  return estimate_step(*root, args, config, container);
}

std::vector<Knob> memory_knobs(const config::Config& config) {
  std::vector<Knob> knobs;
  const auto add = [&](const std::string& text, const auto& change) {
    config::Config changed = config;
    change(changed);
    if (!(changed == config)) knobs.push_back({text, std::move(changed)});
  };
  const auto recompute = [&](const std::string& mode, const std::string& option) {
    add("activation_checkpoint.mode: " + mode + (mode == "selective" ? " (" + option + ")" : ""),
        [&](config::Config& changed) {
          changed.activation_checkpoint.mode = mode;
          if (mode == "selective") changed.activation_checkpoint.selective_ac_option = option;
        });
  };
  recompute("none", "");
  recompute("selective", "2");
  recompute("selective", "op");
  recompute("full", "");
  add("training.mixed_precision_param: bfloat16",
      [](config::Config& changed) { changed.training.mixed_precision_param = "bfloat16"; });
  add("training.dtype: bfloat16", [](config::Config& changed) {
    changed.training.dtype = changed.training.mixed_precision_param = "bfloat16";
  });
  const int64_t sequences = config.training.global_batch_size > 0
                                ? config.training.global_batch_size
                                : config.training.local_batch_size * config.parallelism.devices();
  if (config.training.local_batch_size > 1) {
    add("training.local_batch_size: 1", [](config::Config& changed) {
      changed.training.local_batch_size = 1;
      changed.training.global_batch_size = -1;
    });
    add("training.local_batch_size: 1, training.global_batch_size: " + std::to_string(sequences),
        [&](config::Config& changed) {
          changed.training.local_batch_size = 1;
          changed.training.global_batch_size = sequences;
        });
  }
  for (const int64_t degree : {8, 64})
    add("parallelism.data_parallel_shard_degree: " + std::to_string(degree),
        [&](config::Config& changed) {
          changed.parallelism.data_parallel_shard_degree = degree;
          if (changed.training.global_batch_size > 0) changed.training.global_batch_size = -1;
        });
  return knobs;
}

}  // namespace titan::train
