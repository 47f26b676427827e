/// A file of a log: made by this process, or gone on with, and written at its end.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace titan::observe {

/// "cannot write PATH: ..." with the fix for the error number `code`.
Error cannot_write(const std::filesystem::path& path, int code);

/// Makes the folder and those above it; an environment error if that fails.
void make_folder(const std::filesystem::path& folder);

/// Writes all of `bytes` at the end of `path`, which is open as `descriptor`. Throws an environment
/// error if that fails or if the file was deleted meanwhile, and what is written would be lost.
void append(int descriptor, const std::filesystem::path& path, std::string_view bytes);

}  // namespace titan::observe
