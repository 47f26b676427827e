/* A plugin as it should be, with options of several types. */
#include <titan/titan_sdk.h>

TITAN_NOTE(
    "{\"name\": \"scale\", \"version\": \"1.2.0\", \"license\": \"MIT\","
    " \"homepage\": \"https://scale.example\", \"vendor\": \"Example\","
    " \"api_min\": 1, \"api_built\": 1, \"tier\": \"none\", \"converters\": ["
    "  {\"name\": \"scale\", \"summary\": \"multiplies outputs\", \"numerics\": {\"sqnr_db\": 20},"
    "   \"validate_with\": {\"mode\": \"fast\"}, \"options\": ["
    "    {\"name\": \"factor\", \"type\": \"float\", \"default\": 1.5, \"min\": 0.0, \"max\": 8.0,"
    "     \"help\": \"what to multiply by\"},"
    "    {\"name\": \"mode\", \"type\": \"enum\", \"values\": [\"fast\", \"exact\"]},"
    "    {\"name\": \"layers\", \"type\": \"list[int]\", \"default\": [1, 2], \"aliases\": "
    "[\"blocks\"]}]},"
    "  {\"name\": \"scale.twice\"}]}");

static titan_status convert(void *instance, titan_model *model) {
  (void)instance, (void)model;
  return TITAN_OK;
}

titan_status register_converters(const titan_host *host, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  titan_status status = host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE);
  converter.convert = convert;
  converter.name = TITAN_STR("scale");
  if (status == TITAN_OK) status = host->registrar_converter(registrar, &converter);
  converter.name = TITAN_STR("scale.twice");
  return status != TITAN_OK ? status : host->registrar_converter(registrar, &converter);
}
