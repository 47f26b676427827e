/// The command line of titan: subcommands, help, and what they call.
#pragma once

namespace titan::commands {

/// Runs the program and returns its exit status (base/error.h).
int run(int argc, char** argv);

}  // namespace titan::commands
