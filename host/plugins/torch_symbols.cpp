/// Recognises LibTorch's names in mangled and plain symbols.
#include "plugins/torch_symbols.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace titan::plugins {
namespace {

/// How the namespaces of LibTorch begin in a mangled name; K marks a const member function.
/// Anywhere in the name: a function that merely takes an at::Tensor is tied to its layout as well.
/// std::vector::at is "E2atE", not "N2at".
constexpr std::array<std::string_view, 10> kTorchNamespaces = {
    "N2at",     "NK2at",  "N3c10",   "NK3c10",   "N5torch",
    "NK5torch", "N4c10d", "NK4c10d", "N6caffe2", "NK6caffe2"};

std::array<int64_t, 3> torch_version_parts(std::string_view text) {
  std::array<int64_t, 3> parts{};
  size_t part = 0;
  for (const char c : text) {
    if (c >= '0' && c <= '9' && parts[part] < 1'000'000)
      parts[part] = parts[part] * 10 + (c - '0');
    else if (c != '.' || ++part == parts.size())
      break;
  }
  return parts;
}

}  // namespace

TorchSymbols torch_symbols(const ElfFile& elf) {
  TorchSymbols found;
  for (const ElfSymbol& symbol : elf.undefined) {
    const std::string_view name = symbol.name;
    if (found.shim.empty() && (name.starts_with("aoti_torch_") || name.starts_with("torch_")))
      found.shim = name;
    if (found.cpp.empty() && name.starts_with("_Z") &&
        std::any_of(kTorchNamespaces.begin(), kTorchNamespaces.end(),
                    [&](std::string_view ns) { return name.find(ns) != std::string_view::npos; }))
      found.cpp = name;
  }
  return found;
}

bool is_torch_library(std::string_view name) {
  const std::string_view base = name.substr(name.rfind('/') + 1);
  return base.starts_with("libtorch") || base.starts_with("libc10");
}

bool older_torch(std::string_view have, std::string_view need) {
  return torch_version_parts(have) < torch_version_parts(need);
}

}  // namespace titan::plugins
