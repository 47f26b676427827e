/// What the double of CUDA's launch was asked for.
#pragma once

#include <string>
#include <vector>

namespace float8::test {

/// Names of the kernels launched since it was cleared, in order.
std::vector<std::string>& launched();
/// What the next launches return; null: they run.
const char*& launch_error();

}  // namespace float8::test
