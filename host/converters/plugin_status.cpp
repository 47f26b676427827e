#include "converters/plugin_status.h"

#include "plugins/error_slot.h"

namespace titan::converters {

std::string PluginOrigin::text() const {
  std::string text = "plugin '" + plugin + "' (" + path + "), converter '" + converter + "'";
  if (!instance.empty() && instance != converter) text += ", instance '" + instance + "'";
  return text;
}

void call_plugin(const PluginOrigin& origin, const std::string& doing, bool refusal,
                 const std::function<titan_status()>& function) {
  plugins::clear_error();
  titan_status status = TITAN_OK;
  try {
    status = function();
  } catch (const Error&) {
    throw;  // raised by the host inside the call; it names its place already
  } catch (const std::exception& error) {
    throw plugin_error("an exception left the plugin in " + doing + ": " + error.what(), origin.text(),
                       "the plugin must catch its exceptions; the C++ layer of the SDK does it");
  } catch (...) {
    throw plugin_error("an exception of unknown type left the plugin in " + doing, origin.text(),
                       "the plugin must catch its exceptions; the C++ layer of the SDK does it");
  }
  if (status == TITAN_OK) return;
  plugins::TakenError error = plugins::take_error(status);
  const bool refused = refusal && (error.status == TITAN_INVALID_ARGUMENT || error.status == TITAN_UNSUPPORTED ||
                                   error.status == TITAN_NOT_FOUND);
  throw Error(refused ? ExitStatus::kUsage : ExitStatus::kPlugin, doing + ": " + error.message,
              origin.text(), error.hint);
}

}  // namespace titan::converters
