/// Ends a text where one of some strings would appear, though it may come in pieces.
#pragma once

#include <string>
#include <vector>

namespace titan::generate {

class StopText {
 public:
  explicit StopText(std::vector<std::string> stops);

  /// What may be shown now that `piece` has come: never a part of a stop string.
  std::string push(const std::string& piece);
  /// No more comes: what was held back, in case it was the beginning of a stop string.
  std::string finish();
  /// A stop string has come; it and what follows are dropped.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace titan::generate
