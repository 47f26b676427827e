/* A plugin without a note: what it offers is known only after loading it. */
#include <titan/titan_sdk.h>

static titan_status convert(void *instance, titan_model *model) {
  (void)instance, (void)model;
  return TITAN_OK;
}

titan_status register_converters(const titan_host *host, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  converter.convert = convert;
  converter.name = TITAN_STR("plain");
  return host->registrar_converter(registrar, &converter);
}
