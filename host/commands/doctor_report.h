/// The facts and problems of `titan doctor` as text and as JSON.
#pragma once

#include <string>
#include <vector>

#include "commands/doctor_facts.h"

namespace titan::commands {

/// A line for each fact, "problem: ..." with "  fix: ..." below it, and a block of versions for bug
/// reports that names no path and no user. Ends in a newline.
std::string doctor_text(const DoctorFacts& facts, const std::vector<Problem>& problems);

/// {"healthy": bool, "problems": [{"what", "fix"}], "titan": {..}, "torch": {..}, "cuda": {..},
/// "system": {..}, "disk": {..}, "limits": {..}, "locale": {..}, "environment": {..},
/// "plugins": [..]}; sizes in bytes, null: no limit. Without a final newline.
std::string doctor_json(const DoctorFacts& facts, const std::vector<Problem>& problems);

}  // namespace titan::commands
