/// Pass 2: which converters are applied, and where each option's value comes from.
#include "config/resolve.h"

#include "config_files.h"
#include "converter_schemas.h"

namespace titan::config {
namespace {

using Names = std::vector<std::string>;

std::vector<ConverterRequest> resolve_text(const std::string& text, const Names& options = {}) {
  return resolve_converters(load_text(text, options), schemas());
}

void expect_resolve_error(const std::string& text, const Names& options, const std::string& what,
                          const std::string& where, const std::string& hint) {
  SCOPED_TRACE(text + (options.empty() ? "" : " " + options.front()));
  expect_error(usage_error_of([&] { resolve_text(text, options); }), what, where, hint);
}

std::string recipe_of(const ConverterRequest& request) {
  return std::get<std::string>(request.options.at("recipe").items.front());
}

TEST(Resolve, NothingIsAppliedUnlessListed) {
  EXPECT_TRUE(resolve_text("float8: {recipe: rowwise}\n").empty());
}

TEST(Resolve, KeepsOrderAndFillsDefaults) {
  const auto requests = resolve_text("model:\n  converters: [{use: lora, rank: 4}, float8]\n");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].converter, "lora");
  EXPECT_EQ(requests[0].instance, "lora");
  EXPECT_EQ(requests[0].options.at("rank"), one(int64_t{4}));
  EXPECT_EQ(requests[0].options.at("target"), one("all"));
  EXPECT_EQ(requests[1].converter, "float8");
  EXPECT_EQ(requests[1].options.size(), 5u);
  EXPECT_EQ(requests[1].options.at("history"), one(int64_t{16}));
  EXPECT_TRUE(requests[1].include.empty());
  EXPECT_TRUE(requests[1].origins.empty());
}

TEST(Resolve, ListFromTheCommandLine) {
  const auto requests =
      resolve_text("job: {}\n", {"--model.converters= float8 , lora", "--lora.rank=2"});
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[1].converter, "lora");
  const auto flow =
      resolve_text("model: {converters: [lora]}\n",
                   {"--model.converters=[{use: float8, as: a, recipe: rowwise, emulate: yes}, "
                    "{use: float8, as: b}]"});
  ASSERT_EQ(flow.size(), 2u);
  EXPECT_EQ(recipe_of(flow[0]), "rowwise");
  EXPECT_EQ(flow[0].options.at("emulate"), one(true));
  EXPECT_EQ(recipe_of(flow[1]), "tensorwise");
}

TEST(Resolve, PrecedenceOfEveryPairOfPlaces) {
  // From weak to strong; each line alone, then with all weaker ones: the strongest wins.
  const std::string section = "float8: {history: 2}\n";
  const std::string plain = "model: {converters: [{use: float8, as: f8}]}\n";
  const std::string entry = "model: {converters: [{use: float8, as: f8, history: 3}]}\n";
  const std::string converter = "--float8.history=4", instance = "--f8.history=5";
  const auto history = [](const std::string& text, const Names& options) {
    const auto request = resolve_text(text, options).at(0);
    return std::get<int64_t>(request.options.at("history").items.front());
  };
  EXPECT_EQ(history(plain, {}), 16);
  EXPECT_EQ(history(plain + section, {}), 2);
  EXPECT_EQ(history(entry, {}), 3);
  EXPECT_EQ(history(entry + section, {}), 3);
  EXPECT_EQ(history(plain + section, {converter}), 4);
  EXPECT_EQ(history(entry + section, {converter}), 4);
  EXPECT_EQ(history(plain + section, {instance}), 5);
  EXPECT_EQ(history(entry + section, {instance, converter}), 5);
  EXPECT_EQ(history(entry + section, {converter, instance}), 5);
  EXPECT_EQ(history(plain, {"--f8.history=5", "--f8.history=6"}), 6);
}

TEST(Resolve, ConverterOptionsReachAllEntriesInstanceOptionsOne) {
  const std::string two =
      "model: {converters: [{use: float8, as: f8-a}, {use: float8, as: f8_b}]}\n";
  const auto requests = resolve_text(two, {"--float8.recipe=rowwise", "--f8_a.recipe=delayed"});
  EXPECT_EQ(recipe_of(requests[0]), "delayed");
  EXPECT_EQ(recipe_of(requests[1]), "rowwise");
  EXPECT_EQ(requests[0].origins.at("recipe"), "--f8_a.recipe=delayed");
  EXPECT_EQ(requests[1].origins.at("recipe"), "--float8.recipe=rowwise");
}

