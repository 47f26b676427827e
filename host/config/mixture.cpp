#include "config/mixture.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "base/error.h"
#include "base/numbers.h"
#include "base/printable.h"
#include "base/suggest.h"

namespace titan::config {
namespace {

constexpr const char* kMixtureHint =
    "write NAME:WEIGHT:DATASET:PATH, for example web:0.7:jsonl:/data/web";

/// Up to the next colon, which is left out; nothing if there is none.
std::optional<std::string> take_part(std::string_view& rest) {
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string part(rest.substr(0, colon));
  rest.remove_prefix(colon + 1);
  return part;
}

double weight_of(const std::string& text, const std::string& item, const std::string& where) {
  double weight = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), weight);
  if (error == std::errc() && end == text.data() + text.size() && weight > 0 &&
      std::isfinite(weight))
    return weight;
  throw usage_error("the weight of '" + printable(item, 120) + "' is '" + printable(text, 40) +
                        "', a number above 0 is needed",
                    where, kMixtureHint);
}

MixtureSource parse_source(const std::string& item, const std::string& where) {
  std::string_view rest = item;
  const auto name = take_part(rest), weight = take_part(rest), dataset = take_part(rest);
  if (!name || !weight || !dataset || name->empty() || rest.empty())
    throw usage_error("'" + printable(item, 120) + "' is no source of a mixture", where,
                      kMixtureHint);
  const std::vector<std::string> datasets = {"text", "jsonl", "chat", "tokens"};
  for (const std::string& known : datasets)
    if (*dataset == known)
      return {*name, weight_of(*weight, item, where), *dataset, std::string(rest)};
  throw usage_error(
      "the source '" + printable(*name, 80) + "' has the dataset '" + printable(*dataset, 40) + "'",
      where, did_you_mean(*dataset, datasets) + "use text, jsonl, chat or tokens");
}

}  // namespace

std::vector<MixtureSource> parse_mixture(const std::vector<std::string>& items,
                                         const std::string& where) {
  if (items.empty()) throw usage_error("the mixture has no source", where, kMixtureHint);
  std::vector<MixtureSource> sources;
  for (const std::string& item : items) {
    sources.push_back(parse_source(item, where));
    for (size_t i = 0; i + 1 < sources.size(); ++i)
      if (sources[i].name == sources.back().name)
        throw usage_error(
            "two sources of the mixture are named '" + printable(sources[i].name, 80) + "'", where,
            "give each source a name of its own");
  }
  return sources;
}

std::string mixture_item(const MixtureSource& source) {
  return source.name + ":" + shortest_float(source.weight) + ":" + source.dataset + ":" +
         source.path;
}

}  // namespace titan::config
