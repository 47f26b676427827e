/// An entry that throws across the C boundary, with or without a std::exception; or a static
/// constructor.
#include <titan/titan_sdk.h>

#include <stdexcept>

TITAN_NOTE(
    "{\"name\": \"nasty\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": "
    "\"none\","
    "\"converters\": [{\"name\": \"nasty\"}]}");

#ifdef DEFECT_IN_CONSTRUCTOR
static const int kThrown = [] {
  throw std::runtime_error("out of cheese");
  return 1;
}();
#endif
#ifdef DEFECT_NOEXCEPT
#define NOEXCEPT noexcept
#else
#define NOEXCEPT
#endif
static titan_status throwing() NOEXCEPT {
#if defined(DEFECT_THROWS_INT)
  throw 7;
#else
  throw std::runtime_error("out of cheese");
#endif
}

titan_status register_converters(const titan_host*, titan_registrar*) { return throwing(); }
