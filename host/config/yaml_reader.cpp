#include "config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"

namespace titan::config {
namespace {

constexpr const char* kYamlHint = "a config is a map of sections, each a map of 'key: value' lines";

/// Put behind the text as a comment. yaml-cpp lets a quoted text run to the end of the file without
/// a word; then this is part of the value.
constexpr const char* kEndOfText =
    "\x01"
    "end of config"
    "\x01";

/// Turns the parser's events into a Node. yaml-cpp's own tree is not used because it keeps the
/// first of two equal keys in silence and no places of keys.
class NodeBuilder : public YAML::EventHandler {
 public:
  NodeBuilder(std::string name, bool command_line)
      : name_(std::move(name)), command_line_(command_line) {}

  Node take_root() { return std::move(root_); }

  std::string place(const YAML::Mark& mark) const {
    if (command_line_ || mark.is_null()) return name_;
    return name_ + ":" + std::to_string(mark.line + 1) + ":" + std::to_string(mark.column + 1);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_)
      throw usage_error("the text goes on after the end of the config", place(mark),
                        "a config is one YAML document: remove the '---' or what follows");
    started_ = true;
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(leaf(Node::Kind::kNull, mark), anchor, place(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_tag(tag, mark);
    if (value.find(kEndOfText) != std::string::npos)
      throw usage_error("the quote that opens here is never closed", place(mark),
                        "add the closing quote");
    Node node = leaf(Node::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    add(std::move(node), anchor, place(mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end())
      throw usage_error("an alias inside its own anchor would never end", place(mark),
                        "write the value out instead of the alias");
    Node copy = found->second;
    count(nodes_of(copy), mark);
    copy.where = place(mark);
    add(std::move(copy), 0, place(mark));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Node::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Node::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { close(); }

 private:
  struct Frame {
    Node node;
    YAML::anchor_t anchor;
    std::map<std::string, std::string> seen;  ///< key → where
  };

  Node leaf(Node::Kind kind, const YAML::Mark& mark) {
    count(1, mark);
    Node node;
    node.kind = kind;
    node.where = place(mark);
    node.command_line = command_line_;
    return node;
  }

  void count(size_t nodes, const YAML::Mark& mark) {
    nodes_ += nodes;
    if (nodes_ > kMaxConfigNodes)
      throw usage_error("the config has more than " + std::to_string(kMaxConfigNodes) + " values",
                        place(mark), "an alias counts as all it stands for; write fewer of them");
  }

  static size_t nodes_of(const Node& node) {
    size_t total = 1;
    for (const Node& item : node.items) total += nodes_of(item);
    return total;
  }

  void refuse_tag(const std::string& tag, const YAML::Mark& mark) const {
    // "?" and "!" are the parser's own marks for plain and quoted.
    if (!tag.empty() && tag != "?" && tag != "!")
      throw usage_error("tags such as '!!int' are not supported", place(mark),
                        "remove the tag; the type of a key is known");
  }

  void open(Node::Kind kind, const YAML::Mark& mark, const std::string& tag,
            YAML::anchor_t anchor) {
    refuse_tag(tag, mark);
    if (stack_.size() >= kMaxConfigDepth)
      throw usage_error("values are nested more than " + std::to_string(kMaxConfigDepth) + " deep",
                        place(mark), kYamlHint);
    stack_.push_back({leaf(kind, mark), anchor, {}});
  }

  void close() {
    Frame frame = std::move(stack_.back());
    stack_.pop_back();
    const std::string where = frame.node.where;
    add(std::move(frame.node), frame.anchor, where);
  }

  void add(Node node, YAML::anchor_t anchor, const std::string& where) {
    if (anchor != 0) anchors_[anchor] = node;
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& frame = stack_.back();
    if (frame.node.kind == Node::Kind::kMap && frame.node.keys.size() == frame.node.items.size()) {
      add_key(frame, node, where);
      return;
    }
    // The parser puts a missing value on the next line; its key is the better place.
    if (node.kind == Node::Kind::kNull && frame.node.kind == Node::Kind::kMap)
      node.where = frame.node.keys.back().where;
    frame.node.items.push_back(std::move(node));
  }

  static void add_key(Frame& frame, const Node& node, const std::string& where) {
    if (node.kind != Node::Kind::kScalar)
      throw usage_error("a key must be a name, found " + node.describe(), where, kYamlHint);
    if (node.text == "<<" && !node.quoted)
      throw usage_error("merge keys ('<<') are not supported", where, "write the keys out");
    const auto [entry, is_new] = frame.seen.emplace(node.text, where);
    if (!is_new)
      throw usage_error(
          "the key '" + node.text + "' is given twice: at " + entry->second + " and at " + where,
          where, "remove one of the two");
    frame.node.keys.push_back({node.text, where});
  }

  std::string name_;
  bool command_line_;
  bool started_ = false;
  size_t nodes_ = 0;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Node> anchors_;
  Node root_;
};

/// Line and column, both from 1, of a byte position.
std::pair<size_t, size_t> line_and_column(const std::string& text, size_t position) {
  const auto end = text.begin() + static_cast<std::ptrdiff_t>(position);
  const size_t line = static_cast<size_t>(std::count(text.begin(), end, '\n')) + 1;
  const size_t line_start = position == 0 ? std::string::npos : text.rfind('\n', position - 1);
  return {line, line_start == std::string::npos ? position + 1 : position - line_start};
}

/// The parser's words for the commonest mistakes, in the user's terms.
std::string syntax_problem(const std::string& message) {
  if (message == YAML::ErrorMsg::END_OF_MAP_FLOW) return "there is a '{' that is never closed";
  if (message == YAML::ErrorMsg::END_OF_SEQ_FLOW) return "there is a '[' that is never closed";
  if (message == YAML::ErrorMsg::END_OF_MAP) return "another 'key: value' was expected here";
  if (message == YAML::ErrorMsg::END_OF_SEQ) return "another '- item' was expected here";
  if (message == YAML::ErrorMsg::MAP_VALUE) return "a ':' cannot stand here";
  return message;
}

bool has_tab_indentation(const std::string& text) {
  for (size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    const size_t first = std::min(text.find_first_not_of(" \t", start), text.size());
    if (std::find(text.begin() + static_cast<std::ptrdiff_t>(start),
                  text.begin() + static_cast<std::ptrdiff_t>(first),
                  '\t') != text.begin() + static_cast<std::ptrdiff_t>(first))
      return true;
    if (text.find('\n', start) == std::string::npos) break;
  }
  return false;
}

Error broken_yaml(const YAML::Exception& error, const std::string& text,
                  const NodeBuilder& builder) {
  YAML::Mark mark = error.mark;
  // What is missing at the end is reported behind the text, and behind what was put there.
  const size_t last = text.find_last_not_of(" \t\r\n");
  if (last != std::string::npos && !mark.is_null()) {
    const auto [line, column] = line_and_column(text, last);
    if (static_cast<size_t>(mark.line) >= line) {
      mark.line = static_cast<int>(line) - 1;
      mark.column = static_cast<int>(column) - 1;
    }
  }
  const std::string tabs =
      has_tab_indentation(text) ? "indent with spaces, not tabs; " : "check the indentation; ";
  return usage_error("broken YAML: " + syntax_problem(error.msg), builder.place(mark),
                     tabs + kYamlHint);
}

Node parse_document(const std::string& text, NodeBuilder& builder) {
  std::string body = text.rfind("\xEF\xBB\xBF", 0) == 0 ? text.substr(3) : text;
  body += std::string("\n#") + kEndOfText + "\n";
  std::istringstream in(body);
  try {
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& error) {
    throw broken_yaml(error, text, builder);
  }
  return builder.take_root();
}

}  // namespace

Node read_yaml(const std::string& text, const std::string& name) {
  if (const size_t bad = find_bad_byte(text); bad != std::string::npos) {
    const auto [line, column] = line_and_column(text, bad);
    throw usage_error("the config holds a byte that is no text",
                      name + ":" + std::to_string(line) + ":" + std::to_string(column),
                      "save the file as UTF-8 text without control characters");
  }
  NodeBuilder builder(name, false);
  return parse_document(text, builder);
}

Node read_yaml_option(const std::string& text, const std::string& where) {
  NodeBuilder builder(where, true);
  return parse_document(text, builder);
}

}  // namespace titan::config
