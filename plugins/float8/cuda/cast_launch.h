/// Which cast kernel takes which tensor, and how many blocks.
#pragma once

#include "cast_kernel.h"
#include "kernels.h"
#include "launch.h"

namespace float8::device {

template <bool kMeasure, Format F, Granularity G>
const char* cast_as(const CastArguments& a, InputType type, void* stream) {
  const int64_t blocks = tile_count(a.padded_rows, a.columns);
  return type == InputType::kFloat32
             ? launch_kernel<CastKernel<F, float, G, kMeasure>>(a, blocks, stream)
             : launch_kernel<CastKernel<F, uint16_t, G, kMeasure>>(a, blocks, stream);
}

template <bool kMeasure>
const char* cast(const CastArguments& a, InputType type, Format format, Granularity granularity,
                 void* stream) {
  if (format == Format::kE5M2) {
    if (granularity != Granularity::kTensor) return "e5m2 is cast with one scale for the tensor";
    return cast_as<kMeasure, Format::kE5M2, Granularity::kTensor>(a, type, stream);
  }
  switch (granularity) {
    case Granularity::kTensor:
      return cast_as<kMeasure, Format::kE4M3, Granularity::kTensor>(a, type, stream);
    case Granularity::kVector:
      return cast_as<kMeasure, Format::kE4M3, Granularity::kVector>(a, type, stream);
    case Granularity::k1x128:
      return cast_as<kMeasure, Format::kE4M3, Granularity::k1x128>(a, type, stream);
    case Granularity::k128x128:
      return cast_as<kMeasure, Format::kE4M3, Granularity::k128x128>(a, type, stream);
    case Granularity::k1x32:
      return cast_as<kMeasure, Format::kE4M3, Granularity::k1x32>(a, type, stream);
    case Granularity::kNone: break;
  }
  return "there is nothing to cast to";
}

}  // namespace float8::device
