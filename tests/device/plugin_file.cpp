#include "plugin_file.h"

#include <dlfcn.h>

#include "base/error.h"
#include "converters/plugin_converter.h"
#include "plugins/error_slot.h"
#include "plugins/registrar.h"

namespace titan::device_check {

converters::Registry load_plugin_file(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!library) {
    const char* reason = dlerror();
    throw environment_error(
        std::string("the plugin cannot be loaded: ") + (reason ? reason : "no reason was given"),
        path, "build it first; scripts/device_check.sh does");
  }
  using Entry = titan_status (*)(const titan_host*, titan_registrar*);
  auto* entry = reinterpret_cast<Entry>(dlsym(library, "register_converters"));
  if (!entry)
    throw plugin_error("the plugin exports no register_converters", path, "name a plugin of titan");
  plugins::Registration registration;
  plugins::clear_error();
  const titan_status status = entry(&converters::host_table(), registration.handle());
  registration.close();
  const plugins::TakenError taken = plugins::take_error(status);
  if (status != TITAN_OK)
    throw plugin_error("register_converters failed: " + taken.message, path, taken.hint);
  converters::Registry registry;
  for (const titan_converter& table : registration.handle()->converters) {
    config::ConverterSchema schema;
    schema.name = std::string(table.name.data, table.name.size);
    schema.origin = path;
    registry.register_model_converter(
        schema, converters::plugin_converter_factory(schema.name, path, table));
  }
  registry.freeze();
  if (registry.schemas().empty())
    throw plugin_error("the plugin registered no converter", path, "name a plugin of titan");
  return registry;
}

}  // namespace titan::device_check
