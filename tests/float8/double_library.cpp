/// In place of cublaslt_table.cpp in a plugin that trains with the device objects where there is no
/// GPU.
#include <cstdlib>

#include "fake_cublaslt.h"

namespace float8::device {

/// The double plays the device that FLOAT8_DOUBLE_CAPABILITY names, 10 * major + minor.
const CublasLt& load_cublaslt() {
  if (const char* capability = std::getenv("FLOAT8_DOUBLE_CAPABILITY"))
    test::fake_cublaslt().capability = std::atoi(capability);
  return test::fake_cublaslt_table();
}

}  // namespace float8::device
