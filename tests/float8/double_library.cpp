/// In place of cublaslt_table.cpp in a plugin that trains with the device objects where there is no GPU.
#include "fake_cublaslt.h"

namespace float8::device {

const CublasLt& load_cublaslt() { return test::fake_cublaslt_table(); }

}  // namespace float8::device
