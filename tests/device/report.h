/// What a run of the check has found: on the terminal line by line, and whole in a JSON file after
/// every part.
#pragma once

#include <chrono>
#include <string>

#include "json.h"

namespace titan::device_check {

/// Whether a figure that was measured must reach its target.
enum class Weight {
  kMust,    ///< if it is missed, the run has failed
  kInform,  ///< shown, not judged
};

class Report {
 public:
  /// `budget_s`: seconds from now that the whole run may take. `resume`: goes on from the file of a
  /// run that died; the part it died in has failed.
  Report(std::string path, double budget_s, bool resume);

  /// Whether the part is still to be run. If so it counts as begun, in the file too: whoever
  /// resumes passes over it.
  bool enter(const std::string& part);
  void leave(const std::string& part);
  /// Lines and results from here on belong to this heading.
  void begin(const std::string& heading);
  /// Whether work of about `seconds` still fits into the budget. If not, it is noted as left out.
  bool has_time_for(const std::string& what, double seconds);
  /// Something that this device or this run cannot do. Not a failure.
  void leave_out(const std::string& what, const std::string& why);
  /// One thing that must hold; `found` and `needed` are for people. Returns `held`.
  bool check(const std::string& what, bool held, const std::string& found,
             const std::string& needed = "");
  /// A figure that should be at least `target`.
  void reach(const std::string& what, double figure, double target, const std::string& unit,
             Weight weight);
  /// A line on the terminal alone.
  void say(const std::string& line) const;

  /// Raw numbers by name; kept in the file under "measured".
  Json& measured(const std::string& name) { return root_["measured"][name]; }
  Json& facts() { return root_["device"]; }  ///< of the device

  /// Writes the file as it stands: a run that is killed later loses nothing of it.
  void write();
  /// Writes the file and the last lines of the terminal. 0: all held and nothing was left out for
  /// lack of time.
  int finish();

  double seconds() const;  ///< since the start

 private:
  Json& note(const char* list, const std::string& what);
  void take_over(const std::string& text);

  std::string path_;
  double budget_s_;
  std::chrono::steady_clock::time_point start_;
  std::string heading_;
  Json root_;
  int held_ = 0, failed_ = 0, no_time_ = 0;
};

/// "1.234" with that many digits after the point.
std::string digits(double value, int decimals);

}  // namespace titan::device_check
