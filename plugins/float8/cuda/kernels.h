/// Launchers of the quantising kernels, as a table: tests put loops on the CPU in their place.
#pragma once

#include "../format.h"

namespace float8::device {

struct CastArguments;

/// Every function queues work on `stream` (a cudaStream_t of the current device) and returns null,
/// or the text of CUDA's error.
struct Kernels {
  /// Writes the bits of the largest magnitude of the n elements to *amax_bits. n > 0, n % 8 == 0.
  const char* (*amax)(const void* x, InputType type, int64_t n, int32_t* amax_bits, void* stream);
  const char* (*cast)(const CastArguments& arguments, InputType type, Format format, void* stream);
};

const Kernels& cuda_kernels();

}  // namespace float8::device
