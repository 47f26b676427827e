/// open -> same file? -> hash -> dlopen -> same mapping? -> entry -> checks -> commit.
#include "plugins/loader.h"

#include <dlfcn.h>
#include <titan/plugin.h>

#define BOOST_DLL_USE_STD_FS
#include <algorithm>
#include <boost/dll/shared_library.hpp>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/printable.h"
#include "base/sha256.h"
#include "plugins/current_call.h"
#include "plugins/error_slot.h"
#include "plugins/load_text.h"
#include "plugins/mapping.h"
#include "plugins/process_state.h"
#include "plugins/registrar.h"

namespace titan::plugins {
namespace {

using PluginEntry = titan_status(const titan_host*, titan_registrar*);

/// Libraries and what they registered. Never destroyed: their code may be called until the very
/// end.
struct LibraryStore {
  std::mutex mutex;
  std::deque<boost::dll::shared_library>
      libraries;  // a deque: never copied, which would reopen the path
  std::map<std::pair<uint64_t, uint64_t>, LoadedPlugin> loaded;  // by device and inode
  std::map<std::pair<uint64_t, uint64_t>, LoadError> failed;     // their code has run, too
};

LibraryStore& library_store() {
  static LibraryStore* const store = std::make_unique<LibraryStore>().release();
  return *store;
}

LoadError load_error(const JudgedPlugin& judged, std::string text, std::string hint, Rule rule,
                     Gate gate = Gate::kRegister) {
  return LoadError(judged, std::move(text), std::move(hint), rule, gate);
}

/// dlopen through Boost.DLL, then once more to pin: Boost has no name for RTLD_NODELETE.
boost::dll::shared_library open_library(const JudgedPlugin& judged) {
  try {
    boost::dll::shared_library library(
        judged.path, boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    if (dlopen(judged.path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) == nullptr)
      throw load_error(judged, "cannot be kept in memory",
                       "do not replace the file while titan starts", Rule::kLoadable, Gate::kLoad);
    return library;
  } catch (const std::system_error& error) {
    const LoadText text = explain_load_failure(error.what(), judged.path.native());
    throw load_error(judged, text.reason, text.hint, Rule::kLoadable, Gate::kLoad);
  }
}

/// The file as it is now, if it is still the one that was judged.
OpenedFile reopen(const JudgedPlugin& judged) {
  OpenedFile file = open_regular_file(judged.path);
  if (!file.problem.empty())
    throw load_error(judged, file.problem, file.hint, Rule::kTrust, Gate::kIdentity);
  if (!(file.stat.identity == judged.identity))
    throw load_error(judged, "the file has changed since it was checked", "start titan again",
                     Rule::kTrust, Gate::kIdentity);
  return file;
}

void call_entry(const JudgedPlugin& judged, PluginEntry& entry, const titan_host& host,
                Registration& registration) {
  titan_status status = TITAN_OK;
  clear_error();
  try {
    status = entry(&host, registration.handle());
  } catch (const std::exception& error) {
    throw load_error(
        judged,
        std::string("register_converters threw an exception: ") + printable(error.what(), 400),
        "catch everything inside the plugin; TITAN_CONVERTERS does", Rule::kNoExceptions);
  } catch (...) {
    throw load_error(judged, "register_converters threw something that is no std::exception",
                     "catch everything inside the plugin; TITAN_CONVERTERS does",
                     Rule::kNoExceptions);
  }
  registration.close();
  const TakenError taken = take_error(status);
  // The host's own finding comes first: it is the cause, and a plugin may not pass it on.
  if (const auto& problem = registration.handle()->first_problem)
    throw load_error(judged, problem->text, problem->hint, problem->rule);
  if (status != TITAN_OK)
    throw load_error(judged,
                     "register_converters failed (" + status_text(status) + "): " + taken.message,
                     taken.hint, taken.rule);
  if (registration.handle()->converters.empty())
    throw load_error(judged, "register_converters registered nothing",
                     "call registrar_converter for each converter", Rule::kTransaction);
}

std::set<std::string> names_of(const std::vector<titan_converter>& converters) {
  std::set<std::string> names;
  for (const titan_converter& converter : converters)
    names.emplace(converter.name.data, converter.name.size);
  return names;
}

/// The note must tell the truth: what it lists is what is registered.
void compare_with_note(const JudgedPlugin& judged, const PluginDescription& description,
                       const std::vector<titan_converter>& converters) {
  std::set<std::string> listed;
  for (const config::ConverterSchema& schema : description.converters) listed.insert(schema.name);
  const std::set<std::string> registered = names_of(converters);
  for (const std::string& name : registered)
    if (!listed.count(name))
      throw load_error(judged,
                       "registered the converter '" + name + "', which its note does not list",
                       "add it to the plugin's metadata", Rule::kNote);
  for (const std::string& name : listed)
    if (!registered.count(name))
      throw load_error(judged,
                       "its note lists the converter '" + name + "', which it did not register",
                       "register it or remove it from the metadata", Rule::kNote);
}

/// The description a plugin without a note in its file gets once it has run.
PluginDescription learn_description(const JudgedPlugin& judged, const titan_registrar& registered) {
  PluginDescription description = judged.description.value_or(PluginDescription());
  if (registered.note) {
    // It ran already, so a level too new was not noticed by it; the limits are the same.
    ParsedNote parsed = parse_note(*registered.note, TITAN_API_LEVEL);
    if (!parsed.problem.empty())
      throw load_error(judged, "handed over a note with an error: " + parsed.problem, parsed.hint,
                       parsed.rule);
    parsed.description.tier = std::max(parsed.description.tier, description.tier);
    description = std::move(parsed.description);
  } else {
    description.converters.clear();
    for (const titan_converter& converter : registered.converters)
      description.converters.push_back(
          {std::string(converter.name.data, converter.name.size), {}, {}, {}});
  }
  for (config::ConverterSchema& schema : description.converters)
    schema.origin = printable_path(judged.path.native());
  // Only now its real name is known.
  if (judged.policy) try {
      judged.policy->check(description.name, judged.path.native(), judged.sha256);
    } catch (const GateStop& stop) {
      throw load_error(judged, stop.reason, stop.hint, stop.rule, Gate::kPolicy);
    }
  return description;
}

LoadedPlugin load_once(const JudgedPlugin& judged, const titan_host& host, LibraryStore& store) {
  const OpenedFile file = reopen(judged);
  LoadedPlugin plugin;
  plugin.path = judged.path;
  plugin.sha256 = sha256_hex(read_bytes(file, judged.path));

  if (!judged.sha256.empty() && judged.sha256 != plugin.sha256)
    throw load_error(judged, "has other contents than when it was checked", "start titan again",
                     Rule::kTrust, Gate::kIdentity);

  // Constructors of the file run in dlopen: what they change is found out too.
  const ProcessState before;
  const std::string name = judged.description ? judged.description->name : "",
                    path = printable_path(judged.path.native());
  std::optional<CurrentCall> running(std::in_place, name.c_str(), path.c_str(), "loading", "");
  boost::dll::shared_library& library = store.libraries.emplace_back(open_library(judged));
  if (!library.has("register_converters"))
    throw load_error(judged, "exports no register_converters", "declare it extern \"C\"",
                     Rule::kEntry);
  PluginEntry& entry = library.get<PluginEntry>("register_converters");
  const auto checked = mapped_file_of(file.handle.get());
  const auto mapped = mapped_file_at(reinterpret_cast<const void*>(&entry));
  if (checked && mapped && !(*checked == *mapped))
    throw load_error(judged, "the file was replaced while it was loaded", "start titan again",
                     Rule::kTrust, Gate::kIdentity);

  Registration registration;
  running.reset();
  running.emplace(name.c_str(), path.c_str(), "register_converters", "");
  call_entry(judged, entry, host, registration);
  titan_registrar& registered = *registration.handle();
  if (judged.has_note()) {
    plugin.description = *judged.description;
    if (!registered.note)
      throw load_error(judged, "did not hand over its note",
                       "call registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE) first",
                       Rule::kNote);
    if (*registered.note != plugin.description.note)
      throw load_error(judged, "handed over another note than the one in its file",
                       "use TITAN_NOTE_JSON and TITAN_NOTE_SIZE", Rule::kNote);
  } else {
    plugin.description = learn_description(judged, registered);
  }
  if (const std::string changed = before.restore(); !changed.empty())
    throw load_error(judged, "changes " + changed + " of the process while it is loaded",
                     "take it out of static constructors and register_converters",
                     Rule::kNoExceptions);
  compare_with_note(judged, plugin.description, registered.converters);
  plugin.converters = registered.converters;
  return plugin;
}

}  // namespace

LoadError::LoadError(const JudgedPlugin& judged, std::string reason, std::string hint, Rule rule,
                     Gate gate)
    : Error(ExitStatus::kUsage, with_rule(reason, rule), plugin_place(judged), std::move(hint)),
      reason_(std::move(reason)),
      rule_(rule),
      gate_(gate) {}

std::string plugin_place(const JudgedPlugin& judged) {
  const std::string path = printable_path(judged.path.native());
  if (!judged.description || judged.description->name.empty()) return "plugin " + path;
  return "plugin '" + judged.description->name + "' (" + path + ")";
}

LoadedPlugin load_plugin(const JudgedPlugin& judged, const titan_host& host) {
  if (judged.verdict.outcome != Outcome::kLoadable)
    throw load_error(judged, judged.verdict.reason, judged.verdict.hint, judged.verdict.rule,
                     judged.gates.empty() ? Gate::kFile : judged.gates.back().gate);
  LibraryStore& store = library_store();
  const std::lock_guard lock(store.mutex);
  const auto key = std::make_pair(judged.identity.device, judged.identity.inode);
  if (const auto known = store.loaded.find(key); known != store.loaded.end()) return known->second;
  if (const auto known = store.failed.find(key); known != store.failed.end()) throw known->second;
  const size_t libraries_before = store.libraries.size();
  try {
    const LoadedPlugin& plugin =
        store.loaded.emplace(key, load_once(judged, host, store)).first->second;
    remember_loaded(plugin.description.name.c_str(), printable_path(judged.path.native()).c_str());
    return plugin;
  } catch (const LoadError& error) {
    // Once its constructors have run the entry is not called again.
    if (store.libraries.size() != libraries_before) store.failed.emplace(key, error);
    throw;
  }
}

}  // namespace titan::plugins
