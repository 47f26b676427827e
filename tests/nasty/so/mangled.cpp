/// The entry without extern "C": its name is mangled.
#include <titan/host.h>

#ifdef DEFECT_WITH_NOTE
#include <titan/plugin.h>
TITAN_NOTE(
    "{\"name\": \"mangled\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": "
    "\"none\","
    "\"converters\": [{\"name\": \"mangled\"}]}");
#endif

namespace other {
struct Host;
}
TITAN_EXPORT titan_status register_converters(other::Host*, titan_registrar*) { return TITAN_OK; }
