/// Samples of conversations for fine-tuning: only responses have labels.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "data/chat_template.h"
#include "data/jsonl_lines.h"
#include "data/sample_source.h"

namespace titan::data {

/// Each line is {"messages": [{"role": .., "content": ..}, ..]} or {"prompt": .., "response": ..},
/// the latter with or without "system". The roles are system, user and assistant.
///
/// Packed, a sample holds as many conversations as fit, one behind the other (attention sees those
/// before); else one. What is left is filled with the tokenizer's EOS (or id 0) without labels. A
/// conversation that is longer than a sample is cut off there; one whose responses begin behind
/// that is passed over, with a warning. So every sample has a label. The last token of a
/// conversation has none.
class ChatSamples final : public SampleSource {
 public:
  ChatSamples(JsonlLines lines, const std::string& template_name,
              std::unique_ptr<Tokenizer> tokenizer, bool packing);

  void next(std::span<int64_t> tokens, std::span<int64_t> labels) override;
  std::vector<StreamPosition> position() const override { return {lines_.place()}; }
  void seek(const std::vector<StreamPosition>& position) override;
  int64_t token_count() const override { return kUnknownSize; }
  int64_t total_bytes() const override { return lines_.total_bytes(); }
  int64_t fingerprint() override;
  std::string where() const override { return lines_.where(); }

 private:
  /// The conversation of the current line.
  const ChatTokens& waiting();
  void advance();
  /// Goes to the next conversation with a label among its first `length` tokens.
  void find_trainable(size_t length);

  JsonlLines lines_;
  std::unique_ptr<Tokenizer> tokenizer_;
  ChatTemplate template_;
  bool packing_;
  int64_t padding_;
  std::optional<ChatTokens> waiting_;
  bool warned_ = false;
};

}  // namespace titan::data
