#include "data/chat_template.h"

#include <algorithm>

#include "base/error.h"
#include "base/suggest.h"
#include "base/text_list.h"

namespace titan::data {
namespace {

constexpr const char* kTemplateKey = "training.chat_template";

int64_t required_special(const Tokenizer& tokenizer, const std::string& name, const char* token) {
  if (const auto id = tokenizer.special_id(token)) return *id;
  throw usage_error("the chat template '" + name + "' needs the special token " + token +
                        ", which the tokenizer lacks",
                    kTemplateKey,
                    "set model.tokenizer_path to the tokenizer of a chat model, or choose another "
                    "training.chat_template (" +
                        joined(ChatTemplate::names()) + ")");
}

std::string without_outer_space(const std::string& text) {
  const char* space = " \t\n\r\f\v";
  const size_t begin = text.find_first_not_of(space);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(space) + 1 - begin);
}

}  // namespace

ChatTemplate::ChatTemplate(const std::string& name, const Tokenizer& tokenizer)
    : llama3_(name == "llama3") {
  if (llama3_) {
    begin_ = required_special(tokenizer, name, "<|begin_of_text|>");
    open_ = required_special(tokenizer, name, "<|start_header_id|>");
    role_end_ = required_special(tokenizer, name, "<|end_header_id|>");
    close_ = required_special(tokenizer, name, "<|eot_id|>");
  } else if (name == "chatml") {
    open_ = required_special(tokenizer, name, "<|im_start|>");
    close_ = required_special(tokenizer, name, "<|im_end|>");
  } else {
    throw usage_error("there is no chat template '" + name + "'", kTemplateKey,
                      did_you_mean(name, names()) + "use one of " + joined(names()));
  }
}

void ChatTemplate::append_id(int64_t id, bool trained, ChatTokens& to) {
  to.ids.push_back(id);
  to.trained.push_back(trained);
}

void ChatTemplate::append_text(const std::string& head, const std::string& content, bool trained,
                               Tokenizer& tokenizer, ChatTokens& to) {
  // As one text: a piece may reach from the line end before the content into it.
  std::vector<int64_t> ids;
  tokenizer.encode(head + content, ids);
  size_t bytes = 0;
  for (const int64_t id : ids) {
    append_id(id, trained && bytes >= head.size(), to);
    bytes += tokenizer.bytes_of(id).value_or("").size();
  }
}

ChatTokens ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                Tokenizer& tokenizer) const {
  ChatTokens tokens;
  if (llama3_) append_id(begin_, false, tokens);
  for (const ChatMessage& message : messages) {
    const bool trained = message.role == "assistant";
    append_id(open_, false, tokens);
    if (llama3_) {
      append_text(message.role, "", false, tokenizer, tokens);
      append_id(role_end_, false, tokens);
      append_text("\n\n", without_outer_space(message.content), trained, tokenizer, tokens);
    } else {
      append_text(message.role + "\n", message.content, trained, tokenizer, tokens);
    }
    append_id(close_, trained, tokens);
    if (!llama3_) append_text("\n", "", false, tokenizer, tokens);
  }
  return tokens;
}

std::vector<int64_t> ChatTemplate::render_prompt(const std::vector<ChatMessage>& messages,
                                                 Tokenizer& tokenizer) const {
  ChatTokens tokens = render(messages, tokenizer);
  append_id(open_, false, tokens);
  if (llama3_) {
    append_text("assistant", "", false, tokenizer, tokens);
    append_id(role_end_, false, tokens);
    append_text("\n\n", "", false, tokenizer, tokens);
  } else {
    append_text("assistant\n", "", false, tokenizer, tokens);
  }
  return tokens.ids;
}

}  // namespace titan::data
