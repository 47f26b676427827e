/* A second note in one file. */
#include <titan/plugin.h>

TITAN_NOTE(
    "{\"name\": \"second\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": "
    "\"none\","
    "\"converters\": [{\"name\": \"second\"}]}");
