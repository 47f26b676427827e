/// Renders what the reports say as JSON, so that page and report tell the same.
#include "plugins/plugin_page.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"
#include "plugins/report_json.h"

namespace titan::plugins {
namespace {

/// A note's text as Markdown: nothing in it starts a link, a tag, code or another cell.
std::string escaped(std::string_view text) {
  // Four blanks in front would make it code.
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool alone = i > 0 && text[i - 1] == ' ' && i + 1 < text.size() && text[i + 1] == ' ';
    if (std::string_view("\\`[]<|~#").find(text[i]) != std::string_view::npos ||
        (text[i] == '*' && !alone))
      out += '\\';
    out += text[i] == '\n' ? ' ' : text[i];
  }
  return out;
}

/// As code, for values; a text with a backtick is written plainly.
std::string as_code(const std::string& text) {
  if (text.empty() || text.find_first_of("`|\n") != std::string::npos) return escaped(text);
  return "`" + text + "`";
}

std::string plain_value(const ReportJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const ReportJson& item : value)
    text.append(text.empty() ? "" : ",").append(plain_value(item));
  return text;
}

std::string table_row(const std::vector<std::string>& cells) {
  std::string text = "|";
  for (const std::string& cell : cells)
    text.append(" ").append(cell).append(cell.empty() ? "|" : " |");
  return text + "\n";
}

/// A bound, which JSON has as a floating-point number, as the option's type writes it.
std::string bound_text(const ReportJson& option, const char* which) {
  const double bound = option[which].get<double>();
  const bool whole = plain_value(option["type"]).find("int") != std::string::npos;
  return whole ? std::to_string(static_cast<int64_t>(bound)) : option[which].dump();
}

/// What an option may be: its range or its values.
std::string allowed_text(const ReportJson& option) {
  if (option.contains("values")) {
    std::string text;
    for (const ReportJson& value : option["values"])
      text += (text.empty() ? "" : ", ") + as_code(plain_value(value));
    return text;
  }
  const bool from = option.contains("min"), to = option.contains("max");
  if (from && to) return bound_text(option, "min") + " to " + bound_text(option, "max");
  if (from) return "at least " + bound_text(option, "min");
  return to ? "at most " + bound_text(option, "max") : "";
}

void append_option_table(const ReportJson& options, std::string& text) {
  if (options.empty()) {
    text += "It has no options of its own.\n";
    return;
  }
  text +=
      table_row({"option", "type", "default", "allowed", "meaning"}) + "|---|---|---|---|---|\n";
  for (const ReportJson& option : options) {
    std::string names = as_code(plain_value(option["name"]));
    if (option.contains("aliases"))
      for (const ReportJson& alias : option["aliases"])
        names += ", also " + as_code(plain_value(alias));
    const std::string value = option.contains("default") ? plain_value(option["default"]) : "";
    text += table_row({names, plain_value(option["type"]),
                       !option.contains("default") ? "required"
                       : value.empty()             ? "empty"
                                                   : as_code(value),
                       allowed_text(option), escaped(plain_value(option["help"]))});
  }
}

/// A value that the option takes, for the example: its default, else the nearest to hand.
std::string example_value(const ReportJson& option) {
  for (const char* key : {"default", "min", "max"})
    if (option.contains(key))
      return key == std::string("default") ? plain_value(option[key]) : bound_text(option, key);
  if (option.contains("values")) return plain_value(option["values"].front());
  const std::string type = plain_value(option["type"]);
  if (type.find("bool") != std::string::npos) return "true";
  return type.find("int") != std::string::npos || type.find("float") != std::string::npos ? "1"
                                                                                          : "VALUE";
}

/// For a shell; nothing if quotes would not be enough.
std::string quoted_value(const std::string& value) {
  if (value.find('\'') != std::string::npos) return {};
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-+=./:,@%").find(c) != std::string_view::npos;
  });
  return plain ? value : "'" + value + "'";
}

/// Required options must be given, and those that the note wants tried with a certain value; of the
/// others one shows the form.
std::string example_command(const ReportJson& converter, const std::string& file) {
  const std::string name = plain_value(converter["name"]);
  const ReportJson tried = converter.value("validate_with", ReportJson::object());
  std::string text = "    titan train CONFIG.yaml --plugins.paths=" + quoted_value(file) +
                     " --model.converters=" + name;
  bool shown = false;
  for (const ReportJson& option : converter["options"]) {
    const std::string key = plain_value(option["name"]);
    const bool is_tried = tried.contains(key);
    const std::string value =
        quoted_value(is_tried ? plain_value(tried[key]) : example_value(option));
    if (!is_tried && !option["required"].get<bool>() && (shown || value.empty())) continue;
    text.append(" --").append(name).append(".").append(key).append("=").append(value);
    shown = true;
  }
  return text + "\n";
}

constexpr std::array<std::string_view, 3> kShownBelow = {"name", "summary", "options"};

void append_converter(const ReportJson& converter, const std::string& file, std::string& text) {
  text += "\n## Converter `" + plain_value(converter["name"]) + "`\n\n";
  if (const std::string summary = plain_value(converter["summary"]); !summary.empty())
    text += escaped(summary) + "\n\n";
  // What else the report knows of it.
  std::string facts;
  for (const auto& [key, value] : converter.items())
    if (std::find(kShownBelow.begin(), kShownBelow.end(), key) == kShownBelow.end())
      facts += "* " + escaped(key) + ": " +
               as_code(value.is_structured() ? value.dump() : plain_value(value)) + "\n";
  if (!facts.empty()) text += facts + "\n";
  append_option_table(converter["options"], text);
  text += "\nIn the folder of the file:\n\n" + example_command(converter, file);
}

}  // namespace

std::string plugin_page(const JudgedPlugin& judged) {
  const std::string where = printable_path(judged.path.native());
  if (judged.verdict.outcome != Outcome::kLoadable)
    throw usage_error("it " + judged.verdict.reason_with_rule(), where, judged.verdict.hint);
  if (!judged.has_note())
    throw usage_error("it has no note, so nothing is known of it without loading it", where,
                      "build it with titan_add_plugin(... METADATA plugin.json)");
  const ReportJson plugin = plugin_json(judged);
  const std::string name = plain_value(plugin["name"]);
  std::string text = "# " + name + "\n\n| | |\n|---|---|\n";
  const auto row = [&](const char* key, const std::string& value) {
    if (!value.empty()) text += table_row({key, value});
  };
  row("version", escaped(plain_value(plugin["version"])));
  row("license", escaped(plain_value(plugin["license"])));
  row("homepage", escaped(plain_value(plugin["homepage"])));
  row("vendor", escaped(plain_value(plugin["vendor"])));
  row("API level", "needs " + plain_value(plugin["api_min"]) + ", built with " +
                       plain_value(plugin["api_built"]));
  row("tier", plain_value(plugin["tier"]));
  if (const std::string oldest = plain_value(plugin["torch_min"]); !oldest.empty())
    row("LibTorch", escaped(oldest) + " or newer");
  if (plugin.contains("torch_build"))
    row("LibTorch", escaped(plain_value(plugin["torch_build"])) + " exactly");
  const std::string file = "./" + printable_path(judged.path.filename().native());
  for (const ReportJson& converter : plugin["converters"]) append_converter(converter, file, text);
  text += "\nModules are chosen with `include` and `exclude`, as for every converter.\n";
  return text;
}

}  // namespace titan::plugins
