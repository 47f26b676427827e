/// Tests of registration: load, older-host, later-host.
#include <ATen/Parallel.h>

#include <chrono>

#include "base/error.h"
#include "base/numbers.h"
#include "conformance/probe.h"
#include "conformance/tests.h"
#include "conformance/trial_model.h"
#include "converters/plugin_converter.h"

namespace titan::conformance {
namespace {

std::string names_of_converters(const plugins::LoadedPlugin& plugin) {
  std::string names;
  for (const titan_converter& converter : plugin.converters)
    names += (names.empty() ? "" : ", ") + std::string(converter.name.data, converter.name.size);
  return names;
}

/// Whether the plugin itself said no, in words. What the host had to find out is no refusal.
bool refused_with_text(const Error& error) {
  return probe_record().plugin_said &&
         std::string(error.what()).find("without saying why") == std::string::npos;
}

}  // namespace

void test_load(const Subject& subject, Findings& findings) {
  reset_probe();
  const auto begin = std::chrono::steady_clock::now();
  const plugins::LoadedPlugin plugin = load_subject(subject);
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const ProbeRecord record = probe_record();
  if (record.refused_uses > 0)
    findings.fail(record.first_refusal, "use the registrar in register_converters only");
  constexpr double kSlow = 2;
  if (seconds > kSlow)
    findings.warn(
        "loading took " + fixed_point(seconds, 1) + " s: every start of titan waits for it",
        "move work from static constructors and register_converters to create()");
  if (load_subject(subject).converters.size() != plugin.converters.size())
    findings.fail("a second load gives other converters", "report it to titan");
  findings.pass("registers " + names_of_converters(plugin) + " in " +
                fixed_point(seconds * 1000, 1) + " ms");
}

void test_older_host(const Subject& subject, Findings& findings) {
  at::set_num_threads(1);
  reset_probe();
  try {
    const plugins::LoadedPlugin plugin = load_subject(subject, &oldest_host());
    converters::Registry registry;
    converters::register_plugin(registry, plugin);
    registry.freeze();
    size_t worked = 0;
    for (const config::ConverterSchema& converter : subject.judged.description->converters) {
      Subject one = subject;
      one.converter = converter;
      if (const auto claims = subject.judged.description->claims.find(converter.name);
          claims != subject.judged.description->claims.end())
        one.claims = claims->second;
      if (!one.missing_options().empty()) continue;
      reset_probe();
      try {
        TrialModel model(registry, {one.request()}, {.n_layers = 1});
        model.train_step(0);
        ++worked;
      } catch (const Error& error) {
        if (!refused_with_text(error))
          findings.fail(
              "converter '" + converter.name + "' on a host without extensions: " + error.what(),
              "ask get_extension for NULL, and say with set_error what is missing");
      }
    }
    findings.pass(worked > 0 ? "works" : "loads, and refuses with a text what needs an extension");
  } catch (const Error& error) {
    if (!refused_with_text(error)) throw;
    findings.pass(std::string("refuses with a text: ") + error.what());
  }
}

void test_later_host(const Subject& subject, Findings& findings) {
  const plugins::LoadedPlugin plugin = load_subject(subject, &later_host());
  findings.pass("registers " + names_of_converters(plugin));
}

}  // namespace titan::conformance
