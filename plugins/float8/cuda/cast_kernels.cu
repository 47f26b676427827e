/// Launchers of the casts. Compiled for every architecture, never run on a GPU.
#include "cast_launch.h"

namespace float8::device {

const char* launch_cast(const CastArguments& a, InputType type, Format format,
                        Granularity granularity, void* stream) {
  return cast<false>(a, type, format, granularity, stream);
}

}  // namespace float8::device
