/// A regular expression that cuts text into pieces, on PCRE2 with its just-in-time compiler.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "data/tokenizers/pattern_dialect.h"

struct pcre2_real_code_8;
struct pcre2_real_match_context_8;
struct pcre2_real_match_data_8;
struct pcre2_real_jit_stack_8;

namespace titan::data {

/// Compiled once, then shared by any number of threads; each matches with a Matcher of its own.
class Pattern {
 public:
  /// Throws a data error that names `where` for what to_pcre2() or PCRE2 refuses.
  Pattern(std::string_view pattern, PatternDialect dialect, std::string where);
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern();

  /// Whether a match may depend on what stands before its search (lookbehind, ^).
  bool looks_behind() const { return looks_behind_; }
  const std::string& where() const { return where_; }

 private:
  friend class Matcher;
  pcre2_real_code_8* code_ = nullptr;
  bool looks_behind_ = false;
  std::string where_;
};

/// What one thread needs to search; not to be shared.
class Matcher {
 public:
  enum class Found {
    kNone,
    kMatch,
    kUnsure,  ///< what follows the text could change the answer
  };

  explicit Matcher(std::shared_ptr<const Pattern> pattern);
  Matcher(const Matcher&) = delete;
  Matcher& operator=(const Matcher&) = delete;
  ~Matcher();

  const Pattern& pattern() const { return *pattern_; }

  /// The first match of `text`, which is valid UTF-8, that begins at `from` or later: [begin, end).
  /// `complete`: nothing follows the text, so kUnsure is never returned. Throws a data error if the
  /// pattern needs too many steps or too much memory for this text.
  Found find(std::string_view text, size_t from, bool complete, size_t& begin, size_t& end);

 private:
  int search(std::string_view text, size_t from, unsigned options);

  std::shared_ptr<const Pattern> pattern_;
  pcre2_real_match_data_8* data_;
  pcre2_real_match_context_8* context_;
  pcre2_real_jit_stack_8* stack_;
};

}  // namespace titan::data
