/// What `titan doctor` calls a problem.
#pragma once

#include <vector>

#include "commands/doctor_facts.h"

namespace titan::commands {

/// Everything in the facts that keeps a run from working, or makes it much slower than it could be;
/// those of plugins last. Empty: healthy.
std::vector<Problem> problems_of(const DoctorFacts& facts);

/// The processors whose time this process may use: allowed to it, and within its quota; at least 1.
int64_t usable_processors(const observe::SystemFacts& system);

/// "13.0" of 13000 as CUDA's driver and runtime say it.
std::string cuda_version_text(int32_t version);

}  // namespace titan::commands
