#define PCRE2_CODE_UNIT_WIDTH 8
#include "data/tokenizers/pattern.h"

#include <pcre2.h>

#include <new>
#include <utility>

#include "base/error.h"
#include "base/printable.h"

namespace titan::data {
namespace {

constexpr size_t kLongestPattern = 1 << 16;
/// A backtracking search over tens of megabytes stays below it, an exponential one does not.
constexpr unsigned kMostSteps = 500'000'000;
constexpr size_t kJitStackBytes = size_t{32} << 20;
constexpr unsigned kHeapKibibytes = 1u << 20;

std::string pcre2_text(int code) {
  unsigned char text[256] = {};
  pcre2_get_error_message(code, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

Pattern::Pattern(std::string_view pattern, PatternDialect dialect, std::string where)
    : where_(std::move(where)) {
  const char* hint = "compare the file with the original; is it the file of another tokenizer?";
  if (pattern.size() > kLongestPattern)
    throw data_error("the pattern has " + std::to_string(pattern.size()) + " bytes, at most " +
                         std::to_string(kLongestPattern) + " are accepted",
                     where_, hint);
  const std::string translated = to_pcre2(pattern, dialect, where_);
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C;
  if (dialect == PatternDialect::kOniguruma) options |= PCRE2_MULTILINE;
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (!context) throw std::bad_alloc();
  pcre2_set_newline(context, PCRE2_NEWLINE_LF);
  int code = 0;
  PCRE2_SIZE offset = 0;
  code_ = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(), options,
                        &code, &offset, context);
  pcre2_compile_context_free(context);
  if (!code_)
    throw data_error(
        "the pattern is malformed (" + pcre2_text(code) + "): " + printable(pattern, 300), where_,
        hint);
  // Without a just-in-time compiler for this processor the interpreter does the work.
  pcre2_jit_compile(code_, PCRE2_JIT_COMPLETE | PCRE2_JIT_PARTIAL_HARD);
  uint32_t behind = 0;
  pcre2_pattern_info(code_, PCRE2_INFO_MAXLOOKBEHIND, &behind);
  looks_behind_ = behind > 0;
}

Pattern::~Pattern() { pcre2_code_free(code_); }

Matcher::Matcher(std::shared_ptr<const Pattern> pattern)
    : pattern_(std::move(pattern)),
      data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      stack_(pcre2_jit_stack_create(32 * 1024, kJitStackBytes, nullptr)) {
  if (!data_ || !context_) throw std::bad_alloc();
  pcre2_set_match_limit(context_, kMostSteps);
  pcre2_set_heap_limit(context_, kHeapKibibytes);
  if (stack_) pcre2_jit_stack_assign(context_, nullptr, stack_);
}

Matcher::~Matcher() {
  pcre2_match_context_free(context_);
  pcre2_jit_stack_free(stack_);
  pcre2_match_data_free(data_);
}

int Matcher::search(std::string_view text, size_t from, unsigned options) {
  return pcre2_match(pattern_->code_, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                     options, data_, context_);
}

Matcher::Found Matcher::find(std::string_view text, size_t from, bool complete, size_t& begin,
                             size_t& end) {
  // The caller vouches for the UTF-8; PCRE2 would look at the whole rest of the text in every call.
  const unsigned options = PCRE2_NO_UTF_CHECK | (complete ? 0u : PCRE2_PARTIAL_HARD);
  int code = search(text, from, options);
  // The interpreter backtracks on the heap, which may grow further than the stack of compiled code.
  if (code == PCRE2_ERROR_JIT_STACKLIMIT) code = search(text, from, options | PCRE2_NO_JIT);
  if (code == PCRE2_ERROR_NOMATCH) return Found::kNone;
  if (code == PCRE2_ERROR_PARTIAL) return Found::kUnsure;
  if (code < 0)
    throw data_error(
        "the pattern of the tokenizer cannot be matched at byte " + std::to_string(from) +
            " of a text of " + std::to_string(text.size()) + " bytes: " + pcre2_text(code),
        pattern_->where_, "use a tokenizer with a simpler pattern, or shorter documents");
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_);
  begin = offsets[0];
  end = offsets[1];
  return Found::kMatch;
}

}  // namespace titan::data
