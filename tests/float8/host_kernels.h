/// The quantising kernels as loops over blocks and threads on the CPU, in place of a grid.
#pragma once

#include <algorithm>
#include <vector>

#include "cuda/kernel_bodies.h"
#include "cuda/kernels.h"

namespace float8::test {

template <Format F, class T>
void cast_on_host(const device::CastArguments& a) {
  const int64_t tile_rows = (a.padded_rows + device::kTile - 1) / device::kTile;
  const int64_t tile_columns = (a.columns + device::kTile - 1) / device::kTile;
  for (int64_t i = 0; i < tile_rows; ++i)
    for (int64_t j = 0; j < tile_columns; ++j) {
      // Filled with a code that is no zero: a byte that is read without having been written shows.
      std::vector<uint8_t> tile(device::kTile * device::kPitch, 0x55);
      for (int thread = 0; thread < device::kThreads; ++thread) device::cast_rows<F, T>(a, i, j, thread, tile.data());
      if (!a.column_out) continue;
      for (int thread = 0; thread < device::kThreads; ++thread) device::cast_columns(a, i, j, thread, tile.data());
    }
}

inline const char* host_cast(const device::CastArguments& a, InputType type, Format format, void*) {
  if (format == Format::kE4M3)
    type == InputType::kFloat32 ? cast_on_host<Format::kE4M3, float>(a) : cast_on_host<Format::kE4M3, uint16_t>(a);
  else
    type == InputType::kFloat32 ? cast_on_host<Format::kE5M2, float>(a) : cast_on_host<Format::kE5M2, uint16_t>(a);
  return nullptr;
}

inline const char* host_amax(const void* x, InputType type, int64_t n, int32_t* amax_bits, void*) {
  constexpr int64_t kGrid = 3 * device::kThreads;
  int32_t largest = 0;
  for (int64_t thread = 0; thread < kGrid; ++thread)
    largest = std::max(largest, type == InputType::kFloat32
                                    ? device::thread_amax(static_cast<const float*>(x), n, thread, kGrid)
                                    : device::thread_amax(static_cast<const uint16_t*>(x), n, thread, kGrid));
  *amax_bits = largest;
  return nullptr;
}

inline constexpr device::Kernels kHostKernels{host_amax, host_cast};

}  // namespace float8::test
