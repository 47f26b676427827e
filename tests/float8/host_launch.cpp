/// The launchers as they ship, compiled for the CPU.
#include "cuda/cast_kernels.cu"
#include "cuda/measure_kernels.cu"
#include "cuda/small_kernels.cu"

namespace float8::test {

std::vector<std::string>& launched() {
  static std::vector<std::string> names;
  return names;
}

const char*& launch_error() {
  static const char* error = nullptr;
  return error;
}

}  // namespace float8::test
