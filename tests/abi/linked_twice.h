/// All of the C++ layer, included by two translation units of one program.
#pragma once
#include <titan/titan_sdk.hpp>

const void* address_of_host_pointer_here();
