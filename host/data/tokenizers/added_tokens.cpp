#include "data/tokenizers/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "data/tokenizers/unicode_additions.h"
#include "data/tokenizers/utf8.h"

namespace titan::data {
namespace {

/// \w of Unicode Technical Standard 18: Alphabetic, M, Nd, Pc and Join_Control.
bool is_word_character(char32_t c) {
  if (c == 0x200C || c == 0x200D) return true;
  // Other_Alphabetic among the symbols: circled, squared and negative Latin letters.
  if ((c >= 0x24B6 && c <= 0x24E9) || (c >= 0x1F130 && c <= 0x1F149) ||
      (c >= 0x1F150 && c <= 0x1F169) || (c >= 0x1F170 && c <= 0x1F189))
    return true;
  std::string_view category = utf8proc_category_string(static_cast<utf8proc_int32_t>(c));
  for (const AddedCharacters& added : kAddedCharacters)
    if (c >= added.first && c <= added.last) category = added.category;
  return category.starts_with('L') || category.starts_with('M') || category == "Nd" ||
         category == "Nl" || category == "Pc";
}

}  // namespace

AddedTokenSearch::AddedTokenSearch(const std::vector<AddedToken>& tokens, bool specials_are_text)
    : trie_(1), specials_are_text_(specials_are_text) {
  for (const AddedToken& token : tokens) {
    int32_t node = 0;
    for (const char c : token.content) {
      const auto [entry, added] = trie_[static_cast<size_t>(node)].next.emplace(
          static_cast<unsigned char>(c), static_cast<int32_t>(trie_.size()));
      node = entry->second;
      if (added) trie_.emplace_back();
    }
    if (trie_[static_cast<size_t>(node)].token >= 0) continue;
    trie_[static_cast<size_t>(node)].token = static_cast<int32_t>(tokens_.size());
    tokens_.push_back(token);
    first_bytes_[static_cast<unsigned char>(token.content.front())] = true;
    longest_ = std::max(longest_, token.content.size());
    looks_around_ = looks_around_ || token.lstrip || token.rstrip || token.single_word;
  }
}

int32_t AddedTokenSearch::longest_at(std::string_view text, size_t at) const {
  int32_t node = 0, found = -1;
  for (; at < text.size(); ++at) {
    const auto& next = trie_[static_cast<size_t>(node)].next;
    const auto entry = next.find(static_cast<unsigned char>(text[at]));
    if (entry == next.end()) break;
    node = entry->second;
    if (trie_[static_cast<size_t>(node)].token >= 0) found = trie_[static_cast<size_t>(node)].token;
  }
  return found;
}

std::vector<AddedTokenSearch::Segment> AddedTokenSearch::split(std::string_view text) const {
  std::vector<Segment> segments;
  size_t done = 0;
  for (size_t at = 0; at < text.size() && !tokens_.empty();) {
    const int32_t found =
        first_bytes_[static_cast<unsigned char>(text[at])] ? longest_at(text, at) : -1;
    if (found < 0) {
      ++at;
      continue;
    }
    // The order of what follows is that of tokenizers' AddedVocabulary::find_matches.
    const AddedToken& token = tokens_[static_cast<size_t>(found)];
    size_t begin = at, end = at + token.content.size();
    at = end;
    if (token.special && specials_are_text_) continue;
    if (token.single_word) {
      const bool word_before = begin > 0 && is_word_character(character_before(text, begin));
      size_t behind = end;
      const bool word_behind = end < text.size() && is_word_character(next_character(text, behind));
      if (word_before || word_behind) continue;
    }
    if (token.lstrip)
      while (begin > done && is_white_space(character_before(text, begin)))
        while ((static_cast<unsigned char>(text[--begin]) & 0xC0u) == 0x80u) continue;
    if (token.rstrip)
      for (size_t next = end; next < text.size() && is_white_space(next_character(text, next));)
        end = next;
    if (done < begin) segments.push_back({done, begin, -1});
    segments.push_back({begin, end, token.id});
    done = end;
  }
  if (done != text.size()) segments.push_back({done, text.size(), -1});
  return segments;
}

}  // namespace titan::data
