/// FILE.json beside a file of token ids: how it was made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace titan::data {

/// What training has to know to use the ids as they were meant.
struct TokenFileNote {
  std::string token_dtype;  ///< "uint16" or "uint32"
  int64_t tokens = 0;
  int64_t documents = 0;
  int64_t text_bytes = 0;           ///< of the documents, decompressed
  int64_t vocab_size = 0;           ///< of the tokenizer
  std::string tokenizer;            ///< its file; empty: bytes
  std::string tokenizer_sha256;     ///< of that file, or "bytes"
  std::optional<int64_t> bos, eos;  ///< what stands around each document; absent: nothing
  std::string made_by;              ///< "titan 0.1.0"
};

/// "tokens.bin" to "tokens.bin.json".
std::filesystem::path note_path(const std::filesystem::path& token_file);

std::string format_token_note(const TokenFileNote& note);
/// A data error that names `where` if the text is a damaged note, or no JSON object with anything
/// in it; nothing for an object that plainly is of something else.
std::optional<TokenFileNote> parse_token_note(std::string_view text, const std::string& where);

/// The note beside a token file, if there is one; what is of something else is said in a log line.
std::optional<TokenFileNote> read_token_note(const std::filesystem::path& token_file);

/// Throws a usage error that names `where` if something lies at `note` and is no note of titan:
/// it must not be replaced by one.
void check_note_replaceable(const std::filesystem::path& note, const std::string& where);

/// Throws if the note contradicts what the file is used with: its type `token_dtype` (a usage error
/// that names both), its size of `tokens`, a vocabulary of `vocab_size`, and `tokenizer_sha256`,
/// unless that is empty.
void check_token_note(const TokenFileNote& note, const std::filesystem::path& token_file,
                      const std::string& token_dtype, int64_t tokens, int64_t vocab_size,
                      const std::string& tokenizer_sha256);

}  // namespace titan::data
