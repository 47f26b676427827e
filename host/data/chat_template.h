/// Conversations as the tokens that chat models are trained on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace titan::data {

struct ChatMessage {
  std::string role;  ///< "system", "user" or "assistant"
  std::string content;
};

/// Ids of a conversation; `trained` marks those that a response consists of, its end token
/// included.
struct ChatTokens {
  std::vector<int64_t> ids;
  std::vector<bool> trained;
};

/// Each id is that of the whole conversation written as one text, special tokens included; special
/// tokens that a message spells out stay text.
///
///     llama3   <|begin_of_text|><|start_header_id|>ROLE<|end_header_id|>\n\nCONTENT<|eot_id|>...
///              (Llama 3's own template: white space around the content is left out)
///     chatml   <|im_start|>ROLE\nCONTENT<|im_end|>\n...   (Qwen and others)
class ChatTemplate {
 public:
  /// A usage error if there is no such template, or if the tokenizer lacks its special tokens.
  ChatTemplate(const std::string& name, const Tokenizer& tokenizer);

  static std::vector<std::string> names() { return {"llama3", "chatml"}; }

  ChatTokens render(const std::vector<ChatMessage>& messages, Tokenizer& tokenizer) const;
  /// The same up to where the assistant's next response begins: what a model is asked with.
  std::vector<int64_t> render_prompt(const std::vector<ChatMessage>& messages,
                                     Tokenizer& tokenizer) const;

 private:
  /// Encodes `head` + `content`; what begins in the content is trained if `trained`.
  static void append_text(const std::string& head, const std::string& content, bool trained,
                          Tokenizer& tokenizer, ChatTokens& to);
  static void append_id(int64_t id, bool trained, ChatTokens& to);

  bool llama3_;
  int64_t begin_ = 0;     ///< llama3: of the text
  int64_t open_ = 0;      ///< of a message
  int64_t role_end_ = 0;  ///< llama3: behind the role
  int64_t close_ = 0;     ///< of a message
};

}  // namespace titan::data
