#include "config/dump.h"

#include <algorithm>
#include <cctype>

#include "config/fields.h"
#include "config/option_text.h"

namespace titan::config {
namespace {

class ConfigDump {
 public:
  ConfigDump(const LoadedConfig& config, const std::vector<ConverterRequest>& requests,
             bool origins)
      : config_(config), requests_(requests), origins_(origins) {}

  std::string text() {
    for (const std::string& section : section_names())
      if (section.find('.') == std::string::npos) add_section(section, 0);
    for (const ConverterSection& section : config_.converter_sections)
      if (!is_applied(section.name)) add_kept_section(section);
    return std::move(out_);
  }

 private:
  bool is_applied(const std::string& converter) const {
    return std::any_of(requests_.begin(), requests_.end(), [&](const ConverterRequest& request) {
      return request.converter == converter;
    });
  }

  void line(size_t indent, const std::string& content, const std::string& origin) {
    out_ += std::string(indent, ' ') + content;
    if (origins_ && !origin.empty()) {
      // A comment ends with its line: what the user typed must not open another one.
      std::string comment = origin;
      for (char& c : comment)
        if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
      out_ += "  # " + comment;
    }
    out_ += '\n';
  }

  void add_section(const std::string& section, size_t indent) {
    const size_t dot = section.rfind('.');
    line(indent, section.substr(dot == std::string::npos ? 0 : dot + 1) + ":", "");
    for (const Field& field : fields())
      if (field.section == section) add_field(field, indent + 2);
    for (const std::string& inner : section_names())
      if (inner.rfind(section + ".", 0) == 0) add_section(inner, indent + 2);
  }

  void add_field(const Field& field, size_t indent) {
    const auto found = config_.origins.find(field.full_name());
    const std::string origin = found == config_.origins.end() ? "default" : found->second;
    if (field.is_converters && !config_.values.model.converters.empty()) {
      line(indent, field.option.name + ":", origin);
      if (requests_.empty())
        for (const ConverterItem& item : config_.values.model.converters)
          add_unresolved(item, indent + 2);
      for (const ConverterRequest& request : requests_) add_request(request, indent + 2);
      return;
    }
    const std::optional<OptionValue> value = field.get(config_.values);
    line(indent, field.option.name + ": " + (value ? to_yaml(*value) : "null"), origin);
  }

  static OptionValue as_list(const std::vector<std::string>& names) {
    OptionValue value{true, {}};
    for (const std::string& name : names) value.items.push_back(name);
    return value;
  }

  void add_request(const ConverterRequest& request, size_t indent) {
    const auto origin_of = [&request](const std::string& name) {
      const auto found = request.origins.find(name);
      return found == request.origins.end() ? std::string("default") : found->second;
    };
    line(indent, "- use: " + to_yaml(request.converter), "");
    const size_t inner = indent + 2;
    if (request.instance != request.converter) line(inner, "as: " + to_yaml(request.instance), "");
    line(inner, "include: " + to_yaml(as_list(request.include)), origin_of("include"));
    line(inner, "exclude: " + to_yaml(as_list(request.exclude)), origin_of("exclude"));
    for (const auto& [name, value] : request.options)
      line(inner, name + ": " + to_yaml(value), origin_of(name));
  }

  void add_unresolved(const ConverterItem& item, size_t indent) {
    line(indent, "- use: " + to_yaml(item.use), item.where);
    if (item.as != item.use) line(indent + 2, "as: " + to_yaml(item.as), "");
    add_entries(item.settings, indent + 2);
  }

  void add_kept_section(const ConverterSection& section) {
    line(0, to_yaml(section.name) + ":", section.where);
    add_entries(section.settings, 2);
  }

  void add_entries(const Node& map, size_t indent) {
    for (size_t i = 0; i < map.items.size(); ++i)
      line(indent, to_yaml(map.keys[i].text) + ": " + flow(map.items[i]), map.items[i].where);
  }

  /// A raw value on one line; its type is not known here, so plain text stays plain.
  static std::string flow(const Node& node) {
    std::string text;
    switch (node.kind) {
      case Node::Kind::kNull: return "null";
      case Node::Kind::kScalar:
        return node.quoted || !is_plain(node.text) ? to_yaml_quoted(node.text) : node.text;
      case Node::Kind::kList:
        for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + flow(item);
        return "[" + text + "]";
      case Node::Kind::kMap:
        for (size_t i = 0; i < node.items.size(); ++i)
          text += (i == 0 ? "" : ", ") + to_yaml(node.keys[i].text) + ": " + flow(node.items[i]);
        return "{" + text + "}";
    }
    return text;
  }

  static bool is_plain(const std::string& text) {
    return !text.empty() && text != "null" && text != "-" &&
           std::all_of(text.begin(), text.end(), [](char c) {
             return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                    c == '-' || c == '+' || c == '/';
           });
  }

  const LoadedConfig& config_;
  const std::vector<ConverterRequest>& requests_;
  bool origins_;
  std::string out_;
};

}  // namespace

std::string dump_config(const LoadedConfig& config, const std::vector<ConverterRequest>& requests,
                        bool origins) {
  return ConfigDump(config, requests, origins).text();
}

}  // namespace titan::config
