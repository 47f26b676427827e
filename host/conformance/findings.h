/// What a test finds out: a verdict, what was seen, and how to mend it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace titan::conformance {

/// Ordered: the worst of a test's findings is its verdict.
enum class Verdict { kPass, kSkip, kWarn, kFail };
/// "pass", "skip", "warn", "fail".
std::string_view verdict_name(Verdict verdict);

struct Finding {
  Verdict verdict = Verdict::kPass;
  std::string text;
  std::string fix;  ///< empty for kPass and kSkip
};

class Findings {
 public:
  /// What was checked and measured; shown when nothing worse is found.
  void pass(std::string text) { add(Verdict::kPass, std::move(text), {}); }
  /// Nothing was tried, and why.
  void skip(std::string reason) { add(Verdict::kSkip, std::move(reason), {}); }
  void warn(std::string text, std::string fix) {
    add(Verdict::kWarn, std::move(text), std::move(fix));
  }
  void fail(std::string text, std::string fix) {
    add(Verdict::kFail, std::move(text), std::move(fix));
  }

  Verdict verdict() const;
  bool failed() const { return verdict() == Verdict::kFail; }
  const std::vector<Finding>& all() const { return findings_; }
  /// Those that decide the verdict, each once.
  std::vector<Finding> deciding() const;

  /// One line of JSON, and back: findings cross from the process of a test as text.
  std::string encode() const;
  /// An internal error if `text` is none that encode() makes.
  static Findings decode(const std::string& text);

 private:
  void add(Verdict verdict, std::string text, std::string fix);
  std::vector<Finding> findings_;
};

}  // namespace titan::conformance
