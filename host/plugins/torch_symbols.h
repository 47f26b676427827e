/// Which parts of LibTorch a file needs, told from its undefined symbols and needed libraries.
#pragma once

#include <string>
#include <string_view>

#include "plugins/elf_file.h"
#include "plugins/note.h"

namespace titan::plugins {

/// The first symbol of each kind; empty: none.
struct TorchSymbols {
  std::string cpp;   ///< at::, c10::, torch:: : changes with every LibTorch
  std::string shim;  ///< aoti_torch_*, torch_*: torch's stable C functions
  Tier tier() const {
    return !cpp.empty() ? Tier::kExact : !shim.empty() ? Tier::kStable : Tier::kNone;
  }
};

TorchSymbols torch_symbols(const ElfFile& elf);

/// "libtorch_cpu.so", "libc10.so.1".
bool is_torch_library(std::string_view name);

/// Whether LibTorch `have` ("2.11.0", "2.11.0+cpu") is older than `need` ("2.10").
bool older_torch(std::string_view have, std::string_view need);

}  // namespace titan::plugins