TEST(Resolve, SelectorsAreReadEverywhereUnderBothNames) {
  const std::string applied = "model: {converters: [float8]}\n";
  EXPECT_EQ(resolve_text(applied + "float8: {filter_fqns: [output]}\n")[0].exclude,
            (Names{"output"}));
  EXPECT_EQ(resolve_text(applied + "float8: {filter_fqns: [output]}\n",
                         {"--float8.exclude=layers.0.**,layers.1.**"})[0]
                .exclude,
            (Names{"layers.0.**", "layers.1.**"}));
  EXPECT_EQ(resolve_text(applied, {"--float8.filter_fqns=output"})[0].exclude, (Names{"output"}));
  const auto request = resolve_text(
      "model:\n  converters:\n"
      "    - {use: lora, rank: 1, include: [\"layers.*.w[12]\"], exclude: []}\n")[0];
  EXPECT_EQ(request.include, (Names{"layers.*.w[12]"}));
  EXPECT_TRUE(request.exclude.empty());
  expect_resolve_error(applied + "float8:\n  include: [\"a..b\"]\n", {}, "malformed pattern 'a..b'",
                       "debug.yaml:3:12", "whole module name");
  expect_resolve_error(applied, {"--float8.include=a,[b"}, "'[b'", "--float8.include=a,[b", "");
  expect_resolve_error(applied + "float8: {exclude: [a], filter_fqns: [b]}\n", {},
                       "are the same option of 'float8'", "debug.yaml:2:24", "");
}

TEST(Resolve, FlagsOfConverters) {
  const std::string on = "model: {converters: [float8]}\nfloat8: {emulate: true}\n";
  const std::string off = "model: {converters: [float8]}\n";
  const auto emulate = [](const std::string& text, const std::string& option) {
    return resolve_text(text, {option})[0].options.at("emulate") == one(true);
  };
  EXPECT_TRUE(emulate(off, "--float8.emulate"));
  EXPECT_TRUE(emulate(off, "--float8.emulate=on"));
  EXPECT_FALSE(emulate(on, "--float8.emulate=off"));
  EXPECT_FALSE(emulate(on, "--no-float8.emulate"));
  EXPECT_FALSE(emulate(on, "--float8.no_emulate"));
  expect_resolve_error(off, {"--no-float8.emulate=1"}, "takes no value", "", "");
  expect_resolve_error(off, {"--no-float8.recipe"}, "unknown option '--no-float8.recipe'", "", "");
  expect_resolve_error(off, {"--float8.recipe"}, "needs a value", "--float8.recipe", "");
  expect_resolve_error(off, {"--float8.include"}, "needs a value", "--float8.include", "");
}

TEST(Resolve, AliasesOfOptions) {
  const std::string applied = "model: {converters: [float8]}\n";
  EXPECT_EQ(recipe_of(resolve_text(applied + "float8: {recipe_name: rowwise}\n")[0]), "rowwise");
  EXPECT_EQ(recipe_of(resolve_text(applied + "float8: {recipe: delayed}\n",
                                   {"--float8.recipe_name=rowwise"})[0]),
            "rowwise");
  expect_resolve_error(applied + "float8:\n  recipe: delayed\n  recipe_name: rowwise\n", {},
                       "debug.yaml:3:3) and 'recipe_name' are the same option", "debug.yaml:4:3",
                       "");
}

TEST(Resolve, ValuesAreCheckedWithTheirPlace) {
  const std::string applied = "model: {converters: [float8]}\n";
  expect_resolve_error(applied + "float8:\n  history: 0\n", {},
                       "float8.history must be from 1 to 1024, found 0", "debug.yaml:3:12",
                       "what history does");
  expect_resolve_error(applied + "float8:\n  history: \"3\"\n", {}, "must be an integer",
                       "debug.yaml:3:12", "");
  expect_resolve_error(applied + "float8: {margin: 0}\n", {}, "must be above 0.0", "", "");
  expect_resolve_error(applied, {"--float8.recipe=rowise"}, "one of tensorwise, rowwise, delayed",
                       "--float8.recipe=rowise", "did you mean 'rowwise'?");
  expect_resolve_error(applied + "float8: {tags: x}\n", {}, "float8.tags must be a list", "",
                       "write [x]");
  expect_resolve_error(applied + "float8: {emulate: yes}\n", {}, "must be true or false", "", "");
  // A wrong value is an error even where a stronger place overrides it.
  expect_resolve_error(applied + "float8: {history: 0}\n", {"--float8.history=5"}, "from 1 to 1024",
                       "debug.yaml:2:19", "");
}

TEST(Resolve, UnknownOptionsSuggestTheNearest) {
  const std::string applied = "model: {converters: [float8]}\n";
  expect_resolve_error(applied + "float8:\n  recip: rowwise\n", {},
                       "converter 'float8' has no option 'recip'", "debug.yaml:3:3",
                       "did you mean 'recipe'? options of float8: recipe, history, margin");
  expect_resolve_error("model:\n  converters: [{use: float8, as: f8, histori: 3}]\n", {},
                       "converter 'f8' (float8) has no option 'histori'", "debug.yaml:2:38",
                       "did you mean 'history'?");
  expect_resolve_error(applied, {"--float8.filter_fqn=a"}, "no option 'filter_fqn'", "",
                       "did you mean 'filter_fqns'?");
  expect_resolve_error(applied + "float8: {use: x}\n", {}, "'use' cannot stand here",
                       "debug.yaml:2:10", "");
  expect_resolve_error(applied, {"--float8.as=x"}, "'as' cannot stand here", "", "");
}

