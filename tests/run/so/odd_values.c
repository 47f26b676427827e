/* A plugin for tests of completion: its code must not run, and its values must not mean anything to
 * a shell. */
#include <stdlib.h>
#include <titan/titan_sdk.h>

#include "titan_note.h"

__attribute__((constructor)) static void code_of_the_plugin_ran(void) { abort(); }

titan_status register_converters(const titan_host *host, titan_registrar *registrar) {
  (void)registrar;
  return host->set_error(TITAN_FAILED, TITAN_STR("this plugin is only looked at"), TITAN_STR(""));
}
