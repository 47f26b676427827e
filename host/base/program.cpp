#include "base/program.h"

#include <exception>
#include <iostream>

#include "base/error.h"

namespace titan {

int run_program(const std::function<int()>& program) {
  try {
    const int status = program();
    std::cout.flush();
    if (!std::cout)
      throw environment_error("the output could not be written", "standard output",
                              "free space on the disk it goes to, or name another file");
    return status;
  } catch (const Error& error) {
    std::cerr << error.render();
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    std::cerr << internal_error(error.what()).render();
    return static_cast<int>(ExitStatus::kInternal);
  }
}

}  // namespace titan
