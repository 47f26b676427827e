/// Reads the note's JSON and checks every member.
#include "plugins/note.h"

#include <algorithm>
#include <set>

#include "base/printable.h"
#include "base/text_list.h"
#include "config/converter_items.h"
#include "plugins/note_bytes.h"
#include "plugins/note_json.h"
#include "plugins/plugin_name.h"

namespace titan::plugins {
namespace {

constexpr int kMaxJsonDepth = 16;
constexpr size_t kMaxConverters = 256;
constexpr size_t kMaxOptions = 256;

/// Builds the value while watching depth and keys.
class NoteCallback {
 public:
  bool operator()(int depth, NoteJson::parse_event_t event, NoteJson& parsed) {
    using Event = NoteJson::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxJsonDepth)
        throw NoteProblem{"the JSON is nested more than 16 levels deep", "flatten the metadata"};
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second)
        throw NoteProblem{"the key \"" + printable(key, 80) + "\" occurs twice in one object",
                          "keep one of the two"};
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> keys_;  // one set for each object that is open
};

/// One numeric part of a version; advances `at`.
bool version_number(std::string_view text, size_t& at) {
  const size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return at > begin && at - begin <= 9 && (at - begin == 1 || text[begin] != '0');
}

bool semantic_version(std::string_view text) {
  size_t at = 0;
  for (int part = 0; part < 3; ++part) {
    if (part > 0 && (at >= text.size() || text[at++] != '.')) return false;
    if (!version_number(text, at)) return false;
  }
  if (at == text.size()) return true;
  if (text[at] != '-' && text[at] != '+') return false;
  const std::string_view rest = text.substr(at + 1);
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '-' || c == '+';
  });
}

/// "2.10" or "2.10.0".
bool torch_version(std::string_view text) {
  size_t at = 0;
  for (int part = 0; part < 3 && at < text.size(); ++part) {
    if (part > 0 && text[at++] != '.') return false;
    if (!version_number(text, at)) return false;
    if (at == text.size()) return part > 0;
  }
  return false;
}

std::string parse_name(const NoteValue& value) {
  const std::string& name = value.text();
  if (!valid_name(name))
    value.fail("\"" + printable(name, 80) + "\" is not a valid name",
               "use a lower-case letter followed by at most 63 of a-z 0-9 _ . -", Rule::kNames);
  return name;
}

std::string optional_line(const NoteValue& value, const std::string& key, size_t max) {
  return value.has(key) ? value.member(key).line(max) : std::string();
}

int64_t parse_level(const NoteValue& value) {
  const int64_t level = value.integer();
  if (level < 1 || level > UINT32_MAX)
    value.fail(std::to_string(level) + " is not an API level", "API levels are 1 and up",
               Rule::kApiLevel);
  return level;
}

/// What a host of any level can read.
void parse_head(const NoteValue& note, PluginDescription& out) {
  note.need_object();
  out.name = parse_name(note.member("name"));
  out.homepage = optional_line(note, "homepage", 512);
  out.version = note.member("version").line(64);
  if (!semantic_version(out.version))
    note.member("version").fail("\"" + out.version + "\" is not a version",
                                "write MAJOR.MINOR.PATCH, for example \"1.0.0\"");
  out.api_min = parse_level(note.member("api_min"));
  out.api_built = parse_level(note.member("api_built"));
  if (out.api_min > out.api_built)
    note.member("api_min").fail("needs API level " + std::to_string(out.api_min) +
                                    " but was built with headers of level " +
                                    std::to_string(out.api_built),
                                "api_min is at most api_built", Rule::kApiLevel);
}

/// The names alone, as far as they can be read: so that "who offers X" has an answer.
void parse_converter_names(const NoteJson& json, PluginDescription& out) {
  if (!json.is_object() || !json.contains("converters") || !json["converters"].is_array()) return;
  for (const NoteJson& item : json["converters"]) {
    if (!item.is_object() || !item.contains("name") || !item["name"].is_string()) continue;
    const auto& name = item["name"].get_ref<const std::string&>();
    if (valid_name(name) && out.converters.size() < kMaxConverters)
      out.converters.push_back({name, {}, {}, {}});
  }
}

Tier parse_tier(const NoteValue& value) {
  const std::string& text = value.text();
  if (text == "none") return Tier::kNone;
  if (text == "stable") return Tier::kStable;
  if (text == "exact") return Tier::kExact;
  value.fail("\"" + printable(text, 80) + "\" is not a tier", "use none, stable or exact");
}

