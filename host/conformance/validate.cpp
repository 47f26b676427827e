#include "conformance/validate.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/program.h"
#include "conformance/report.h"
#include "conformance/runner.h"
#include "titan/version.h"

namespace titan::conformance {
namespace {

constexpr const char* kFooter = R"(
Examples:
  titan-plugin-validate build/scale.so
  titan-plugin-validate build/scale.so --only gradients,numerics --seed 7
  titan-plugin-validate float8.so --option emulate=true --json

Exit status: 0 no test failed, 1 a test failed, 2 usage, or the file is no plugin.)";

/// A folder that is gone when the program ends, whatever the tests left there.
class Scratch {
 public:
  Scratch() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "titan-validate-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw environment_error("no scratch folder can be made", pattern,
                              "set TMPDIR to a folder that can be written");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Arguments {
  std::string file;
  std::vector<std::string> only, options;
  uint64_t seed = 0;
  double time_limit = 30;  ///< seconds
  bool json = false, list = false;
};

int run_arguments(const Arguments& arguments) {
  if (arguments.list) {
    std::cout << list_text();
    return 0;
  }
  if (arguments.file.empty())
    throw usage_error("no file was named", "titan-plugin-validate",
                      "titan-plugin-validate FILE.so; --help shows the options");
  if (!(arguments.time_limit > 0 && arguments.time_limit <= 86400))
    throw usage_error("the time limit is not above 0 and at most 86400 seconds", "--time-limit",
                      "leave it out for 30 s a test");
  const std::vector<Test> tests = choose_tests(arguments.only);

  Subject file;
  plugins::JudgeOptions judge;
  judge.torch_version = TITAN_TORCH_VERSION;
  judge.torch_build = TITAN_TORCH_BUILD;
  judge.with_sha256 = true;
  const auto path = std::filesystem::absolute(arguments.file).lexically_normal();
  file.judged = plugins::Judge(judge).judge(path);
  const plugins::Verdict& verdict = file.judged.verdict;
  if (verdict.outcome == plugins::Outcome::kSkipped || !file.judged.identity.inode)
    throw usage_error(verdict.reason_with_rule(), printable_path(path.native()), verdict.hint);
  file.seed = arguments.seed;
  file.limit = std::chrono::milliseconds(static_cast<int64_t>(arguments.time_limit * 1000));
  std::map<std::string, std::map<std::string, config::OptionValue>> given;
  for (const std::string& option : arguments.options)
    add_given_option(file.judged.description.value_or(plugins::PluginDescription()), option, given);
  const Scratch scratch;
  file.scratch = scratch.path();

  const bool color = !arguments.json && isatty(STDOUT_FILENO);
  std::optional<TestResult> above;
  const auto done = [&](const TestResult& result) {
    if (!arguments.json)
      std::cout << result_text(result, above ? &*above : nullptr, color) << std::flush;
    above = result;
  };
  if (!arguments.json && file.judged.description)
    std::cout << file.judged.description->name << " " << file.judged.description->version << ", "
              << printable_path(path.native()) << "\n";
  const std::vector<TestResult> results = run_tests(tests, file, given, done);
  std::cout << (arguments.json ? report_json(results, file) : summary_text(results, file));
  for (const TestResult& result : results)
    if (result.findings.failed()) return 1;
  return 0;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app{"Tests one titan plugin: contract, life cycle, and numbers against the stock model.",
               "titan-plugin-validate"};
  app.footer(kFooter);
  app.set_version_flag("--version",
                       "titan-plugin-validate " TITAN_SDK_VERSION " (plugin API level " +
                           std::to_string(TITAN_API_LEVEL) + ", LibTorch " TITAN_TORCH_VERSION ")");
  Arguments arguments;
  app.add_option("file", arguments.file, "the .so file");
  app.add_flag("--json", arguments.json, "one JSON object in place of lines");
  app.add_option("--only", arguments.only, "these tests alone, separated by commas")
      ->delimiter(',')
      ->allow_extra_args(false);
  app.add_option("--seed", arguments.seed,
                 "of everything that is drawn (0); another one tries other numbers");
  app.add_option("--time-limit", arguments.time_limit, "seconds for one test (30)");
  app.add_option("--option", arguments.options,
                 "NAME=VALUE of a converter's option; may be repeated")
      ->allow_extra_args(false);
  app.add_flag("--list", arguments.list, "the tests, and what a pass says");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::cout << version.what() << "\n";
    return 0;
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what(), "titan-plugin-validate", "see titan-plugin-validate --help");
  }
  return run_arguments(arguments);
}

}  // namespace

int validate(int argc, char** argv) {
  set_log_level(LogLevel::kError);
  return run_program([&] { return parse_and_run(argc, argv); });
}

}  // namespace titan::conformance
