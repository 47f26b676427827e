/// The child sends what it found as JSON; everything else it does is a finding, too.
#include "plugins/probe.h"

#include <titan/version.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "base/child_call.h"
#include "base/error.h"
#include "base/os_error.h"
#include "base/printable.h"
#include "base/text_list.h"
#include "plugins/loader.h"

namespace titan::plugins {
namespace {

using ProbeJson = nlohmann::json;

/// In the child.
std::string load_and_tell(const JudgedPlugin& judged, const titan_host& host) {
  ProbeJson answer;
  try {
    const LoadedPlugin plugin = load_plugin(judged, host);
    answer["converters"] = ProbeJson::array();
    for (const config::ConverterSchema& converter : plugin.description.converters)
      answer["converters"].push_back(converter.name);
    answer["note"] = plugin.description.note;
    answer["functions"] = ProbeJson::array();
    for (const titan_converter& table : plugin.converters) {
      std::string functions = "convert";
      if (table.create) functions = "create, " + functions;
      if (table.after_init) functions += ", after_init";
      if (table.post_optimizer_hook) functions += ", post_optimizer_hook";
      answer["functions"].push_back(std::string(table.name.data, table.name.size) + " (" +
                                    functions + ")");
    }
  } catch (const LoadError& error) {
    answer = {{"gate", static_cast<int>(error.gate())},
              {"reason", error.reason()},
              {"hint", error.hint()},
              {"rule", static_cast<int>(error.rule())}};
  } catch (const Error& error) {  // the disk, not the file
    answer = {{"gate", static_cast<int>(Gate::kLoad)},
              {"reason", error.what()},
              {"hint", error.hint()},
              {"rule", static_cast<int>(Rule::kLoadable)}};
  }
  return answer.dump(-1, ' ', false, ProbeJson::error_handler_t::replace);
}

/// What the plugin itself printed, in one line: the end of it, without the line that names the
/// crash.
std::string own_words(std::string_view output) {
  if (const size_t marker = output.find(" inside plugin '"); marker != std::string_view::npos) {
    const size_t line = output.substr(0, marker).rfind("error: ");
    output = output.substr(0, line == std::string_view::npos ? 0 : line);
  }
  while (!output.empty() && std::isspace(static_cast<unsigned char>(output.back())))
    output.remove_suffix(1);
  constexpr size_t kMost = 300;
  if (output.size() > kMost) output.remove_prefix(output.size() - kMost);
  std::string text = printable(output);
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

/// The finding about a child that never answered.
GateResult broken_child(const ChildOutcome& outcome) {
  // The line that names a crash says which of the two was running.
  const bool registering = outcome.output.find(", register_converters") != std::string::npos;
  GateResult result{
      registering ? Gate::kRegister : Gate::kLoad, Outcome::kRefused, {}, {}, Rule::kNoExceptions};
  const char* when = registering ? "in register_converters" : "while it was loaded";
  switch (outcome.end) {
    case ChildOutcome::End::kTimeout:
      result.text =
          std::string("hung ") + when + ": the trial process " + outcome.how() + " and was killed";
      result.hint =
          "report it to the plugin's author; if it only is slow to load, raise "
          "plugins.load_timeout_seconds";
      break;
    case ChildOutcome::End::kExited:
      result.text = std::string("ended the process ") + when + " (exit() or _exit())";
      result.hint =
          "a plugin returns a status and never ends the process; of a build with a sanitizer "
          "preload the runtime "
          "(LD_PRELOAD=$(gcc -print-file-name=libasan.so))";
      break;
    case ChildOutcome::End::kSignal:
      result.text = std::string("crashed ") + when + ": the trial process " + outcome.how();
      result.hint =
          "report it to the plugin's author; static constructors and register_converters should "
          "only register";
      break;
    default:
      throw environment_error(
          "a process to try plugins in " + outcome.how(), "",
          cure_of_os_error(outcome.number,
                           "free memory, or raise the limits of processes and open files "
                           "(ulimit -u, ulimit -n)"));
  }
  if (const std::string words = own_words(outcome.output); !words.empty())
    result.text += "; it printed: " + words;
  return result;
}

/// Completes what a plugin without a note in its file did not tell.
void learn(JudgedPlugin& judged, const ProbeJson& answer) {
  const std::string note = answer.at("note").get<std::string>();
  if (!note.empty()) {
    const Tier tier = judged.description->tier;
    judged.description = parse_note(note, TITAN_API_LEVEL).description;
    judged.description->tier = std::max(judged.description->tier, tier);
  } else {
    judged.description->converters.clear();
    for (const ProbeJson& name : answer.at("converters"))
      judged.description->converters.push_back({name.get<std::string>(), {}, {}, {}});
  }
  for (config::ConverterSchema& converter : judged.description->converters)
    converter.origin = printable_path(judged.path.native());
}

}  // namespace

void probe_plugin(JudgedPlugin& judged, const titan_host& host, std::chrono::milliseconds limit) {
  const bool before =
      std::any_of(judged.gates.begin(), judged.gates.end(),
                  [](const GateResult& result) { return result.gate == Gate::kLoad; });
  if (judged.verdict.outcome != Outcome::kLoadable || before) return;
  const ChildOutcome outcome = call_in_child([&] { return load_and_tell(judged, host); }, limit);
  const auto pass = [&](Gate gate, std::string text) {
    judged.add({gate, Outcome::kLoadable, std::move(text), {}, Rule::kNone});
  };
  GateResult stopped;
  ProbeJson answer;
  if (!outcome.answered()) {
    stopped = broken_child(outcome);
  } else {
    answer = ProbeJson::parse(outcome.answer);
    if (answer.contains("gate"))
      stopped = {static_cast<Gate>(answer.at("gate").get<int>()), Outcome::kRefused,
                 answer.at("reason").get<std::string>(), answer.at("hint").get<std::string>(),
                 static_cast<Rule>(answer.at("rule").get<int>())};
    else if (outcome.left_processes)
      stopped = {Gate::kLoad, Outcome::kRefused,
                 "starts a process while it is loaded, which outlives its loading",
                 "start nothing in static constructors and register_converters",
                 Rule::kNoExceptions};
  }
  const bool failed = stopped.outcome != Outcome::kLoadable;
  const auto behind = [&](Gate gate) { return !failed || stopped.gate > gate; };
  if (behind(Gate::kLoad)) pass(Gate::kLoad, "the dynamic loader took it in a trial process");
  if (behind(Gate::kIdentity)) pass(Gate::kIdentity, "the mapped file is the one that was checked");
  if (failed) return judged.add(std::move(stopped));
  if (!judged.has_note()) {
    learn(judged, answer);
    try {
      if (judged.policy)
        judged.policy->check(judged.description->name, judged.path.native(), judged.sha256);
    } catch (const GateStop& stop) {
      return judged.add({Gate::kRegister, Outcome::kRefused, stop.reason, stop.hint, stop.rule});
    }
  }
  pass(Gate::kRegister,
       "registered " + joined(answer.at("functions").get<std::vector<std::string>>()));
}

Catalog probed(const Catalog& catalog, ProbeWhich which, const titan_host& host,
               std::chrono::milliseconds limit) {
  std::vector<CatalogEntry> entries = catalog.entries();
  for (CatalogEntry& entry : entries)
    if (which == ProbeWhich::kAll || !entry.judged.has_note()) {
      const auto start = std::chrono::steady_clock::now();
      probe_plugin(entry.judged, host, limit);
      const auto spent = std::chrono::steady_clock::now() - start;
      entry.microseconds += std::chrono::duration_cast<std::chrono::microseconds>(spent).count();
    }
  return Catalog(catalog.search(), std::move(entries));
}

}  // namespace titan::plugins
