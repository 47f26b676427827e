#include "converters/selector.h"

#include "base/error.h"
#include "base/glob.h"
#include "base/suggest.h"

namespace titan::converters {
namespace {

/// Marks the modules that `text` matches, and everything below them.
std::vector<bool> match_subtrees(const StockModel& model, const std::string& instance,
                                 const std::string& key, const std::string& text) {
  const Glob glob = Glob::parse(text);
  std::vector<bool> chosen(model.size(), false);
  bool any = false;
  for (size_t i = 0; i < model.size(); ++i) {
    // Parents come before children, so one pass carries a match down the tree.
    const int64_t parent = model[i].parent;
    const bool hit = !model[i].fqn.empty() && glob.matches(model[i].fqn);
    any = any || hit;
    chosen[i] = hit || (parent >= 0 && chosen[parent]);
  }
  if (!any)
    throw usage_error(
        "the pattern '" + text + "' in " + instance + "." + key + " matches no module of the model",
        instance + "." + key,
        did_you_mean(text, model.names()) +
            "patterns are whole names: '*' stands for one segment, '**' for any number");
  return chosen;
}

}  // namespace

std::vector<bool> select_modules(const StockModel& model, const std::string& instance,
                                 const std::vector<std::string>& include,
                                 const std::vector<std::string>& exclude) {
  std::vector<bool> selected(model.size(), include.empty());
  for (const std::string& text : include) {
    const auto chosen = match_subtrees(model, instance, "include", text);
    for (size_t i = 0; i < chosen.size(); ++i) selected[i] = selected[i] || chosen[i];
  }
  for (const std::string& text : exclude) {
    const auto chosen = match_subtrees(model, instance, "exclude", text);
    for (size_t i = 0; i < chosen.size(); ++i) selected[i] = selected[i] && !chosen[i];
  }
  return selected;
}

}  // namespace titan::converters
