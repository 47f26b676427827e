#include "conformance/report.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/table.h"

namespace titan::conformance {
namespace {

constexpr size_t kNameWidth = 17;

std::string coloured(Verdict verdict, bool color) {
  const std::string name(verdict_name(verdict));
  if (!color) return name;
  const char* code = verdict == Verdict::kPass   ? "32"
                     : verdict == Verdict::kFail ? "31"
                     : verdict == Verdict::kWarn ? "33"
                                                 : "36";
  return "\x1b[" + std::string(code) + "m" + name + "\x1b[0m";
}

std::string test_place(const TestResult& result) {
  const std::string name = result.test->name;
  return result.converter.empty() ? name : name + " of " + result.converter;
}

}  // namespace

std::string result_text(const TestResult& result, const TestResult* above, bool color) {
  const Verdict verdict = result.findings.verdict();
  std::string name = result.test->name;
  if (name.size() < kNameWidth) name.resize(kNameWidth, ' ');
  std::string head = coloured(verdict, color) + "  " + name;
  if (!result.converter.empty()) head += "[" + result.converter + "] ";
  const bool repeated = verdict == Verdict::kSkip && above &&
                        above->converter == result.converter &&
                        above->findings.verdict() == Verdict::kSkip &&
                        above->findings.all().front().text == result.findings.all().front().text;
  if (repeated) return head + "as above\n";
  std::string text;
  for (const Finding& finding : result.findings.deciding()) {
    text +=
        (text.empty() ? head : std::string(6 + kNameWidth, ' ')) + printable(finding.text, 1200);
    const bool names_a_rule = finding.text.find("[T-") != std::string::npos;
    if (verdict == Verdict::kFail && *result.test->rule && !names_a_rule)
      text += " [" + std::string(result.test->rule) + "]";
    text += "\n";
    if (!finding.fix.empty())
      text += std::string(6 + kNameWidth, ' ') + "fix: " + printable(finding.fix, 600) + "\n";
  }
  return text;
}

std::string summary_text(const std::vector<TestResult>& results, const Subject& file) {
  std::array<int64_t, 4> counts{};
  std::string failed, names;
  for (const TestResult& result : results) {
    ++counts[static_cast<size_t>(result.findings.verdict())];
    if (!result.findings.failed()) continue;
    failed += (failed.empty() ? "" : ", ") + test_place(result);
    if (("," + names + ",").find("," + std::string(result.test->name) + ",") == std::string::npos)
      names += (names.empty() ? "" : ",") + std::string(result.test->name);
  }
  const auto count = [&](Verdict verdict) {
    return std::to_string(counts[static_cast<size_t>(verdict)]);
  };
  std::string text = count(Verdict::kPass) + " passed, " + count(Verdict::kWarn) + " warned, " +
                     count(Verdict::kSkip) + " skipped, " + count(Verdict::kFail) +
                     " failed (seed " + std::to_string(file.seed) + ")\n";
  if (!failed.empty())
    text += "failed: " + failed + "\nagain:  titan-plugin-validate " +
            printable_path(file.judged.path.native()) + " --only " + names + " --seed " +
            std::to_string(file.seed) + "\n";
  return text;
}

std::string report_json(const std::vector<TestResult>& results, const Subject& file) {
  using Json = nlohmann::ordered_json;
  Json out{{"seed", file.seed},
           {"file", printable_path(file.judged.path.native())},
           {"sha256", file.judged.sha256}};
  const auto& plugin = file.judged.description;
  out["plugin"] = plugin ? plugin->name : "";
  out["version"] = plugin ? plugin->version : "";
  bool passed = true;
  out["tests"] = Json::array();
  for (const TestResult& result : results) {
    passed = passed && !result.findings.failed();
    Json item{{"name", result.test->name},
              {"converter", result.converter},
              {"verdict", verdict_name(result.findings.verdict())},
              {"rule", result.test->rule},
              {"about", result.test->about},
              {"seconds", static_cast<double>(result.time.count()) / 1000},
              {"findings", Json::array()}};
    for (const Finding& finding : result.findings.all())
      item["findings"].push_back({{"verdict", verdict_name(finding.verdict)},
                                  {"text", printable(finding.text, 4000)},
                                  {"fix", printable(finding.fix, 1000)}});
    out["tests"].push_back(std::move(item));
  }
  out["passed"] = passed;
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string list_text() {
  Table table({"TEST", "RULE", "A PASS SAYS"});
  for (const Test& test : all_tests()) table.add_row({test.name, test.rule, test.about});
  return table.render();
}

}  // namespace titan::conformance
