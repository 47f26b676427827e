/// The note parser: what it reads, and that each mistake is refused by its JSON path.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "plugins/note.h"

namespace titan::plugins {
namespace {

/// A valid note whose one converter has `options`.
std::string with_options(const std::string& options) {
  return R"({"name": "p", "version": "1.0.0", "api_min": 1, "api_built": 1, "tier": "none",
             "converters": [{"name": "c", "options": [)" +
         options + "]}]}";
}

/// A valid note with the text `from` replaced by `to`.
std::string changed(const std::string& from, const std::string& to) {
  std::string text =
      R"({"name": "p", "version": "1.0.0", "api_min": 1, "api_built": 1, "tier": "none",
                         "converters": [{"name": "c"}]})";
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

struct BadNote {
  std::string json;
  std::string says;
  Rule rule;
};

void expect_refused(const BadNote& bad) {
  const ParsedNote parsed = parse_note(bad.json, 1);
  EXPECT_NE(parsed.problem.find(bad.says), std::string::npos)
      << "said: " << parsed.problem << "\nwanted: " << bad.says
      << "\nfor: " << bad.json.substr(0, 400);
  EXPECT_EQ(parsed.rule, bad.rule) << parsed.problem;
  EXPECT_FALSE(parsed.hint.empty()) << parsed.problem;
}

TEST(Note, ReadsEverything) {
  const ParsedNote parsed = parse_note(
      R"({"name": "p", "version": "1.0.0-rc.1+x", "license": "MIT", "homepage": "https://x", "vendor": "V",
          "api_min": 1, "api_built": 1, "tier": "stable", "torch_min": "2.10",
          "converters": [{"name": "c", "summary": "Größe", "matrix_type": "float8", "numerics": {"sqnr_db": 25},
          "validate_with": {"on": false, "l": ["z"]}, "options": [
            {"name": "on", "type": "bool", "default": true},
            {"name": "n", "type": "int", "default": -3, "min": -5, "max": 9007199254740993, "help": "h"},
            {"name": "f", "type": "float", "default": 2, "min": 0.5},
            {"name": "s", "type": "string", "default": ""},
            {"name": "e", "type": "enum", "values": ["a", "b"], "default": "b", "aliases": ["old_e"]},
            {"name": "p", "type": "path"},
            {"name": "l", "type": "list[string]", "default": ["x", "y"]},
            {"name": "q", "type": "list[enum]", "values": ["a"], "default": []},
            {"name": "r", "type": "int", "default": null}]}]})",
      1);
  ASSERT_EQ(parsed.problem, "");
  const PluginDescription& plugin = parsed.description;
  EXPECT_EQ(plugin.name, "p");
  EXPECT_EQ(plugin.version, "1.0.0-rc.1+x");
  EXPECT_EQ(plugin.tier, Tier::kStable);
  EXPECT_EQ(plugin.torch_min, "2.10");
  ASSERT_EQ(plugin.converters.size(), 1u);
  EXPECT_EQ(plugin.converters[0].matrix_type, "float8");
  const ConverterClaims& claims = plugin.claims.at("c");
  EXPECT_EQ(claims.numerics, (NumericsClaim{NumericsClaim::Kind::kApproximate, 25}));
  EXPECT_EQ(claim_text(claims.numerics), "sqnr_db 25.0");
  EXPECT_EQ(claims.validate_with.at("on").items[0], config::Scalar(false));
  EXPECT_EQ(claims.validate_with.at("l").items[0], config::Scalar(std::string("z")));
  const auto& options = plugin.converters[0].options;
  ASSERT_EQ(options.size(), 9u);
  EXPECT_EQ(options[0].default_value->items[0], config::Scalar(true));
  EXPECT_EQ(options[1].default_value->items[0], config::Scalar(int64_t{-3}));
  EXPECT_EQ(options[2].default_value->items[0],
            config::Scalar(2.0));  // an int literal is a float here
  EXPECT_EQ(options[3].default_value->items[0], config::Scalar(std::string()));
  EXPECT_EQ(options[4].aliases, std::vector<std::string>{"old_e"});
  EXPECT_FALSE(options[5].default_value);
  EXPECT_TRUE(options[6].is_list);
  EXPECT_EQ(options[6].default_value->items.size(), 2u);
  EXPECT_TRUE(options[7].default_value->items.empty());
  EXPECT_FALSE(options[8].default_value);
}

TEST(Note, RefusesByPath) {
  const std::vector<BadNote> table = {
      {"", "not valid JSON", Rule::kNote},
      {"[]", "must be an object", Rule::kNote},
      {"{} x", "not valid JSON", Rule::kNote},
      {"{\"name\": \"\xff\"}", "not valid JSON", Rule::kNote},
      {R"({"a": 1, "a": 2})", "\"a\" occurs twice", Rule::kNote},
      {changed(R"("name": "c")", R"("name": "c", "options": [{"x": {"y": 1, "y": 2}}])"),
       "\"y\" occurs twice", Rule::kNote},
      {std::string(17, '[') + std::string(17, ']'), "more than 16 levels", Rule::kNote},
      {std::string(60000, '['), "more than 16 levels", Rule::kNote},
      {std::string(65537, ' '), "at most 65536", Rule::kNote},
      {changed(R"("name": "p", )", ""), "the member \"name\" is missing", Rule::kNote},
      {changed(R"("name": "p")", R"("name": "P")"), "name: \"P\" is not a valid name",
       Rule::kNames},
      {changed(R"("name": "p")", R"("name": 3)"), "name: must be a string", Rule::kNote},
      {changed("1.0.0", "1.0"), "version: \"1.0\" is not a version", Rule::kNote},
      {changed("1.0.0", "01.0.0"), "version:", Rule::kNote},
      {changed(R"("api_min": 1)", R"("api_min": 0)"), "api_min: 0 is not an API level",
       Rule::kApiLevel},
      {changed(R"("api_min": 1)", R"("api_min": 1.0)"), "api_min: must be a whole number",
       Rule::kNote},
      {changed(R"("api_min": 1)", R"("api_min": 18446744073709551615)"), "api_min: is too large",
       Rule::kNote},
      {changed(R"("api_min": 1)", R"("api_min": 2)"), "api_min: needs API level 2 but was built",
       Rule::kApiLevel},
      {changed("none", "stabel"), "tier: \"stabel\" is not a tier", Rule::kNote},
      {changed(R"("tier")", R"("torch_min": "2", "tier")"), "torch_min:", Rule::kNote},
      {changed("none", "exact"), "the member \"torch_build\" is missing", Rule::kNote},
      {changed(R"("tier")", R"("torch_build": "2.11.0 cpu 0", "tier")"), "torch_build: is only for",
       Rule::kNote},
      {changed(R"("tier")", R"("licence": "MIT", "tier")"), "unknown member \"licence\"",
       Rule::kNote},
      {changed(R"([{"name": "c"}])", "[]"), "converters: lists no converter", Rule::kNote},
      {changed(R"([{"name": "c"}])", "{}"), "converters: must be a list", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c"}, {"name": "c"})"), "converters[1].name",
       Rule::kTransaction},
      {changed(R"({"name": "c"})", R"({"name": "c", "summary": "a\nb"})"), "converters[0].summary",
       Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "matrix_type": "int4"})"),
       "converters[0].matrix_type: \"int4\" is no type", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "numerics": "exakt"})"),
       "converters[0].numerics: \"exakt\" is no claim", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "numerics": 3})"),
       "converters[0].numerics: must be a string or an object", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "numerics": {"sqnr": 3}})"),
       "converters[0].numerics: unknown member \"sqnr\"", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "numerics": {"sqnr_db": -3}})"),
       "converters[0].numerics.sqnr_db: must be above 0", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "validate_with": {"on": true}})"),
       "converters[0].validate_with: the converter has no option \"on\"", Rule::kNote},
      {changed(R"({"name": "c"})", R"({"name": "c", "opts": []})"),
       "converters[0]: unknown member \"opts\"", Rule::kNote},
      {with_options(R"({"type": "int"})"),
       "converters[0].options[0]: the member \"name\" is missing", Rule::kNote},
      {with_options(R"({"name": "a"})"), "the member \"type\" is missing", Rule::kNote},
      {with_options(R"({"name": "a.b", "type": "int"})"), "options[0].name", Rule::kNames},
      {with_options(R"({"name": "exclude", "type": "int"})"), "is reserved", Rule::kNames},
      {with_options(R"({"name": "a", "type": "integer"})"), "options[0].type: \"integer\"",
       Rule::kOptions},
      {with_options(R"({"name": "a", "type": "list[list[int]]"})"), "options[0].type",
       Rule::kOptions},
      {with_options(R"({"name": "a", "type": "list[int"})"), "options[0].type", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "int", "default": 1.5})"), "options[0].default",
       Rule::kNote},
      {with_options(R"({"name": "a", "type": "int", "default": 9, "max": 8})"),
       "outside the option's own range", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "list[int]", "default": [1, 9], "max": 8})"),
       "options[0].default[1]: the value 9 is outside", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "list[int]", "default": 1})"),
       "default: must be a list", Rule::kNote},
      {with_options(R"({"name": "a", "type": "float", "min": 2, "max": 1})"),
       "min is larger than max", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "float", "default": 1e999})"), "number overflow",
       Rule::kNote},
      {with_options(R"({"name": "a", "type": "bool", "min": 0})"),
       "only options of type int and float", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "bool", "default": 1})"), "must be true or false",
       Rule::kOptions},
      {with_options(R"({"name": "a", "type": "enum"})"), "the member \"values\" is missing",
       Rule::kNote},
      {with_options(R"({"name": "a", "type": "enum", "values": []})"), "at least one value",
       Rule::kOptions},
      {with_options(R"({"name": "a", "type": "enum", "values": ["x", "x"]})"), "listed twice",
       Rule::kOptions},
      {with_options(R"({"name": "a", "type": "enum", "values": ["x"], "default": "y"})"),
       "is not among", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "int", "values": ["x"]})"),
       "only options of type enum", Rule::kOptions},
      {with_options(R"({"name": "a", "type": "string", "default": "x\u0000y"})"), "NUL",
       Rule::kNote},
      {with_options(R"({"name": "a", "type": "int", "defualt": 1})"), "unknown member \"defualt\"",
       Rule::kNote},
      {with_options(
           R"({"name": "a", "type": "int"}, {"name": "b", "type": "int", "aliases": ["a"]})"),
       "options[1]: the option name \"a\" is taken", Rule::kOptions},
  };
  for (const BadNote& bad : table) expect_refused(bad);
}

