#include "report.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "base/error.h"
#include "base/numbers.h"

namespace titan::device_check {

std::string digits(double value, int decimals) { return fixed_point(value, decimals); }

Report::Report(std::string path, double budget_s, bool resume)
    : path_(std::move(path)), budget_s_(budget_s), start_(std::chrono::steady_clock::now()) {
  root_["format"] = 1;
  root_["status"] = "unfinished";
  root_["seconds"] = 0.0;
  root_["budget_s"] = budget_s;
  for (const char* name : {"device", "parts", "measured"}) root_[name] = Json::object();
  for (const char* name : {"checks", "not_judged", "left_out"}) root_[name] = Json::array();
  if (!resume) return;
  std::ifstream file(path_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  // A run may have died before it wrote anything.
  if (!text.empty()) take_over(text);
}

void Report::take_over(const std::string& text) {
  root_ = Json::parse(text, path_);
  root_["status"] = "unfinished";
  for (const Json& entry : root_.at("checks").items())
    ++(entry.at("held").flag() ? held_ : failed_);
  for (const Json& entry : root_.at("left_out").items())
    no_time_ += entry.at("why").text() == "time";
  std::vector<std::string> died;
  for (const auto& [part, how] : root_.at("parts").members())
    if (how.text() == "begun") died.push_back(part);
  for (const std::string& part : died) {
    heading_ = part;
    check("the part as a whole", false, "the program died in it, or the device stopped answering",
          "that it ends");
    root_["parts"][part] = "died";
  }
  heading_.clear();
}

bool Report::enter(const std::string& part) {
  if (root_["parts"].find(part)) return false;
  root_["parts"][part] = "begun";
  write();
  return true;
}

void Report::leave(const std::string& part) {
  root_["parts"][part] = "done";
  write();
}

double Report::seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

void Report::begin(const std::string& heading) {
  heading_ = heading;
  say("");
  say(heading + " (" + digits(seconds(), 1) + " s)");
}

void Report::say(const std::string& line) const {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

Json& Report::note(const char* list, const std::string& what) {
  Json& entry = root_[list].push(Json::object());
  entry["part"] = heading_;
  entry["what"] = what;
  return entry;
}

bool Report::has_time_for(const std::string& what, double seconds_needed) {
  const double left = budget_s_ - seconds();
  if (left >= seconds_needed) return true;
  ++no_time_;
  note("left_out", what)["why"] = "time";
  say("  left out (time)  " + what + ": needs about " + digits(seconds_needed, 0) + " s, " +
      digits(left, 0) + " s are left");
  return false;
}

void Report::leave_out(const std::string& what, const std::string& why) {
  note("left_out", what)["why"] = why;
  say("  left out         " + what + ": " + why);
}

bool Report::check(const std::string& what, bool held, const std::string& found,
                   const std::string& needed) {
  ++(held ? held_ : failed_);
  Json& entry = note("checks", what);
  entry["held"] = held;
  entry["found"] = found;
  if (!needed.empty()) entry["needed"] = needed;
  say(std::string(held ? "  held             " : "  DID NOT HOLD     ") + what + ": " + found +
      (needed.empty() || held ? "" : "; needed: " + needed));
  return held;
}

void Report::reach(const std::string& what, double figure, double target, const std::string& unit,
                   Weight weight) {
  const std::string found = digits(figure, 3) + unit,
                    needed = "at least " + digits(target, 3) + unit;
  if (weight == Weight::kMust) {
    check(what, figure >= target, found, needed);
    return;
  }
  Json& entry = note("not_judged", what);
  entry["found"] = found;
  entry["needed"] = needed;
  say("  not judged       " + what + ": " + found +
      (figure >= target ? "" : " (elsewhere " + needed + ")"));
}

void Report::write() {
  root_["seconds"] = seconds();
  const std::string half = path_ + ".tmp";
  std::ofstream file(half, std::ios::binary | std::ios::trunc);
  file << root_.dump();
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(half, path_, error);
  if (!file || error)
    throw environment_error(
        "the report could not be written" + (error ? ": " + error.message() : std::string()), path_,
        "name a file in a folder that can be written to with --json");
}

int Report::finish() {
  root_["status"] = failed_ > 0 ? "failed" : no_time_ > 0 ? "incomplete" : "held";
  write();
  say("");
  say(std::to_string(held_) + " held, " + std::to_string(failed_) + " did not hold, " +
      std::to_string(no_time_) + " left out for lack of time; " + digits(seconds(), 1) +
      " s; numbers in " + path_);
  return failed_ > 0 || no_time_ > 0 ? 1 : 0;
}

}  // namespace titan::device_check
