/// An entry that throws across the C boundary, with or without a std::exception.
#include <titan/titan_sdk.h>

#include <stdexcept>

TITAN_NOTE("{\"name\": \"throws\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": \"none\","
           "\"converters\": [{\"name\": \"throws\"}]}");

titan_status register_converters(const titan_host*, titan_registrar*) {
#ifdef DEFECT_THROWS_INT
  throw 7;
#else
  throw std::runtime_error("out of cheese");
#endif
}