config::ConverterSchema parse_converter(const NoteValue& value, bool strict) {
  value.need_object();
  if (strict)
    value.only_members({"name", "summary", "matrix_type", "options", "numerics", "validate_with"});
  config::ConverterSchema out;
  out.name = parse_name(value.member("name"));
  if (const std::string problem = config::problem_of_name(out.name); !problem.empty())
    value.member("name").fail("\"" + out.name + "\" " + problem, "choose a name of its own",
                              Rule::kNames);
  out.summary = optional_line(value, "summary", 512);
  out.matrix_type = optional_line(value, "matrix_type", 32);
  if (strict && !out.matrix_type.empty() && out.matrix_type != "float8")
    value.member("matrix_type")
        .fail("\"" + out.matrix_type + "\" is no type that this version can measure against",
              "write \"float8\", or leave it out: the run's own type is taken");
  if (!value.has("options")) return out;
  const NoteValue options = value.member("options");
  options.need_array(kMaxOptions);
  std::set<std::string> taken;
  for (size_t i = 0; i < options.json.size(); ++i) {
    const NoteValue item = options.item(i);
    out.options.push_back(parse_option(item, strict));
    const config::OptionSchema& option = out.options.back();
    std::vector<std::string> names = option.aliases;
    names.push_back(option.name);
    for (const std::string& name : names)
      if (!taken.insert(name).second)
        item.fail("the option name \"" + name + "\" is taken by an option above it",
                  "names and aliases of a converter's options are unique", Rule::kOptions);
  }
  return out;
}

void parse_body(const NoteValue& note, bool strict, PluginDescription& out) {
  if (strict)
    note.only_members({"name", "version", "license", "homepage", "vendor", "api_min", "api_built",
                       "tier", "torch_min", "torch_build", "converters"});
  out.license = optional_line(note, "license", 256);
  out.vendor = optional_line(note, "vendor", 256);
  out.tier = parse_tier(note.member("tier"));
  if (note.has("torch_min")) {
    out.torch_min = note.member("torch_min").line(32);
    if (!torch_version(out.torch_min))
      note.member("torch_min")
          .fail("\"" + out.torch_min + "\" is not a LibTorch version", "write it as \"2.10\"");
  }
  if (note.has("torch_build")) out.torch_build = note.member("torch_build").line(128);
  if (out.tier == Tier::kExact && out.torch_build.empty())
    note.fail("the tier is exact, but the member \"torch_build\" is missing",
              "build it with titan_add_plugin(... TORCH_EXACT), which writes it");
  if (out.tier != Tier::kExact && !out.torch_build.empty())
    note.member("torch_build").fail("is only for tier exact", "leave it out");
  const NoteValue list = note.member("converters");
  list.need_array(kMaxConverters);
  if (list.json.empty())
    list.fail("lists no converter", "name every converter that register_converters registers");
  std::vector<config::ConverterSchema> converters;
  std::set<std::string> names;
  for (size_t i = 0; i < list.json.size(); ++i) {
    converters.push_back(parse_converter(list.item(i), strict));
    out.claims[converters.back().name] = parse_claims(list.item(i), converters.back(), strict);
    if (!names.insert(converters.back().name).second)
      list.item(i).member("name").fail(
          "the converter \"" + converters.back().name + "\" is listed twice",
          "converter names are unique", Rule::kTransaction);
  }
  out.converters = std::move(converters);
}

}  // namespace

std::string_view tier_name(Tier tier) {
  switch (tier) {
    case Tier::kNone: return "none";
    case Tier::kStable: return "stable";
    case Tier::kExact: return "exact";
  }
  return "none";
}

NoteJson parse_note_json(std::string_view text) {
  if (text.size() > kMaxNoteBytes)
    throw NoteProblem{
        "the note has " + std::to_string(text.size()) + " bytes; at most 65536 are allowed",
        "shorten summaries and help texts"};
  try {
    return NoteJson::parse(text.begin(), text.end(), NoteCallback());
  } catch (const NoteJson::exception& error) {
    // "[json.exception.parse_error.101] parse error at line 1, column 9: ..." -> from "at line" on.
    const std::string_view what = error.what();
    const size_t at = what.find("at line");
    throw NoteProblem{
        "not valid JSON: " + printable(at == std::string_view::npos ? what : what.substr(at), 300),
        "check plugin.json with a JSON checker and build the plugin again"};
  }
}

std::string converter_list(const PluginDescription& plugin) {
  std::vector<std::string> names;
  for (const config::ConverterSchema& converter : plugin.converters)
    names.push_back(converter.name);
  return joined(names);
}

ParsedNote parse_note(std::string_view text, int64_t host_level) {
  ParsedNote result;
  PluginDescription& out = result.description;
  out.note = std::string(text.substr(0, kMaxNoteBytes));
  try {
    const NoteJson json = parse_note_json(text);
    const NoteValue note{json, {}};
    parse_converter_names(json, out);
    parse_head(note, out);
    if (out.api_min > host_level) {
      result.problem = "needs titan API level " + std::to_string(out.api_min) +
                       ", this titan has level " + std::to_string(host_level);
      result.hint = "install a newer titan, or a build of the plugin for level " +
                    std::to_string(host_level) +
                    (out.homepage.empty() ? std::string() : " (" + out.homepage + ")");
      result.rule = Rule::kApiLevel;
      return result;
    }
    // A plugin built with newer headers may say more than this host knows; that is no mistake.
    parse_body(note, out.api_built <= host_level, out);
  } catch (const NoteProblem& problem) {
    result.problem = problem.text;
    result.hint = problem.hint;
    result.rule = problem.rule;
  }
  return result;
}

}  // namespace titan::plugins
