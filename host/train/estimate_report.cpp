#include "train/estimate_report.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/numbers.h"
#include "base/table.h"

namespace titan::train {
namespace {

using EstimateJson = nlohmann::ordered_json;

constexpr double kUsualMfu = 0.4;  ///< what large runs of dense models reach

/// What is left after it is small enough for fragments and the library's own needs to matter.
constexpr double kTight = 0.95;

struct Part {
  const char* key;
  const char* text;
  int64_t MemoryParts::*bytes;
};

constexpr Part kParts[] = {
    {"parameters", "parameters", &MemoryParts::parameters},
    {"gradients", "gradients", &MemoryParts::gradients},
    {"optimizer", "optimizer state", &MemoryParts::optimizer},
    {"buffers", "buffers", &MemoryParts::buffers},
    {"compute_copies", "parameters in the type of products", &MemoryParts::compute_copies},
    {"gathered", "gathered units", &MemoryParts::gathered},
    {"activations", "activations", &MemoryParts::activations},
    {"converters", "of converters", &MemoryParts::converters},
};

EstimateJson parts_json(const MemoryParts& parts) {
  EstimateJson made;
  for (const Part& part : kParts) made[part.key] = parts.*part.bytes;
  made["total"] = parts.total();
  return made;
}

/// "1.23 PFLOPs"
std::string flops_text(double flops) {
  const std::pair<double, const char*> units[] = {
      {1e18, "EFLOPs"}, {1e15, "PFLOPs"}, {1e12, "TFLOPs"}, {1e9, "GFLOPs"}};
  for (const auto& [size, name] : units)
    if (flops >= size) return fixed_point(flops / size, 2) + " " + name;
  return fixed_point(flops / 1e6, 2) + " MFLOPs";
}

std::string seconds_text(double seconds) {
  return seconds < 1 ? fixed_point(1000 * seconds, 1) + " ms" : fixed_point(seconds, 1) + " s";
}

/// Whole percents; no "-0 %".
std::string percent_text(double share) { return std::to_string(std::llround(100 * share)) + " %"; }

double executed_flops(const StepEstimate& estimate) {
  return estimate.flops + estimate.recomputed_flops;
}

/// Seconds, if the device's rate is known.
std::optional<double> least_seconds(const StepEstimate& estimate, const EstimateHeader& header) {
  if (!header.peak.flops) return std::nullopt;
  return executed_flops(estimate) / *header.peak.flops;
}

enum class Fit { kFits, kTightly, kNot };

Fit fit_on(const StepEstimate& estimate, const converters::ExampleDevice& device) {
  const auto needed = static_cast<double>(estimate.peak.total()),
             there = static_cast<double>(device.memory_bytes);
  return needed > there ? Fit::kNot : needed > kTight * there ? Fit::kTightly : Fit::kFits;
}

std::string memory_table(const StepEstimate& estimate) {
  std::vector<std::string> headers = {"one device", "during a step", "at the peak"};
  const bool several = estimate.devices > 1;
  if (several) headers.push_back("all " + with_commas(estimate.devices) + ", during a step");
  Table table(headers);
  for (size_t column = 1; column < headers.size(); ++column)
    table.align(column, Table::Align::kRight);
  for (const Part& part : kParts) {
    const int64_t during = estimate.states.*part.bytes, peak = estimate.peak.*part.bytes;
    if (during == 0 && peak == 0) continue;
    std::vector<std::string> row = {part.text, memory_text(during), memory_text(peak)};
    if (several) row.push_back(memory_text(during * estimate.devices));
    table.add_row(std::move(row));
  }
  table.add_row({"together", "", memory_text(estimate.peak.total())});
  return table.render();
}

std::string knob_table(const StepEstimate& estimate, const std::vector<TriedKnob>& knobs) {
  Table table({"instead", "peak", "saves", "FLOPs a token"});
  for (size_t column = 1; column < 4; ++column) table.align(column, Table::Align::kRight);
  const auto peak = static_cast<double>(estimate.peak.total());
  const auto of_token = [](const StepEstimate& one) {
    return executed_flops(one) * static_cast<double>(one.devices) / static_cast<double>(one.tokens);
  };
  std::string problems;
  for (const TriedKnob& knob : knobs) {
    if (!knob.estimate) {
      problems += knob.text + ": not estimated, " + knob.problem + "\n";
      continue;
    }
    const int64_t other = knob.estimate->peak.total();
    table.add_row({knob.text, memory_text(other),
                   percent_text(1 - static_cast<double>(other) / peak),
                   fixed_point(of_token(*knob.estimate) / of_token(estimate), 2) + "x"});
  }
  return table.render() + problems;
}

}  // namespace

std::string memory_text(int64_t bytes) {
  const auto size = static_cast<double>(bytes);
  constexpr double kGib = 1073741824.0, kMib = 1048576.0;
  return size >= kGib ? fixed_point(size / kGib, 2) + " GiB" : fixed_point(size / kMib, 1) + " MiB";
}

std::string fit_text(const StepEstimate& estimate, const EstimateHeader& header) {
  std::string fits, tight, not_on;
  for (const converters::ExampleDevice& device : header.candidates) {
    const Fit fit = fit_on(estimate, device);
    std::string& list = fit == Fit::kFits ? fits : fit == Fit::kTightly ? tight : not_on;
    list += (list.empty() ? "" : ", ") + device.name + " (" +
            memory_text(static_cast<int64_t>(device.memory_bytes)) + ")";
  }
  std::string text;
  const auto add = [&](const std::string& what, const std::string& list) {
    if (!list.empty()) text += (text.empty() ? "" : "; ") + what + list;
  };
  add("fits on ", fits);
  add("hardly fits on ", tight);
  add("does not fit on ", not_on);
  return text.empty() ? "the device's memory is not known" : text;
}

std::string estimate_text(const StepEstimate& estimate, const EstimateHeader& header,
                          const std::vector<TriedKnob>& knobs) {
  std::string text = "config  " + header.config + "\nmodel   " + header.model + ": " +
                     with_commas(estimate.parameters) + " parameters";
  if (estimate.trainable != estimate.parameters)
    text += ", " + with_commas(estimate.trainable) + " of them trained";
  text += "\nstep    " + with_commas(estimate.tokens) + " tokens, " +
          with_commas(estimate.micro_batches) +
          (estimate.micro_batches == 1 ? " micro-batch" : " micro-batches") + " on " +
          (estimate.devices == 1 ? "one device"
                                 : "each of " + with_commas(estimate.devices) + " devices") +
          "\ndevice  " + header.device + "\n\n" + memory_table(estimate) + "\nverdict " +
          fit_text(estimate, header) + "\n";
  text += "work    " + flops_text(executed_flops(estimate)) + " a step" +
          (estimate.devices > 1 ? " and device" : "");
  if (estimate.recomputed_flops > 0)
    text += ", of which " + percent_text(estimate.recomputed_flops / executed_flops(estimate)) +
            " are recomputed";
  if (const auto seconds = least_seconds(estimate, header))
    text += "\ntime    at least " + seconds_text(*seconds) + ", at the peak of " +
            with_commas(std::llround(*header.peak.flops / 1e12)) + " TFLOPS; " +
            seconds_text(*seconds / kUsualMfu) + " at " + fixed_point(100 * kUsualMfu, 0) +
            " % of it";
  else
    text += "\ntime    not known, as the rate of the device is not";
  text += "\n";
  for (const std::string& line : estimate.assumptions) text += "assumed " + line + "\n";
  if (!knobs.empty()) text += "\n" + knob_table(estimate, knobs);
  return text;
}

std::string estimate_json(const StepEstimate& estimate, const EstimateHeader& header,
                          const std::vector<TriedKnob>& knobs) {
  EstimateJson root = {{"config", header.config},
                       {"model", header.model},
                       {"device", header.device},
                       {"parameters", estimate.parameters},
                       {"trainable_parameters", estimate.trainable},
                       {"devices", estimate.devices},
                       {"shard_degree", estimate.shard_degree},
                       {"micro_batches", estimate.micro_batches},
                       {"tokens", estimate.tokens}};
  root["during_step"] = parts_json(estimate.states);
  root["at_peak"] = parts_json(estimate.peak);
  root["flops"] = estimate.flops;
  root["recomputed_flops"] = estimate.recomputed_flops;
  const auto seconds = least_seconds(estimate, header);
  root["least_seconds"] = seconds ? EstimateJson(*seconds) : EstimateJson(nullptr);
  EstimateJson& fits = root["fits"] = EstimateJson::array();
  for (const converters::ExampleDevice& device : header.candidates)
    fits.push_back({{"device", device.name},
                    {"memory_bytes", device.memory_bytes},
                    {"fits", fit_on(estimate, device) != Fit::kNot}});
  root["assumptions"] = estimate.assumptions;
  EstimateJson& tried = root["knobs"] = EstimateJson::array();
  for (const TriedKnob& knob : knobs) {
    if (!knob.estimate) {
      tried.push_back({{"set", knob.text}, {"problem", knob.problem}});
      continue;
    }
    tried.push_back({{"set", knob.text},
                     {"peak_bytes", knob.estimate->peak.total()},
                     {"saved_bytes", estimate.peak.total() - knob.estimate->peak.total()},
                     {"flops", knob.estimate->flops},
                     {"recomputed_flops", knob.estimate->recomputed_flops},
                     {"tokens", knob.estimate->tokens}});
  }
  return root.dump(2) + "\n";
}

}  // namespace titan::train
