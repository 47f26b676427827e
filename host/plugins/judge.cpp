/// The gates that run no code of the file. Each says what it found, or stops the file.
#include "plugins/judge.h"

#include <titan/version.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "base/suggest.h"
#include "plugins/elf_file.h"
#include "plugins/note_bytes.h"
#include "plugins/torch_symbols.h"

namespace titan::plugins {
namespace {

constexpr char kEntryName[] = "register_converters";
constexpr uint64_t kMaxFileBytes = uint64_t{512} << 20;

std::string file_gate(const OpenedFile& file) {
  if (!file.problem.empty()) {
    const bool folder = file.problem.starts_with("is a folder");
    throw GateStop{folder ? Outcome::kSkipped : Outcome::kRefused, file.problem, file.hint,
                   Rule::kTrust};
  }
  const uint64_t size = file.stat.identity.size;
  if (size == 0) refuse("is empty", "copy or build the file again", Rule::kLoadable);
  if (size > kMaxFileBytes)
    refuse("has " + std::to_string(size) + " bytes; at most " + std::to_string(kMaxFileBytes) +
               " are allowed",
           "strip it, or move libraries that are no plugins to another folder", Rule::kLoadable);
  return "regular file of " + std::to_string(size) + " bytes";
}

std::string trust_gate(TrustCheck& trust, const std::filesystem::path& path, const FileStat& stat,
                       std::vector<std::string>& warnings) {
  for (TrustFinding& finding : trust.check(path, stat)) {
    if (finding.refuse) refuse(finding.text, finding.hint, Rule::kTrust);
    warnings.push_back(finding.text + "; " + finding.hint);
  }
  return "owner " +
         std::string(stat.owner == 0           ? "root"
                     : stat.owner == geteuid() ? "you"
                                               : "uid " + std::to_string(stat.owner)) +
         ", mode " + mode_text(stat.mode) +
         (warnings.empty() ? "" : "; " + std::to_string(warnings.size()) + " warning(s)");
}

void elf_gate(const ElfFile& elf) {
  const std::string here = machine_name(this_machine());
  switch (elf.problem) {
    case ElfProblem::kNone: break;
    case ElfProblem::kNotElf:
      skip("is " + elf.problem_text,
           "plugins are ELF shared objects; a linker script or text file is not one",
           Rule::kLoadable);
    case ElfProblem::kOtherClass:
    case ElfProblem::kOtherEndian:
    case ElfProblem::kOtherMachine:
      skip("was built for " + elf.problem_text + ", this machine is 64-bit " + here,
           "install a build of the plugin for " + here, Rule::kLoadable);
    case ElfProblem::kNotSharedObject:
      refuse("is " + elf.problem_text + ", not a shared object", "link it with -shared",
             Rule::kLoadable);
    case ElfProblem::kCut:
      refuse("is cut short: " + elf.problem_text, "copy or build the file again", Rule::kLoadable);
    case ElfProblem::kMalformed:
      refuse("is damaged: " + elf.problem_text, "copy or build the file again", Rule::kLoadable);
  }
  if (elf.has_interpreter)
    refuse("is a program, not a shared object", "link it with -shared", Rule::kLoadable);
}

std::string elf_text(const ElfFile& elf) {
  return "64-bit " + machine_name(elf.machine) +
         " shared object; stack and code are not writable and executable at once";
}

/// Short files and those that cannot be read are left to the reader.
bool begins_like_elf(const OpenedFile& file) {
  char head[4] = {};
  return pread(file.handle.get(), head, sizeof head, 0) != static_cast<ssize_t>(sizeof head) ||
         std::string_view(head, 4) ==
             "\x7f"
             "ELF";
}

/// A defined symbol that was probably meant to be the entry; empty if there is none.
std::string near_entry(const ElfFile& elf) {
  std::vector<std::string> names;
  for (const ElfSymbol& symbol : elf.defined) {
    if (symbol.name.find(kEntryName) != std::string_view::npos) return printable(symbol.name, 200);
    if (symbol.name.size() < 64) names.emplace_back(symbol.name);
  }
  return nearest(kEntryName, names).value_or("");
}

/// A file that has neither entry nor note is not ours.
void entry_gate(const ElfFile& elf, bool has_note) {
  if (elf.defines(kEntryName)) return;
  const std::string near = near_entry(elf);
  if (near.starts_with("_Z"))
    refuse("exports " + near + ", which is register_converters with a C++ name",
           "declare it extern \"C\" (or use TITAN_CONVERTERS)", Rule::kEntry);
  if (!has_note && near.empty())
    skip("is not a titan plugin: neither a titan note nor register_converters in it",
         "nothing to do if it is a helper library of a plugin", Rule::kEntry);
  refuse(
      near.empty() ? "has a titan note but exports no register_converters"
                   : "exports " + printable(near, 80) + " but no register_converters",
      "define TITAN_EXPORT titan_status register_converters(const titan_host *, titan_registrar *) "
      "with extern \"C\"",
      Rule::kEntry);
}

void safety_gate(const ElfFile& elf, std::vector<std::string>& warnings) {
  if (elf.executable_stack)
    refuse(elf.stack_header_missing
               ? "does not say that its stack is not executable (no PT_GNU_STACK)"
               : "asks for an executable stack",
           "link with -Wl,-z,noexecstack (assembler files need a .note.GNU-stack section)",
           Rule::kLoadable);
  if (elf.writable_code)
    refuse("has a segment that is writable and executable",
           "link without -N and without such sections", Rule::kLoadable);
  if (elf.text_relocations)
    refuse("has relocations in its code (TEXTREL)", "compile every source with -fPIC",
           Rule::kLoadable);
  if (elf.static_tls)
    warnings.push_back(
        "uses static thread-local storage, of which a process has little; "
        "compile without -ftls-model=initial-exec");
  for (const ElfSymbol& symbol : elf.defined)
    if (symbol.name == "malloc" || symbol.name == "free" || symbol.name.starts_with("cblas_") ||
        symbol.name.starts_with("MPI_")) {
      warnings.push_back(
          "exports " + printable(symbol.name, 80) +
          "; link with -Wl,--exclude-libs,ALL so that only register_converters is exported");
      break;
    }
}

/// Fills `description` as far as possible and refuses a note that is broken or needs a newer host.
void note_gate(const NoteBytes& note, int64_t host_level,
               std::optional<PluginDescription>& description) {
  if (!note.problem.empty())
    refuse("has a broken titan note: " + note.problem, "build the plugin again", Rule::kNote);
  ParsedNote parsed = parse_note(note.json, host_level);
  description = std::move(parsed.description);
  if (parsed.problem.empty()) return;
  if (parsed.rule == Rule::kApiLevel && description->api_min > host_level)
    refuse(parsed.problem, parsed.hint, parsed.rule);
  refuse("has a titan note with an error: " + parsed.problem, parsed.hint, parsed.rule);
}

/// Tier exact: C++ symbols of LibTorch mean the same only in the very build they came from.
void exact_gate(const PluginDescription& plugin, const std::string& symbol,
                const std::string& host_build) {
  if (plugin.torch_build.empty())
    refuse("needs the C++ interface of LibTorch" +
               (symbol.empty() ? "" : " (" + printable(symbol, 120) + ")") +
               " and has no note that says of which build",
           "build it with titan_add_plugin(... TORCH_EXACT), or port it to torch/csrc/stable (tier "
           "stable)",
           Rule::kNoLibTorch);
  if (plugin.torch_build != host_build)
    refuse("was built for LibTorch " + printable(plugin.torch_build, 128) +
               " exactly, this titan runs on " +
               (host_build.empty() ? "an unknown one" : host_build),
           "build it against the LibTorch of this titan, or port it to torch/csrc/stable (tier "
           "stable), which "
           "holds across versions",
           Rule::kNoLibTorch);
}

std::string torch_gate(const ElfFile& elf, const PluginDescription& plugin,
                       const JudgeOptions& options) {
  const std::string& host_torch = options.torch_version;
  for (const std::string_view library : elf.needed)
    if (is_torch_library(library))
      refuse("links LibTorch (" + printable(library, 80) + "), which ties it to one version",
             "link Titan::SDK only; titan brings LibTorch along", Rule::kNoLibTorch);
  const TorchSymbols symbols = torch_symbols(elf);
  const std::string tier = "tier " + std::string(tier_name(plugin.tier));
  if (plugin.tier == Tier::kExact) {
    exact_gate(plugin, std::string(symbols.cpp), options.torch_build);
    return tier + ", built for LibTorch " + plugin.torch_build;
  }
  if (!symbols.cpp.empty())
    refuse("says tier " + std::string(tier_name(plugin.tier)) + " but needs the C++ symbol " +
               printable(symbols.cpp, 120) + " of LibTorch",
           "include torch/csrc/stable headers only, not ATen or torch/torch.h", Rule::kNoLibTorch);
  if (plugin.tier == Tier::kNone && !symbols.shim.empty())
    refuse("says tier none but needs " + printable(symbols.shim, 120) + " of LibTorch",
           "write \"tier\": \"stable\" in its metadata", Rule::kNoLibTorch);
  if (!plugin.torch_min.empty() && !host_torch.empty() && older_torch(host_torch, plugin.torch_min))
    refuse(
        "needs LibTorch " + plugin.torch_min + " or newer, this titan runs on " + host_torch,
        "use a titan with a newer LibTorch, or build the plugin with an older TORCH_TARGET_VERSION",
        Rule::kNoLibTorch);
  if (plugin.tier == Tier::kNone) return tier + ", needs nothing of LibTorch";
  return tier + (plugin.torch_min.empty() ? "" : ", LibTorch " + plugin.torch_min + " or newer") +
         (host_torch.empty() ? "" : " (here " + host_torch + ")");
}

void version_gate(const ElfFile& elf, MachineVersions& machine) {
  for (const ElfVersionNeed& need : elf.version_needs) {
    if (need.weak) continue;
    const auto missing = machine.missing(need.library, need.version);
    if (!missing) continue;
    refuse("needs " + printable(need.version, 80) + " of " + printable(need.library, 80) +
               (missing->newest.empty() ? ", which this machine does not have"
                                        : ", this machine has up to " + missing->newest),
           "build the plugin on an older system (or in a container of one), or update this one",
           Rule::kLoadable);
  }
}

void library_gate(const ElfFile& elf, const std::filesystem::path& path, LibraryFinder& libraries) {
  const std::string origin = path.parent_path().native();
  for (const std::string_view library : elf.needed)
    if (!libraries.can_find(library, elf.runpath, origin))
      refuse("needs " + printable(library, 200) + ", which was not found in " +
                 LibraryFinder::places(elf.runpath),
             "install the package that has it, or put it beside the plugin and link that with "
             "-Wl,-rpath,'$ORIGIN'",
             Rule::kLoadable);
}

std::string note_text(const JudgedPlugin& judged) {
  const PluginDescription& plugin = *judged.description;
  if (!judged.has_note())
    return "no note, but register_converters is there; what it offers is told by loading it";
  return plugin.name + " " + plugin.version + " offers " + converter_list(plugin) +
         "; needs API level " + std::to_string(plugin.api_min) + ", built with " +
         std::to_string(plugin.api_built);
}

}  // namespace

std::string Verdict::reason_with_rule() const { return with_rule(reason, rule); }

void JudgedPlugin::add(GateResult result) {
  if (result.outcome != Outcome::kLoadable) {
    verdict.outcome = result.outcome;
    verdict.reason = result.text;
    verdict.hint = result.hint;
    verdict.rule = result.rule;
  }
  gates.push_back(std::move(result));
}

Judge::Judge(const JudgeOptions& options) : options_(options), trust_(options.strict, geteuid()) {
  if (options_.host_level == 0) options_.host_level = TITAN_API_LEVEL;
  policy_ = std::make_shared<const Policy>(options_.policy);
}

JudgedPlugin Judge::judge(const std::filesystem::path& path) {
  JudgedPlugin result;
  result.path = path;
  result.policy = policy_;
  Gate gate = Gate::kFile;
  const auto pass = [&](std::string text) {
    result.add({gate, Outcome::kLoadable, std::move(text), {}, Rule::kNone});
  };
  try {
    const OpenedFile file = open_regular_file(path);
    result.identity = file.stat.identity;
    pass(file_gate(file));

    gate = Gate::kTrust;
    pass(trust_gate(trust_, path, file.stat, result.verdict.warnings));

    gate = Gate::kElf;
    // A large file that is something else is not read to its end.
    const std::vector<std::byte> bytes =
        begins_like_elf(file) ? read_bytes(file, path) : std::vector<std::byte>(1);
    if (options_.with_sha256 || options_.policy.has_pins()) result.sha256 = sha256_hex(bytes);
    const ElfFile elf = parse_elf(bytes);
    elf_gate(elf);
    for (const std::string_view library : elf.needed)
      result.needed.push_back(printable(library, 256));
    // A file that is no plugin is not blamed for what a plugin must not be.
    const NoteBytes note = find_note(elf);
    if (!note.found) {
      gate = Gate::kNote;
      entry_gate(elf, false);
      gate = Gate::kElf;
      result.description.emplace();
      result.description->name = printable(path.stem().native(), 64);
      result.description->tier = torch_symbols(elf).tier();
    }
    safety_gate(elf, result.verdict.warnings);
    pass(elf_text(elf));

    gate = Gate::kNote;
    result.note_in_file = note.found;
    if (note.found) {
      note_gate(note, options_.host_level, result.description);
      entry_gate(elf, true);
    }
    pass(note_text(result));

    gate = Gate::kPolicy;
    options_.policy.check(result.description->name, path.native(), result.sha256);
    pass(options_.policy.passed(result.description->name, path.native()));

    gate = Gate::kDependencies;
    const std::string torch = torch_gate(elf, *result.description, options_);
    library_gate(elf, path, libraries_);
    version_gate(elf, machine_);
    pass(torch + "; " + std::to_string(elf.needed.size()) + " libraries and " +
         std::to_string(elf.version_needs.size()) + " symbol versions are here");
  } catch (const GateStop& stop) {
    result.add({gate, stop.outcome, stop.reason, stop.hint, stop.rule});
  } catch (const Error& error) {  // the disk, not the file
    result.add({gate, Outcome::kRefused, error.what(), error.hint(), Rule::kLoadable});
  }
  if (result.description)
    for (config::ConverterSchema& converter : result.description->converters)
      converter.origin = printable_path(path.native());
  return result;
}

}  // namespace titan::plugins