TEST(Resolve, RequiredOptions) {
  expect_resolve_error("model: {converters: [lora]}\n", {},
                       "converter 'lora' needs the option 'rank'", "debug.yaml:1:22",
                       "--lora.rank=VALUE");
  EXPECT_EQ(resolve_text("model: {converters: [lora]}\nlora: {rank: 3}\n").size(), 1u);
}

TEST(Resolve, UnknownConvertersNameAllThatExist) {
  expect_resolve_error("model:\n  converters:\n    - floats8\n", {},
                       "no converter is named 'floats8'", "debug.yaml:3:7",
                       "did you mean 'float8'? available: float8 (/plugins/libfloat8.so), lora");
  const LoadedConfig config = load_options({"--model.converters=float8"});
  expect_error(usage_error_of([&] { resolve_converters(config, {}); }),
               "no converter is named 'float8'", "--model.converters=float8",
               "no converter was found");
}

TEST(Resolve, SectionsMustBelongToSomething) {
  EXPECT_TRUE(resolve_text("float8: {recipe: rowwise}\nlora: {rank: 3}\n").empty());
  EXPECT_TRUE(resolve_text("float8:\n").empty());
  expect_resolve_error("optimzer: {lr: 1}\n", {}, "section 'optimzer' is neither built in",
                       "debug.yaml:1:1", "did you mean 'optimizer'?");
  expect_resolve_error("floot8: {}\n", {}, "section 'floot8'", "", "did you mean 'float8'?");
  expect_resolve_error("debug: {seed: 3}\n", {}, "section 'debug'", "", "training.seed");
  expect_resolve_error("float8:\n  recipe: x\n", {}, "one of tensorwise", "debug.yaml:2:11", "");
  expect_resolve_error("float8:\n  rcipe: x\n", {}, "no option 'rcipe'", "debug.yaml:2:3",
                       "did you mean 'recipe'?");
  expect_resolve_error("model: {converters: [{use: float8, as: f8}]}\nf8: {}\n", {},
                       "'f8' names an entry", "debug.yaml:2:1", "debug.yaml:1:22");
}

TEST(Resolve, OptionsOfConvertersThatAreNotAppliedAreErrors) {
  expect_resolve_error("float8: {recipe: rowwise}\n", {"--float8.recipe=rowwise"},
                       "has no effect: converter 'float8' is not applied",
                       "--float8.recipe=rowwise", "--model.converters=float8");
  expect_resolve_error("job: {}\n", {"--optimzer.lr=1"}, "there is no section 'optimzer'",
                       "--optimzer.lr=1", "did you mean 'optimizer'?");
  expect_resolve_error("job: {}\n", {"--debug.seed=1"}, "unknown option '--debug.seed'", "",
                       "training.seed");
}

TEST(Resolve, NamesOfEntries) {
  const auto converters = [](const std::string& list) { return "model:\n  converters: " + list; };
  expect_load_error(converters("[float8, float8]\n"), "lists 'float8' twice", "debug.yaml:2:24",
                    "as: float8_2");
  expect_load_error(converters("[{use: float8, as: x}, {use: lora, as: x}]\n"),
                    "two entries of model.converters are named 'x'", "debug.yaml:2:38", "'as'");
  expect_load_error(converters("[{use: float8, as: a-b}, {use: lora, as: a_b}]\n"), "named 'a_b'",
                    "", "");
  expect_load_error(converters("[{use: float8, as: model}]\n"), "'model' in model.converters is",
                    "debug.yaml:2:16", "");
  expect_load_error(converters("[training]\n"), "built-in section", "debug.yaml:2:16", "");
  expect_load_error(converters("[lr-scheduler]\n"), "built-in section", "", "");
  for (const char* name : {"Float8", "8bit", "a b", "_a", "a/b", "\"\"", "~", "[a]"})
    expect_load_error(converters(std::string("[") + name + "]\n"), "", "debug.yaml:2:16", "");
  expect_load_error(converters("[{as: x}]\n"), "has no 'use'", "debug.yaml:2:16", "");
  expect_load_error(converters("[{use: [a]}]\n"), "'use' in model.converters must be a name",
                    "debug.yaml:2:22", "");
  expect_load_error(converters("float8\n"), "model.converters must be a list", "debug.yaml:2:15",
                    "write [float8]");
  expect_resolve_error(converters("[{use: float8, as: lora}]\n"), {},
                       "named 'lora', which is another converter", "debug.yaml:2:16", "");
  expect_option_error({"--model.converters=a,,b"}, "empty item", "", "");
}

}  // namespace
}  // namespace titan::config