TEST(Note, SixteenLevelsAreAllowed) {
  // Refused for another reason than its depth.
  EXPECT_NE(
      parse_note(std::string(16, '[') + std::string(16, ']'), 1).problem.find("must be an object"),
      std::string::npos);
}

TEST(Note, SuggestsTheMember) {
  EXPECT_NE(parse_note(changed(R"("tier")", R"("licence": "MIT", "tier")"), 1).hint.find("license"),
            std::string::npos);
}

TEST(Note, NewerNotesAreReadAsFarAsTheyCanBe) {
  // Needs nothing new: unknown members are no mistake.
  const ParsedNote newer = parse_note(
      changed(R"("api_built": 1, "tier")", R"("api_built": 3, "colour": "red", "tier")"), 1);
  EXPECT_EQ(newer.problem, "");
  // Needs a newer host: both levels, the home page, and who offers what.
  const ParsedNote needs = parse_note(
      R"({"name": "p", "version": "1.0.0", "homepage": "https://p.example", "api_min": 7, "api_built": 9,
          "tier": "quantum", "converters": [{"name": "c", "options": 5}]})",
      1);
  EXPECT_EQ(needs.problem, "needs titan API level 7, this titan has level 1");
  EXPECT_EQ(needs.rule, Rule::kApiLevel);
  EXPECT_NE(needs.hint.find("https://p.example"), std::string::npos);
  ASSERT_EQ(needs.description.converters.size(), 1u);
  EXPECT_EQ(needs.description.converters[0].name, "c");
}

TEST(Note, EveryTruncationAndRandomDamageIsSurvived) {
  const std::string whole = with_options(
      R"({"name": "n", "type": "list[int]", "default": [1, -2], "min": -5, "max": 9, "aliases": ["m"]})");
  ASSERT_EQ(parse_note(whole, 1).problem, "");
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_NE(parse_note(whole.substr(0, length), 1).problem, "") << length;
  std::mt19937 random(7);
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text = whole;
    for (int i = 0; i < 3; ++i) text[random() % text.size()] = static_cast<char>(random());
    const ParsedNote parsed = parse_note(text, 1);
    EXPECT_EQ(parsed.problem.empty(), parsed.hint.empty());
  }
}

}  // namespace
}  // namespace titan::plugins
