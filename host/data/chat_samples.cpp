#include "data/chat_samples.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "base/printable.h"
#include "data/batch.h"
#include "data/json_line.h"

namespace titan::data {
namespace {

constexpr const char* kChatHint =
    R"(write {"messages": [{"role": "user", "content": ".."}, {"role": "assistant", "content": ".."}]} or {"prompt": "..", "response": ".."})";

std::string chat_text(const JsonLine& line, const nlohmann::json& object, const char* key) {
  const auto value = object.find(key);
  if (value == object.end()) line.wrong("there is no '" + std::string(key) + "'", kChatHint);
  if (!value->is_string())
    line.wrong("'" + std::string(key) + "' is " + json_kind(*value) + ", a text is needed",
               kChatHint);
  return value->get<std::string>();
}

ChatMessage message_of(const JsonLine& line, const nlohmann::json& value) {
  if (!value.is_object())
    line.wrong("a message is " + json_kind(value) + ", an object is needed", kChatHint);
  ChatMessage message{chat_text(line, value, "role"), chat_text(line, value, "content")};
  if (message.role != "system" && message.role != "user" && message.role != "assistant")
    line.wrong("the role '" + printable(message.role, 40) + "' is none of system, user, assistant",
               kChatHint);
  return message;
}

std::vector<ChatMessage> conversation_of(const JsonlLines& lines) {
  const JsonLine line(lines);
  const nlohmann::json& object = line.object();
  std::vector<ChatMessage> messages;
  if (const auto list = object.find("messages"); list != object.end()) {
    if (!list->is_array())
      line.wrong("'messages' is " + json_kind(*list) + ", a list is needed", kChatHint);
    for (const nlohmann::json& message : *list) messages.push_back(message_of(line, message));
  } else if (object.contains("prompt") || object.contains("response")) {
    if (object.contains("system"))
      messages.push_back({"system", chat_text(line, object, "system")});
    messages.push_back({"user", chat_text(line, object, "prompt")});
    messages.push_back({"assistant", chat_text(line, object, "response")});
  } else {
    line.wrong("there is neither 'messages' nor 'prompt' and 'response'", kChatHint);
  }
  if (std::none_of(messages.begin(), messages.end(),
                   [](const ChatMessage& m) { return m.role == "assistant"; }))
    line.wrong("no message is of the role assistant: there is nothing to learn", kChatHint);
  return messages;
}

}  // namespace

ChatSamples::ChatSamples(JsonlLines lines, const std::string& template_name,
                         std::unique_ptr<Tokenizer> tokenizer, bool packing)
    : lines_(std::move(lines)),
      tokenizer_(std::move(tokenizer)),
      template_(template_name, *tokenizer_),
      packing_(packing),
      padding_(tokenizer_->eos().value_or(0)) {}

const ChatTokens& ChatSamples::waiting() {
  if (!waiting_) waiting_ = template_.render(conversation_of(lines_), *tokenizer_);
  return *waiting_;
}

void ChatSamples::advance() {
  waiting_.reset();
  lines_.next();
}

void ChatSamples::find_trainable(size_t length) {
  const int64_t epoch = lines_.place().epoch;
  for (;;) {
    const std::vector<bool>& trained = waiting().trained;
    const auto end =
        trained.begin() + static_cast<std::ptrdiff_t>(std::min(length + 1, trained.size()));
    // The first token is the label of none.
    if (std::find(trained.begin() + 1, end, true) != end) return;
    if (!std::exchange(warned_, true))
      log_warning(lines_.where_line() + ": the response begins behind the " +
                  std::to_string(length) +
                  " tokens of a sample (training.seq_len); such conversations are passed over");
    advance();
    if (lines_.place().epoch > epoch + 1)
      throw data_error("no conversation has a response that begins within the " +
                           std::to_string(length) + " tokens of a sample",
                       lines_.where(), "raise training.seq_len, or use shorter prompts");
  }
}

void ChatSamples::next(std::span<int64_t> tokens, std::span<int64_t> labels) {
  std::fill(tokens.begin(), tokens.end(), padding_);
  std::fill(labels.begin(), labels.end(), kIgnoreIndex);
  for (size_t filled = 0; filled < tokens.size();) {
    find_trainable(tokens.size());
    const ChatTokens& conversation = waiting();
    const size_t size = std::min(conversation.ids.size(), tokens.size());
    if (filled + size > tokens.size()) return;
    for (size_t i = 0; i < size; ++i) {
      tokens[filled + i] = conversation.ids[i];
      if (i + 1 < conversation.ids.size() && conversation.trained[i + 1])
        labels[filled + i] = conversation.ids[i + 1];
    }
    filled += size;
    advance();
    if (!packing_) return;
  }
}

void ChatSamples::seek(const std::vector<StreamPosition>& position) {
  if (position.size() == 1 && position.front().byte == 0 && position.front().token == 0 &&
      lines_.seek(position.front())) {
    waiting_.reset();
    return;
  }
  throw data_error("the saved place in the data does not exist in these conversations", where(),
                   "resume with the data that the checkpoint was made with");
}

/// Of the first conversations.
int64_t ChatSamples::fingerprint() {
  constexpr int kMostConversations = 16;
  const StreamPosition begin = lines_.place();
  std::vector<int64_t> ids;
  for (int i = 0; i < kMostConversations && lines_.place().epoch == begin.epoch; ++i, advance())
    ids.insert(ids.end(), waiting().ids.begin(), waiting().ids.end());
  waiting_.reset();
  lines_.seek(begin);
  return fingerprint_of(ids);
}

}  // namespace titan::data
