/// Tests that run no code of the plugin: file, note, exports.
#include <algorithm>

#include "base/printable.h"
#include "conformance/tests.h"
#include "plugins/elf_file.h"
#include "plugins/file_bytes.h"

namespace titan::conformance {

void test_file(const Subject& subject, Findings& findings) {
  const plugins::Verdict& verdict = subject.judged.verdict;
  if (verdict.outcome != plugins::Outcome::kLoadable)
    findings.fail(verdict.reason_with_rule(), verdict.hint);
  for (const std::string& warning : verdict.warnings) findings.warn(warning, "see docs/rules.md");
  findings.pass("loadable here, " + std::to_string(subject.judged.identity.size) + " bytes");
}

void test_note(const Subject& subject, Findings& findings) {
  const std::string mend =
      "add it to plugin.json and build again with titan_add_plugin(METADATA plugin.json)";
  if (!subject.judged.description)
    return findings.skip("the file was refused before its note was read: see --only file");
  if (!subject.judged.has_note())
    return findings.fail(
        "the file has no titan note: its converters and options are unknown until it is run",
        "write plugin.json and build with titan_add_plugin(METADATA plugin.json)");
  const plugins::PluginDescription& plugin = *subject.judged.description;
  if (plugin.license.empty()) findings.fail("the note has no \"license\"", mend);
  if (plugin.homepage.empty())
    findings.fail(
        "the note has no \"homepage\": nobody can be pointed to a newer build or to the author",
        mend);
  size_t options = 0;
  for (const config::ConverterSchema& converter : plugin.converters) {
    const std::string place = "converter '" + converter.name + "'";
    if (converter.summary.empty()) findings.fail(place + " has no \"summary\"", mend);
    for (const config::OptionSchema& option : converter.options) {
      ++options;
      if (option.help.empty())
        findings.fail("option '" + option.name + "' of " + place + " has no \"help\"", mend);
    }
  }
  // Types, ranges and defaults were checked when the note was read.
  using plugins::Rule;
  const plugins::Verdict& verdict = subject.judged.verdict;
  for (const Rule rule : {Rule::kNote, Rule::kOptions, Rule::kNames, Rule::kApiLevel})
    if (verdict.outcome != plugins::Outcome::kLoadable && verdict.rule == rule)
      findings.fail(verdict.reason_with_rule(), verdict.hint);
  findings.pass(plugin.name + " " + plugin.version + ", " + plugin.license + ", " +
                std::to_string(plugin.converters.size()) + " converter(s), " +
                std::to_string(options) + " option(s), each with help");
}

void test_exports(const Subject& subject, Findings& findings) {
  const plugins::OpenedFile file = plugins::open_regular_file(subject.judged.path);
  if (!file.problem.empty()) return findings.fail("the file " + file.problem, file.hint);
  const std::vector<std::byte> bytes = plugins::read_bytes(file, subject.judged.path);
  const plugins::ElfFile elf = plugins::parse_elf(bytes);
  if (elf.problem != plugins::ElfProblem::kNone)
    return findings.fail("the file is " + elf.problem_text, "build it again");
  std::string others;
  size_t count = 0;
  for (const plugins::ElfSymbol& symbol : elf.defined) {
    const bool version = std::find(elf.version_definitions.begin(), elf.version_definitions.end(),
                                   symbol.name) != elf.version_definitions.end();
    if (symbol.name == "register_converters" || version) continue;
    if (++count <= 3) others += (others.empty() ? "" : ", ") + printable(symbol.name, 120);
  }
  if (count > 0)
    findings.fail(
        "exports " + std::to_string(count) +
            " symbol(s) beside register_converters, which others could bind to: " + others,
        "build with titan_add_plugin, or -fvisibility=hidden and a version script "
        "(sdk/cmake/titan_plugin.version)");
  for (size_t begin = 0; begin < elf.runpath.size();) {
    const size_t end = std::min(elf.runpath.find(':', begin), elf.runpath.size());
    const std::string_view folder = elf.runpath.substr(begin, end - begin);
    if (!folder.empty() && !folder.starts_with("$ORIGIN") && !folder.starts_with("${ORIGIN}"))
      findings.fail(
          "looks for libraries in " + printable(folder, 200) +
              ", a folder of the machine it was built on",
          "link without -rpath, or with -Wl,-rpath,'$ORIGIN' for libraries beside the plugin");
    begin = end + 1;
  }
  findings.pass("register_converters alone");
}

}  // namespace titan::conformance
