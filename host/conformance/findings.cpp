#include "conformance/findings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace titan::conformance {

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kSkip: return "skip";
    case Verdict::kWarn: return "warn";
    case Verdict::kFail: return "fail";
  }
  return {};
}

void Findings::add(Verdict verdict, std::string text, std::string fix) {
  findings_.push_back({verdict, std::move(text), std::move(fix)});
}

Verdict Findings::verdict() const {
  Verdict worst = Verdict::kPass;
  for (const Finding& finding : findings_) worst = std::max(worst, finding.verdict);
  return worst;
}

std::vector<Finding> Findings::deciding() const {
  std::vector<Finding> list;
  const Verdict worst = verdict();
  for (const Finding& finding : findings_) {
    const bool known = std::any_of(
        list.begin(), list.end(), [&](const Finding& other) { return other.text == finding.text; });
    if (finding.verdict == worst && !known) list.push_back(finding);
  }
  return list;
}

std::string Findings::encode() const {
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings_)
    list.push_back({static_cast<int>(finding.verdict), finding.text, finding.fix});
  // Texts may quote what a plugin said, in whatever encoding.
  return list.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Findings Findings::decode(const std::string& text) {
  Findings findings;
  const auto list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array())
    throw internal_error("a test answered with what are no findings: " + text.substr(0, 200));
  for (const auto& item : list)
    findings.add(static_cast<Verdict>(item.at(0).get<int>()), item.at(1).get<std::string>(),
                 item.at(2).get<std::string>());
  return findings;
}

}  // namespace titan::conformance
