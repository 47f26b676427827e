/// Launchers of the casts that count. Compiled for every architecture, never run on a GPU.
#include "cast_launch.h"

namespace float8::device {

const char* launch_measure(const CastArguments& a, InputType type, Format format,
                           Granularity granularity, void* stream) {
  return cast<true>(a, type, format, granularity, stream);
}

}  // namespace float8::device
