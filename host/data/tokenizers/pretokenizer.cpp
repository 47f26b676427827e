#include "data/tokenizers/pretokenizer.h"

#include <algorithm>

#include "data/tokenizers/utf8.h"

namespace titan::data {

Matcher::Found MatchIterator::next(size_t& begin, size_t& end) {
  while (from_ <= text_.size()) {
    const auto found = matcher_.find(text_, from_, complete_, begin, end);
    if (found != Matcher::Found::kMatch) return found;
    if (begin < end) {
      from_ = last_end_ = end;
      return found;
    }
    // An empty match: the next search begins one character on.
    from_ = end;
    if (from_ < text_.size())
      next_character(text_, from_);
    else
      ++from_;
    if (end != last_end_) {
      last_end_ = end;
      return found;
    }
  }
  return Matcher::Found::kNone;
}

Pretokenizer::Pretokenizer(const std::vector<SplitStage>& stages) : stages_(stages) {
  for (const SplitStage& stage : stages_)
    matchers_.push_back(stage.pattern ? std::make_unique<Matcher>(stage.pattern) : nullptr);
}

bool Pretokenizer::cuts() const {
  for (const SplitStage& stage : stages_)
    if (stage.prefix_space) return false;
  if (stages_.empty() || !stages_.front().pattern) return false;
  const SplitStage& first = stages_.front();
  const bool each_alone = first.behavior == SplitBehavior::kIsolated ||
                          (first.behavior == SplitBehavior::kRemoved && !first.invert);
  return each_alone && !first.pattern->looks_behind();
}

size_t Pretokenizer::run(std::string_view text, bool complete, const Sink& sink) {
  if (!complete && !cuts()) return 0;
  return run_stage(0, text, complete, sink);
}

size_t Pretokenizer::run_stage(size_t index, std::string_view text, bool complete,
                               const Sink& sink) {
  if (text.empty()) return 0;
  if (index == stages_.size()) {
    sink(text);
    return text.size();
  }
  const SplitStage& stage = stages_[index];
  if (stage.prefix_space && text.front() != ' ') {
    const std::string spaced = " " + std::string(text);
    if (!stage.pattern)
      run_stage(index + 1, spaced, true, sink);
    else
      isolate(index, spaced, true, sink);
    return text.size();
  }
  if (!stage.pattern) return run_stage(index + 1, text, complete, sink);
  const bool each_alone = stage.behavior == SplitBehavior::kIsolated ||
                          (stage.behavior == SplitBehavior::kRemoved && !stage.invert);
  if (each_alone) return isolate(index, text, complete, sink);
  for (const Span& span : spans_of(index, text))
    run_stage(index + 1, text.substr(span.begin, span.end - span.begin), true, sink);
  return text.size();
}

/// Matches, unless they are removed, and what is between them, each as a part of its own.
size_t Pretokenizer::isolate(size_t index, std::string_view text, bool complete, const Sink& sink) {
  const bool keep_matches = stages_[index].behavior != SplitBehavior::kRemoved;
  MatchIterator matches(*matchers_[index], text, complete);
  size_t done = 0, begin = 0, end = 0;
  for (;;) {
    const auto found = matches.next(begin, end);
    if (found == Matcher::Found::kMatch) {
      run_stage(index + 1, text.substr(done, begin - done), true, sink);
      if (keep_matches) run_stage(index + 1, text.substr(begin, end - begin), true, sink);
      done = end;
      continue;
    }
    if (!complete) return done;
    run_stage(index + 1, text.substr(done), true, sink);
    return text.size();
  }
}

/// The parts that the other behaviours leave: tokenizers' NormalizedString::split.
std::vector<Pretokenizer::Span> Pretokenizer::spans_of(size_t index, std::string_view text) {
  const SplitStage& stage = stages_[index];
  std::vector<Span> spans;
  MatchIterator matches(*matchers_[index], text, /*complete=*/true);
  size_t done = 0, begin = 0, end = 0;
  while (matches.next(begin, end) == Matcher::Found::kMatch) {
    if (done != begin) spans.push_back({done, begin, stage.invert});
    spans.push_back({begin, end, !stage.invert});
    done = end;
  }
  if (done != text.size()) spans.push_back({done, text.size(), stage.invert});

  std::vector<Span> merged;
  bool previous = false;
  switch (stage.behavior) {
    case SplitBehavior::kIsolated: return spans;
    case SplitBehavior::kRemoved:
      std::erase_if(spans, [](const Span& span) { return span.matched; });
      return spans;
    case SplitBehavior::kContiguous:
      for (const Span& span : spans) {
        if (span.matched == previous && !merged.empty())
          merged.back().end = span.end;
        else
          merged.push_back(span);
        previous = span.matched;
      }
      return merged;
    case SplitBehavior::kMergedWithPrevious:
      for (const Span& span : spans) {
        if (span.matched && !previous && !merged.empty())
          merged.back().end = span.end;
        else
          merged.push_back(span);
        previous = span.matched;
      }
      return merged;
    case SplitBehavior::kMergedWithNext:
      for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
        if (span->matched && !previous && !merged.empty())
          merged.back().begin = span->begin;
        else
          merged.push_back(*span);
        previous = span->matched;
      }
      std::reverse(merged.begin(), merged.end());
      return merged;
  }
  return spans;
}

}  // namespace titan::data
