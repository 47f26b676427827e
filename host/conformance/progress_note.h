/// What a test is doing, where the process that watches it can read it after a crash.
#pragma once

#include <string>

namespace titan::conformance {

/// Replaces the note. Shared by all processes forked after the first call; one writer at a time.
void set_progress_note(const std::string& text);
/// The note; empty if there is none.
std::string progress_note();

}  // namespace titan::conformance
