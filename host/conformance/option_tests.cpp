/// The test options: values at the bounds of each option, and random ones of all together.
#include <c10/util/Exception.h>

#include <algorithm>
#include <random>

#include "base/error.h"
#include "conformance/probe.h"
#include "conformance/progress_note.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"

namespace titan::conformance {
namespace {

using config::OptionSchema;
using config::OptionType;
using config::OptionValue;
using config::Scalar;

/// Where an option says no bound. Larger ones would test the machine's memory.
constexpr int64_t kLargeInt = 65536;
constexpr double kLargeFloat = 1e6;

/// Values at the ends of what the schema allows of one item.
std::vector<Scalar> boundary_items(const OptionSchema& option) {
  switch (option.type) {
    case OptionType::kBool: return {false, true};
    case OptionType::kInt: {
      const double low = option.min.value_or(-1),
                   high = option.max.value_or(std::max<double>(low, kLargeInt));
      return {static_cast<int64_t>(low), static_cast<int64_t>(high)};
    }
    case OptionType::kFloat: {
      const double low = option.min.value_or(-kLargeFloat),
                   high = option.max.value_or(std::max(low, kLargeFloat));
      return {low, high};
    }
    case OptionType::kEnum: return {option.values.begin(), option.values.end()};
    case OptionType::kString:
      return {std::string(), std::string(300, 'x'), std::string("\xc3\xa4 \"'\\")};
    case OptionType::kPath: return {std::string(), std::string("/nowhere/at/all")};
  }
  return {};
}

std::vector<OptionValue> boundary_values(const OptionSchema& option) {
  std::vector<OptionValue> values;
  if (option.is_list) values.push_back({true, {}});
  for (const Scalar& item : boundary_items(option)) values.push_back({option.is_list, {item}});
  return values;
}

OptionValue random_value(const OptionSchema& option, std::mt19937_64& random) {
  const auto draw = [&]() -> Scalar {
    const std::vector<Scalar> ends = boundary_items(option);
    if (option.type == OptionType::kInt)
      return std::uniform_int_distribution<int64_t>(
          std::get<int64_t>(ends.front()),
          std::min(std::get<int64_t>(ends.back()), std::get<int64_t>(ends.front()) + 64))(random);
    if (option.type == OptionType::kFloat)
      return std::uniform_real_distribution<double>(std::get<double>(ends.front()),
                                                    std::get<double>(ends.back()))(random);
    return ends[random() % ends.size()];
  };
  // Half of the time the default: most random texts are refused at once.
  if (option.default_value && random() % 2 == 0) return *option.default_value;
  OptionValue value{option.is_list, {}};
  const size_t items = option.is_list ? random() % 3 : 1;
  for (size_t i = 0; i < items; ++i) value.items.push_back(draw());
  return value;
}

struct OptionCounts {
  int64_t worked = 0, refused = 0;
};

/// A whole life with these options; a failure unless it works or is refused in words.
void try_options(const converters::Registry& registry, const config::ConverterRequest& request,
                 Findings& findings, OptionCounts& counts) {
  const std::string what = options_text(request.options);
  set_progress_note("a run with " + what);
  reset_probe();
  try {
    TrialModel model(registry, {request}, {.n_layers = 1});
    model.train_step(0);
    ++counts.worked;
  } catch (const Error& error) {
    ++counts.refused;
    const bool silent = std::string(error.what()).find("without saying why") != std::string::npos;
    if (silent || (error.status() != ExitStatus::kUsage && !probe_record().plugin_said))
      findings.fail("with " + what + ": " + error.what(),
                    silent ? "call set_error before every failing return"
                           : "check options in create() and refuse what cannot work");
    else if (error.status() != ExitStatus::kUsage)
      findings.warn("with " + what + " it refuses only while it runs: " + std::string(error.what()),
                    "check options in create() or convert(), before any weight exists");
  } catch (const c10::Error&) {
    ++counts.refused;  // torch's own limits: memory, sizes
  }
}

}  // namespace

void test_options(const Subject& subject, Findings& findings) {
  const converters::Registry registry = registry_of(subject);
  const config::ConverterRequest base = subject.request();
  OptionCounts counts;
  try_options(registry, base, findings, counts);
  for (const OptionSchema& option : subject.converter.options)
    for (const OptionValue& value : boundary_values(option)) {
      config::ConverterRequest request = base;
      request.options[option.name] = value;
      try_options(registry, request, findings, counts);
    }
  std::mt19937_64 random(subject.seed);
  constexpr int kRandomCases = 8;
  for (int i = 0; i < kRandomCases && !subject.converter.options.empty(); ++i) {
    config::ConverterRequest request = base;
    for (const OptionSchema& option : subject.converter.options)
      request.options[option.name] = random_value(option, random);
    try_options(registry, request, findings, counts);
  }
  set_progress_note("");
  findings.pass(std::to_string(counts.worked) + " combinations work, " +
                std::to_string(counts.refused) + " are refused with a text (seed " +
                std::to_string(subject.seed) + ")");
}

}  // namespace titan::conformance
