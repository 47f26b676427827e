/// The same mistake behind the C++ layer: it becomes a status and a text.
#include <titan/titan_sdk.hpp>

#include <stdexcept>

TITAN_NOTE(
    "{\"name\": \"nasty\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": "
    "\"none\","
    "\"converters\": [{\"name\": \"nasty\"}]}");

static titan_converter make() { throw std::runtime_error("out of cheese"); }

TITAN_CONVERTERS(make())
