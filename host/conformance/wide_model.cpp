#include "conformance/wide_model.h"

#include "base/error.h"
#include "conformance/probe.h"

namespace titan::conformance {

at::ScalarType in_widest_type(const std::function<void(at::ScalarType dtype)>& work) {
  reset_probe();
  try {
    work(at::kDouble);
    return at::kDouble;
  } catch (const Error&) {
    if (!probe_record().plugin_said) throw;
  }
  work(at::kFloat);
  return at::kFloat;
}

}  // namespace titan::conformance
