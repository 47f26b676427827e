/// The page of a plugin, and that a note's text cannot break it.
#include <gtest/gtest.h>

#include "base/error.h"
#include "plugins/note.h"
#include "plugins/plugin_page.h"

namespace titan::plugins {
namespace {

JudgedPlugin judged_note(const std::string& json) {
  const ParsedNote parsed = parse_note(json, 1);
  EXPECT_EQ(parsed.problem, "");
  JudgedPlugin judged;
  judged.path = "/somewhere/of its own.so";
  judged.description = parsed.description;
  judged.note_in_file = true;
  return judged;
}

TEST(PluginPage, TellsEveryOption) {
  EXPECT_EQ(plugin_page(judged_note(
                R"({"name": "p", "version": "1.2.0", "license": "MIT", "api_min": 1, "api_built": 1,
    "tier": "stable", "torch_min": "2.10", "converters": [{"name": "c", "summary": "sums up", "options": [
      {"name": "n", "type": "int", "min": 1, "max": 8, "help": "how many"},
      {"name": "kind", "type": "enum", "values": ["a b", "c"], "default": "a b", "aliases": ["sort"], "help": "which"},
      {"name": "names", "type": "list[string]", "default": [], "help": "of what"}]}]})")),
            R"(# p

| | |
|---|---|
| version | 1.2.0 |
| license | MIT |
| API level | needs 1, built with 1 |
| tier | stable |
| LibTorch | 2.10 or newer |

## Converter `c`

sums up

| option | type | default | allowed | meaning |
|---|---|---|---|---|
| `n` | int | required | 1 to 8 | how many |
| `kind`, also `sort` | enum | `a b` | `a b`, `c` | which |
| `names` | list[string] | empty | | of what |

In the folder of the file:

    titan train CONFIG.yaml --plugins.paths='./of its own.so' --model.converters=c --c.n=1

Modules are chosen with `include` and `exclude`, as for every converter.
)");
}

TEST(PluginPage, ANotesTextStaysText) {
  const std::string page = plugin_page(
      judged_note(R"({"name": "p", "version": "1.0.0", "homepage": "[x](y) <b>", "api_min": 1,
    "api_built": 1, "tier": "none", "converters": [{"name": "c", "summary": "*loud* 2 * 3", "options": [
      {"name": "o", "type": "string", "default": "a`|b", "help": "one | two"}]}]})"));
  EXPECT_NE(page.find("| homepage | \\[x\\](y) \\<b> |"), std::string::npos) << page;
  EXPECT_NE(page.find("\\*loud\\* 2 * 3"), std::string::npos) << page;
  EXPECT_NE(page.find("| a\\`\\|b | | one \\| two |"), std::string::npos) << page;
  EXPECT_NE(page.find("--c.o='a`|b'"), std::string::npos) << page;
}

TEST(PluginPage, OnlyForWhatCanBeLoadedAndHasANote) {
  JudgedPlugin judged;
  judged.path = "/somewhere/plain.so";
  judged.description.emplace();
  EXPECT_THROW(plugin_page(judged), Error);
  judged.verdict.outcome = Outcome::kRefused;
  EXPECT_THROW(plugin_page(judged), Error);
}

}  // namespace
}  // namespace titan::plugins
