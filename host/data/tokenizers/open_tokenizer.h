/// From a path to a tokenizer.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/tokenizer.h"

namespace titan::data {

struct TokenizerOptions {
  /// A tokenizer.json, a tiktoken file, or a folder with one; empty: one id a byte.
  std::filesystem::path path;
  /// "auto", "bytes", "huggingface", or the preset of a tiktoken file.
  std::string format = "auto";
  /// Whether special tokens that are written in a text become their ids.
  bool parse_special_tokens = false;
};

/// "auto", "bytes", "huggingface", "llama3", "qwen", ...
std::vector<std::string> tokenizer_formats();

/// In a folder tokenizer.json goes before tokenizer.model and the only *.tiktoken;
/// tokenizer_config.json beside a tokenizer.json is read too. "auto" tells a tiktoken file's preset
/// by its number of ranks. Throws a usage error if format and path do not go together, a data error
/// for what is wrong with the files.
std::unique_ptr<Tokenizer> open_tokenizer(const TokenizerOptions& options);

/// Whether open_tokenizer() finds a tokenizer in this folder.
bool holds_tokenizer(const std::filesystem::path& folder);

/// The files that open_tokenizer() reads.
std::vector<std::filesystem::path> tokenizer_files(const TokenizerOptions& options);

/// SHA-256 of the tokenizer file, as 64 hexadecimal digits; "bytes" without a file.
std::string tokenizer_sha256(const TokenizerOptions& options);

}  // namespace titan::data
