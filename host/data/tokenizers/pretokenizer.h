/// Cuts text into the pieces inside of which byte pairs merge: the pre_tokenizer of tokenizer.json.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/tokenizers/pattern.h"

namespace titan::data {

/// What becomes of the parts that a pattern matches, by the names of Hugging Face tokenizers.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// One step; each part that it leaves goes through the next one.
struct SplitStage {
  std::shared_ptr<const Pattern> pattern;  ///< null: no cut
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< what does not match counts as the match
  bool prefix_space =
      false;  ///< a part that does not begin with a space gets one, before it is cut
};

/// The stages with what one thread needs to run them.
class Pretokenizer {
 public:
  using Sink = std::function<void(std::string_view piece)>;

  explicit Pretokenizer(const std::vector<SplitStage>& stages);

  /// Whether run() can tell where text may be cut although more of it follows.
  bool cuts() const;

  /// Hands out the pieces of `text`, which is valid UTF-8, in order. If more text follows it (not
  /// `complete`, and cuts()), only the pieces that cannot change any more. Returns the number of
  /// bytes that were used.
  size_t run(std::string_view text, bool complete, const Sink& sink);

 private:
  struct Span {
    size_t begin, end;
    bool matched;
  };
  size_t run_stage(size_t stage, std::string_view text, bool complete, const Sink& sink);
  size_t isolate(size_t stage, std::string_view text, bool complete, const Sink& sink);
  std::vector<Span> spans_of(size_t stage, std::string_view text);

  std::vector<SplitStage> stages_;
  std::vector<std::unique_ptr<Matcher>> matchers_;  ///< null for a stage that does not cut
};

/// Runs a pattern over text as the iterators of Oniguruma and fancy-regex do: an empty match right
/// behind the last match does not count.
class MatchIterator {
 public:
  MatchIterator(Matcher& matcher, std::string_view text, bool complete)
      : matcher_(matcher), text_(text), complete_(complete) {}
  Matcher::Found next(size_t& begin, size_t& end);

 private:
  Matcher& matcher_;
  std::string_view text_;
  bool complete_;
  size_t from_ = 0;
  size_t last_end_ = std::string_view::npos;
};

}  // namespace titan::data
