/// Tokens that are found in the text before anything is cut: <|endoftext|> and the like.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace titan::data {

/// An entry of added_tokens in tokenizer.json.
struct AddedToken {
  int64_t id = 0;
  std::string content;       ///< not empty
  bool special = false;      ///< control token: decoding leaves it out
  bool lstrip = false;       ///< takes the white space before it along
  bool rstrip = false;       ///< takes the white space behind it along
  bool single_word = false;  ///< only where no word character touches it
  bool normalized = false;   ///< is looked for in the normalized text
};

/// Looks for any of many strings at once; of those that begin at the leftmost place the longest.
class AddedTokenSearch {
 public:
  struct Segment {
    size_t begin, end;
    int64_t id;  ///< of the added token, or -1: text
  };

  /// `specials_are_text`: special tokens are found, as in tokenizers, but stay text.
  AddedTokenSearch(const std::vector<AddedToken>& tokens, bool specials_are_text);

  bool empty() const { return tokens_.empty(); }
  size_t longest() const { return longest_; }
  /// Whether a token takes its neighbours into account, so that text cannot be cut near it.
  bool looks_around() const { return looks_around_; }

  /// The tokens and the text between them, in order. `text` is valid UTF-8.
  std::vector<Segment> split(std::string_view text) const;

 private:
  struct TrieNode {
    std::map<unsigned char, int32_t> next;
    int32_t token = -1;
  };
  /// The longest token that begins at `at`, or -1.
  int32_t longest_at(std::string_view text, size_t at) const;

  std::vector<AddedToken> tokens_;
  std::vector<TrieNode> trie_;
  std::array<bool, 256> first_bytes_{};
  bool specials_are_text_;
  bool looks_around_ = false;
  size_t longest_ = 0;
};

}  // namespace titan::data
