#include "converters/plugin_status.h"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdio>

#include "plugins/current_call.h"
#include "plugins/error_slot.h"
#include "plugins/process_state.h"

namespace titan::converters {

std::string PluginDoing::text() const {
  std::string text = function;
  if (module) text += " of module '" + *module + "'";
  return text;
}

std::string PluginOrigin::text() const {
  std::string text = "plugin '" + plugin + "' (" + path + "), converter '" + converter + "'";
  if (!instance.empty() && instance != converter) text += ", instance '" + instance + "'";
  return text;
}

namespace {

[[noreturn]] void exception_left(const PluginOrigin& origin, const std::string& doing,
                                 const std::string& what) {
  throw plugin_error("an exception " + what + " in " + doing, origin.text(),
                     "the plugin must catch its exceptions; the C++ layer of the SDK does it");
}

}  // namespace

void call_plugin(const PluginOrigin& origin, const PluginDoing& doing, bool refusal,
                 const std::function<titan_status()>& function) {
  plugins::clear_error();
  const plugins::FloatModes before = plugins::FloatModes::current();
  titan_status status = TITAN_OK;
  try {
    const plugins::CurrentCall running(origin.plugin.c_str(), origin.path.c_str(), doing.function,
                                       doing.module ? doing.module->c_str() : "");
    status = function();
  } catch (const Error&) {
    throw;  // raised by the host inside the call; it names its place already
  } catch (abi::__forced_unwind&) {
    // pthread_exit or a cancelled thread. It cannot be stopped, and the thread is the trainer's.
    std::fputs(
        plugin_error(
            "the plugin ended the thread (pthread_exit) in " + doing.text(), origin.text(),
            "report it to the plugin's author: a thread that it was called on is not its own")
            .render()
            .c_str(),
        stderr);
    std::fflush(stderr);
    _exit(static_cast<int>(ExitStatus::kPlugin));
  } catch (const std::exception& error) {
    exception_left(origin, doing.text(), std::string("left the plugin (") + error.what() + ")");
  } catch (...) {
    exception_left(origin, doing.text(), "of unknown type left the plugin");
  }
  const std::string changed = before.difference(plugins::FloatModes::current());
  if (!changed.empty()) {
    before.restore();
    throw plugin_error("the plugin changed " + changed + " in " + doing.text() + " [T-28]",
                       origin.text(),
                       "it must put back what it changes before it returns (fegetenv, fesetenv)");
  }
  if (status == TITAN_OK) return;
  plugins::TakenError error = plugins::take_error(status);
  // What the plugin itself refuses is about configuration or device; what the host refused it is a
  // defect of the plugin.
  const bool refused = refusal && !error.by_host &&
                       (error.status == TITAN_INVALID_ARGUMENT ||
                        error.status == TITAN_UNSUPPORTED || error.status == TITAN_NOT_FOUND);
  throw Error(refused ? ExitStatus::kUsage : ExitStatus::kPlugin,
              doing.text() + ": " + error.message, origin.text(), error.hint);
}

}  // namespace titan::converters
