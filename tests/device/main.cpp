/// float8 on a real GPU: what holds there and how fast it is. scripts/device_check.sh builds and
/// runs it.
#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "parts.h"

namespace titan::device_check {
namespace {

constexpr int kNoGpu = 77;
constexpr int kDied = 70;

constexpr const char* kUsage =
    R"(usage: device_check --plugin FILE [--emulation FILE] [--json FILE] [--seconds N] [--only PART[,PART]]

Checks the float8 plugin on CUDA device 0.

  --plugin FILE     float8.so, which is trained with
  --emulation FILE  the plugin that emulates on the CPU; default: the same file
  --json FILE       where all numbers go, written after every part; default: device_check.json
  --seconds N       time for the whole run; what does not fit is reported as left out (time); default: 150
  --resume yes      goes on from the JSON file of a run that died, after the part in which it did
  --build-seconds N what building took, for the report
  --only PARTS      casts, layers, training, recording, kernels, speed: only these, after the description of the device

Exit status: 0 all held; 1 something did not hold or was left out for lack of time; 2 usage; 3 something is missing;
70 the device stopped answering: start again with --resume; 77 there is no GPU.
)";

struct Arguments {
  PluginFiles files;
  std::string json = "device_check.json";
  double seconds = 150;
  double build_seconds = 0;
  bool resume = false;
  std::set<std::string> only;  ///< empty: all
};

[[noreturn]] void refuse(const std::string& what) {
  throw usage_error(what, "the command line", "see device_check --help");
}

constexpr const char* kParts[] = {"casts", "layers", "training", "recording", "kernels", "speed"};

std::set<std::string> parts_in(const std::string& list) {
  std::set<std::string> parts;
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    if (std::find(std::begin(kParts), std::end(kParts), word) == std::end(kParts))
      refuse("--only knows no part '" + word + "'");
    parts.insert(word);
  }
  return parts;
}

double number_in(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const double value = strtod(text.c_str(), &end);
  if (end == text.c_str() || *end || !(value >= 0))
    refuse(option + " takes a number of seconds, found '" + text + "'");
  return value;
}

Arguments parse(const std::vector<std::string>& words) {
  Arguments arguments;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (i + 1 == words.size()) refuse("'" + word + "' is no option, or lacks its value");
    const std::string& value = words[++i];
    if (word == "--plugin")
      arguments.files.device = value;
    else if (word == "--emulation")
      arguments.files.emulation = value;
    else if (word == "--json")
      arguments.json = value;
    else if (word == "--resume")
      arguments.resume = value == "yes";
    else if (word == "--build-seconds")
      arguments.build_seconds = number_in(word, value);
    else if (word == "--only")
      arguments.only = parts_in(value);
    else if (word == "--seconds")
      arguments.seconds = number_in(word, value);
    else
      refuse("there is no option '" + word + "'");
  }
  if (arguments.files.device.empty()) refuse("--plugin FILE is missing");
  if (arguments.files.emulation.empty()) arguments.files.emulation = arguments.files.device;
  return arguments;
}

int run(const Arguments& arguments) {
  Report report(arguments.json, arguments.seconds, arguments.resume);
  const auto platform = open_platform();
  report.measured("build_seconds") = arguments.build_seconds;
  const PluginFiles& files = arguments.files;
  const std::pair<const char*, std::function<void()>> parts[] = {
      {"device", [&] { describe_device(*platform, report); }},
      {"casts", [&] { check_casts(*platform, report); }},
      {"layers", [&] { check_layers(*platform, report); }},
      {"training", [&] { check_training(*platform, report, files); }},
      {"recording",
       [&] {
         check_layer_recording(*platform, report);
         check_model_recording(*platform, report, files);
       }},
      {"kernels", [&] { measure_kernels(*platform, report); }},
      {"speed", [&] { measure_layers(*platform, report); }},
  };
  for (const auto& [name, part] : parts) {
    const bool wanted =
        arguments.only.empty() || arguments.only.count(name) > 0 || std::string(name) == "device";
    if (!wanted || !report.enter(name)) continue;
    try {
      part();
    } catch (const std::exception& error) {
      report.check("the part as a whole", false, error.what(), "no error");
    }
    try {
      platform->synchronize();
    } catch (const std::exception& error) {
      // After a fault in a kernel nothing runs in this process any more.
      report.say(std::string("the device no longer answers: ") + error.what());
      report.write();
      return kDied;
    }
    report.leave(name);
  }
  report.facts()["state_after"] = platform->state_now();
  return report.finish();
}

}  // namespace

int main_of(const std::vector<std::string>& words) {
  try {
    if (words.size() == 1 && (words[0] == "--help" || words[0] == "-h")) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    return run(parse(words));
  } catch (const NoGpu& none) {
    std::fprintf(stderr, "%s\n", none.what());
    return kNoGpu;
  } catch (const Error& error) {
    std::fputs(error.render().c_str(), stderr);
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace titan::device_check

int main(int count, char** words) {
  return titan::device_check::main_of({words + 1, words + count});
}
