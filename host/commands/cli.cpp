#include "commands/cli.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <new>
#include <string>

#include <c10/util/Exception.h>

#include "base/error.h"
#include "base/program.h"
#include "base/suggest.h"
#include "base/text_list.h"
#include "commands/completion_command.h"
#include "commands/config_command.h"
#include "commands/data_tools.h"
#include "commands/doctor_command.h"
#include "commands/estimate_command.h"
#include "commands/generate_command.h"
#include "commands/hf_tools.h"
#include "commands/plan_command.h"
#include "commands/plugin_tools.h"
#include "commands/plugins_command.h"
#include "commands/report_command.h"
#include "commands/train_command.h"
#include "titan/version.h"
#include "train/signals.h"

namespace titan::commands {
namespace {

constexpr const char* kExamples = R"(
Examples:
  titan train configs/llama3_debug.yaml
  titan train configs/llama3_debug.yaml --training.steps=20 --optimizer.lr=3e-4
  titan train configs/llama3_debug.yaml --model.converters=float8 --float8.emulate=true
  titan plan configs/llama3_405b.yaml --model.converters=float8 --device sm_90
  titan estimate configs/llama3_8b.yaml --device sm_90
  titan import HF_FOLDER --output ./llama
  titan export outputs/checkpoint/step-1000 --output ./llama-hf --dtype bfloat16
  titan report outputs
  titan doctor
  titan generate outputs/checkpoint/step-1000 --prompt "It is a truth" --temperature 0.7
  titan data tokenize texts/*.jsonl --tokenizer tokenizer.json --eos --output tokens.bin
  titan plugins list
  titan plugins new my_plugin
  titan config explain training
)";

constexpr const char* kStatuses = R"(
Any key of the config can be set as --section.key=value; the command line wins over the file.

Exit status: 0 done, 1 internal error (of doctor: problems), 2 usage, config, plugin refused or device unsupported,
3 environment, 4 data or checkpoint, 5 diverged, 6 a plugin failed while running,
129, 130 or 143 stopped by SIGHUP, SIGINT or SIGTERM.)";

/// Splits what CLI11 left over into at most one config file and the overrides.
ConfigArguments config_arguments(const std::vector<std::string>& rest, const std::string& command) {
  ConfigArguments arguments;
  const auto set_file = [&](const std::string& file) {
    if (arguments.file)
      throw usage_error("two config files: '" + arguments.file->string() + "' and '" + file + "'",
                        "titan " + command,
                        "give one file; set single keys with --section.key=value");
    arguments.file = file;
  };
  for (size_t i = 0; i < rest.size(); ++i) {
    // "--config FILE", and torchtitan's name for it.
    const std::string name = rest[i].substr(0, rest[i].find('='));
    if (name == "--config" || name == "--job.config_file") {
      const bool inside = name.size() < rest[i].size();
      if (!inside && i + 1 == rest.size())
        throw usage_error(name + " has no value", "titan " + command, name + " CONFIG.yaml");
      set_file(inside ? rest[i].substr(name.size() + 1) : rest[++i]);
    } else if (rest[i].rfind("--", 0) == 0) {
      arguments.overrides.push_back(rest[i]);
      // "--section.key value": the value is the next word, and a config file never follows a bare
      // key.
      const bool has_value = rest[i].find('=') != std::string::npos;
      const bool next_is_value = i + 1 < rest.size() && rest[i + 1].rfind("--", 0) != 0;
      const bool next_is_file = next_is_value && rest[i + 1].size() > 5 &&
                                (rest[i + 1].ends_with(".yaml") || rest[i + 1].ends_with(".yml"));
      if (!has_value && next_is_value && !next_is_file) arguments.overrides.push_back(rest[++i]);
    } else if (rest[i].rfind('-', 0) == 0 && rest[i].size() > 1) {
      throw usage_error("unknown option '" + rest[i] + "'", "titan " + command,
                        "keys are written --section.key=value; see titan " + command + " --help");
    } else if (const size_t equals = rest[i].find('=');
               equals != std::string::npos && !std::filesystem::exists(rest[i])) {
      throw usage_error("'" + rest[i] + "' is no file and no option", "titan " + command,
                        "did you mean '--" + rest[i] + "'?");
    } else {
      set_file(rest[i]);
    }
  }
  return arguments;
}

int dispatch(int argc, char** argv) {
  train::ignore_file_size_signal();
  CLI::App app{"titan trains Llama-class models; plugins change the model.", "titan"};
  app.footer(kStatuses);  // of every command; the examples are those of titan itself
  app.set_version_flag("--version", "titan " TITAN_SDK_VERSION " (plugin API level " +
                                        std::to_string(TITAN_API_LEVEL) +
                                        ", LibTorch " TITAN_TORCH_VERSION ")");
  app.require_subcommand(0, 1);
  app.fallthrough(false);

  bool json = false;
  std::string what;
  CLI::App* train_app = app.add_subcommand(
      "train", "train a model: titan train CONFIG.yaml [--section.key=value ...]");
  bool dry_train = false;
  train_app->add_flag("--dry-run", dry_train,
                      "check everything and say what the run would be, without taking a step");
  train_app->allow_extras();
  CLI::App* plugins_app =
      app.add_subcommand("plugins", "what plugins are found, and what is known about them");
  plugins_app->require_subcommand(0, 1);
  CLI::App* list_app = plugins_app->add_subcommand(
      "list", "every file with its verdict [CONFIG.yaml] [--plugins.paths=...]");
  list_app->add_flag("--json", json, "as JSON");
  bool dry = false;
  list_app->add_flag("--dry", dry,
                     "run no plugin code: files without a note then do not tell what they offer");
  list_app->allow_extras();
  CLI::App* inspect_app =
      plugins_app->add_subcommand("inspect", "one plugin in full, without running it");
  inspect_app->add_option("what", what, "a .so file, or the name of a plugin or converter");
  inspect_app->add_flag("--json", json, "as JSON");
  bool markdown = false;
  inspect_app->add_flag("--markdown", markdown, "as a page for people")->excludes("--json");
  inspect_app->allow_extras();
  const PluginTools plugin_tools(*plugins_app);

  CLI::App* why_app = plugins_app->add_subcommand(
      "why", "how far a plugin comes, gate by gate: why it is used or not");
  why_app->add_option("what", what, "a converter, a plugin or a .so file");
  why_app->add_flag("--json", json, "as JSON");
  why_app->allow_extras();
  CLI::App* plugins_doctor_app = plugins_app->add_subcommand(
      "doctor", "tries every plugin in a process of its own; reports all problems");
  plugins_doctor_app->add_flag("--json", json, "as JSON");
  plugins_doctor_app->allow_extras();

  std::string device;
  CLI::App* plan_app = app.add_subcommand(
      "plan",
      "what the converters would change, without a weight: CONFIG.yaml [--section.key=value ...]");
  plan_app->add_option("--device", device,
                       "plan for another device: cpu, sm_80, sm_89, sm_90, sm_100, ...");
  plan_app->add_flag("--json", json, "as JSON, with every module");
  plan_app->allow_extras();
  CLI::App* estimate_app = app.add_subcommand(
      "estimate",
      "memory and work of a step, before it is run: CONFIG.yaml [--section.key=value ...]");
  estimate_app->add_option("--device", device,
                           "for another device: cpu, sm_80, sm_89, sm_90, sm_100, ...");
  estimate_app->add_flag("--json", json, "as JSON, in bytes");
  estimate_app->allow_extras();

  const HfTools hf_tools(app);
  const GenerateCommand generate_command(app);

  bool origins = false;
  std::string key;
  CLI::App* config_app = app.add_subcommand("config", "what a config means, without training");
  config_app->require_subcommand(0, 1);
  CLI::App* show_app = config_app->add_subcommand(
      "show", "the merged config, itself a valid config: CONFIG.yaml [--section.key=value ...]");
  show_app->add_flag("--origin", origins, "say where each value comes from");
  show_app->allow_extras();
  CLI::App* check_app = config_app->add_subcommand(
      "check", "checks a config and the options of its converters; runs no plugin");
  check_app->allow_extras();
  CLI::App* explain_app = config_app->add_subcommand(
      "explain", "what a key, section or converter is for; everything without a name");
  explain_app->add_option("key", key, "for example optimizer.lr, optimizer, float8.recipe");
  explain_app->allow_extras();
  CLI::App* schema_app = config_app->add_subcommand(
      "schema", "the JSON Schema of configs, with the plugins that are found");
  schema_app->allow_extras();

  CLI::App* data_app = app.add_subcommand("data", "prepares data ahead of training");
  data_app->require_subcommand(0, 1);
  const DataTools data_tools(*data_app);
  CLI::App* doctor_app = app.add_subcommand(
      "doctor", "whether this machine can train; versions for bug reports: [CONFIG.yaml]");
  doctor_app->add_flag("--json", json, "as JSON");
  doctor_app->allow_extras();

  std::vector<std::string> runs;
  std::string output;
  CLI::App* report_app = app.add_subcommand(
      "report", "one HTML page with curves, config, plugins and system of runs: RUN [RUN ...]");
  report_app->add_option("run", runs, "dump folders of runs, or metrics.jsonl files");
  report_app->add_option(
      "-o,--output", output,
      "where the page goes; default: report.html in the first RUN; -: standard output");

  std::string shell;
  CLI::App* completion_app =
      app.add_subcommand("completion", "prints the completion script of a shell: bash or zsh");
  completion_app->add_option("shell", shell, "bash or zsh");
  // What those scripts call at every press of the key: `titan complete BREAKS LINE`.
  if (argc == 4 && std::string(argv[1]) == "complete") {
    print_candidates(app, argv[3], argv[2]);
    return 0;
  }

  // CLI11 knows no suggestions: catch a mistyped subcommand before it does.
  const auto check_word = [](int count, char** words, int at, const CLI::App& parent,
                             const std::string& place) {
    if (at >= count || words[at][0] == '-') return;
    std::vector<std::string> names;
    for (const CLI::App* sub : parent.get_subcommands(nullptr)) names.push_back(sub->get_name());
    for (const std::string& name : names)
      if (name == words[at]) return;
    throw usage_error("unknown command '" + std::string(words[at]) + "'", place,
                      did_you_mean(words[at], names) + "commands: " + joined(names));
  };
  check_word(argc, argv, 1, app, "titan");
  if (argc > 1 && std::string(argv[1]) == "plugins")
    check_word(argc, argv, 2, *plugins_app, "titan plugins");
  if (argc > 1 && std::string(argv[1]) == "data")
    check_word(argc, argv, 2, *data_app, "titan data");
  if (argc > 1 && std::string(argv[1]) == "config")
    check_word(argc, argv, 2, *config_app, "titan config");

  app.footer(std::string(kExamples) + kStatuses);
  // CLI11 reads "--prompt=" as if the next word were the value; here it is an empty one. Keys of
  // the config have a dot, and are not its business.
  std::vector<std::string> words;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    const bool empty =
        word.starts_with("--") && word.ends_with('=') && word.find('.') == std::string::npos;
    if (empty) word.pop_back();
    words.push_back(std::move(word));
    if (empty) words.emplace_back();
  }
  std::reverse(words.begin(), words.end());  // as CLI11 wants them
  try {
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    // --help of a subcommand prints that subcommand.
    const CLI::App* shown = &app;
    while (!shown->get_subcommands().empty()) shown = shown->get_subcommands().front();
    std::cout << shown->help();
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what(), "titan", "see titan --help");
  }

  if (*train_app) {
    return train(config_arguments(train_app->remaining(), "train"), {argv, argv + argc}, dry_train);
  } else if (*list_app) {
    plugins_list(config_arguments(list_app->remaining(), "plugins list"), json, dry);
  } else if (*inspect_app && markdown) {
    plugins_page(config_arguments(inspect_app->remaining(), "plugins inspect"), what);
  } else if (*inspect_app) {
    if (!plugins_inspect(config_arguments(inspect_app->remaining(), "plugins inspect"), what, json))
      return static_cast<int>(ExitStatus::kUsage);
  } else if (*why_app) {
    if (!plugins_why(config_arguments(why_app->remaining(), "plugins why"), what, json))
      return static_cast<int>(ExitStatus::kUsage);
  } else if (*plugins_doctor_app) {
    if (!plugins_doctor(config_arguments(plugins_doctor_app->remaining(), "plugins doctor"), json))
      return static_cast<int>(ExitStatus::kUsage);
  } else if (*doctor_app) {
    return doctor(config_arguments(doctor_app->remaining(), "doctor"), json) ? 0 : 1;
  } else if (const auto status = plugin_tools.run(config_arguments)) {
    return *status;
  } else if (const auto status = data_tools.run()) {
    return *status;
  } else if (*report_app) {
    report(runs, output);
  } else if (const auto status = hf_tools.run()) {
    return *status;
  } else if (generate_command.chosen()) {
    return generate_command.run(config_arguments);
  } else if (*completion_app) {
    print_completion(shell);
  } else if (*plan_app) {
    plan(config_arguments(plan_app->remaining(), "plan"),
         device.empty() ? std::nullopt : std::optional(device), json);
  } else if (*estimate_app) {
    estimate(config_arguments(estimate_app->remaining(), "estimate"),
             device.empty() ? std::nullopt : std::optional(device), json);
  } else if (*show_app) {
    config_show(config_arguments(show_app->remaining(), "config show"), origins);
  } else if (*check_app) {
    config_check(config_arguments(check_app->remaining(), "config check"));
  } else if (*explain_app) {
    config_explain(config_arguments(explain_app->remaining(), "config explain"), key);
  } else if (*schema_app) {
    config_schema(config_arguments(schema_app->remaining(), "config schema"));
  } else {
    const CLI::App* shown = &app;
    for (const CLI::App* group : {config_app, plugins_app, data_app})
      if (*group) shown = group;
    std::cout << shown->help();
    if (argc > 1) return static_cast<int>(ExitStatus::kUsage);
  }
  return 0;
}

Error out_of_memory() {
  return environment_error(
      "out of memory", "",
      "lower training.local_batch_size, training.seq_len or training.global_batch_size (whose "
      "micro-batches are held together), recompute activations (activation_checkpoint.mode: "
      "full), or use a smaller model");
}

Error error_of_torch(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (text.find("alloc_cpu") != std::string::npos ||
      text.find("out of memory") != std::string::npos)
    return out_of_memory();
  if (text.find("overflow") != std::string::npos)
    return usage_error("a tensor of this model would have more bytes than can be counted: " + text,
                       "model.args", "choose smaller sizes");
  return internal_error(text);
}

}  // namespace

int run(int argc, char** argv) {
  return run_program([&] {
    try {
      return dispatch(argc, argv);
    } catch (const c10::Error& error) {
      throw error_of_torch(error);
    } catch (const std::bad_alloc&) {
      throw out_of_memory();
    }
  });
}

}  // namespace titan::commands
