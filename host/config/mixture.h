/// The sources of training.mixture.
#pragma once

#include <string>
#include <vector>

namespace titan::config {

struct MixtureSource {
  std::string name;
  double weight = 0;    ///< positive
  std::string dataset;  ///< "text", "jsonl", "chat" or "tokens"
  std::string path;
};

/// Each item is NAME:WEIGHT:DATASET:PATH. Throws a usage error that names `where` for what is
/// malformed, for a name twice, or if there is none.
std::vector<MixtureSource> parse_mixture(const std::vector<std::string>& items,
                                         const std::string& where);

/// The item that parse_mixture() reads back.
std::string mixture_item(const MixtureSource& source);

}  // namespace titan::config
