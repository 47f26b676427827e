/// Entry of the `titan` program.
#include "commands/cli.h"

int main(int argc, char** argv) { return titan::commands::run(argc, argv); }
