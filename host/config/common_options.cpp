#include "config/common_options.h"

namespace titan::config {

const std::vector<OptionSchema>& common_options() {
  static const std::vector<OptionSchema> options = [] {
    const auto list = [](const char* name, const char* help) {
      OptionSchema option;
      option.name = name;
      option.type = OptionType::kString;
      option.is_list = true;
      option.default_value = OptionValue{true, {}};
      option.help = help;
      return option;
    };
    OptionSchema exclude = list(
        "exclude", "modules to leave alone: globs over whole names, 'layers.*.attention.w[qk]'");
    exclude.aliases = {"filter_fqns"};
    return std::vector<OptionSchema>{
        list("include", "modules to convert: globs as for exclude; none: all of them"), exclude};
  }();
  return options;
}

}  // namespace titan::config
