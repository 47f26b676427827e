/// The program titan-plugin-validate.
#pragma once

namespace titan::conformance {

/// Exit status: 0 nothing failed, 1 a test failed, 2 usage, or the file is no plugin; else as
/// ExitStatus.
int validate(int argc, char** argv);

}  // namespace titan::conformance
