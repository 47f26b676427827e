/// The frame of a program's main(): what it throws becomes a message and an exit status.
#pragma once

#include <functional>

namespace titan {

/// Runs `program` and returns its status. An Error is printed to standard error and gives its own
/// status, any other exception that of a defect. What was printed must also have arrived (a full
/// disk shows up only at the end): else status 3.
int run_program(const std::function<int()>& program);

}  // namespace titan
