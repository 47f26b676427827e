#include "plugins/library_finder.h"

#include <dlfcn.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/printable.h"
#include "plugins/elf_file.h"
#include "plugins/file_bytes.h"

namespace titan::plugins {
namespace {

constexpr char kCachePath[] = "/etc/ld.so.cache";
/// Folders that glibc was built to search at the end; Debian's and those of other distributions.
constexpr std::array<const char*, 8> kStandardFolders = {"/lib/x86_64-linux-gnu",
                                                         "/usr/lib/x86_64-linux-gnu",
                                                         "/lib/aarch64-linux-gnu",
                                                         "/usr/lib/aarch64-linux-gnu",
                                                         "/lib64",
                                                         "/usr/lib64",
                                                         "/lib",
                                                         "/usr/lib"};

/// The loader's own answer: it takes a mapped library for a needed one by file name or by soname.
bool is_mapped(std::string_view name) {
  void* mapped = dlopen(std::string(name).c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (mapped) dlclose(mapped);
  return mapped != nullptr;
}

bool exists(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

/// Calls `look` with each part of a list, $ORIGIN replaced; true at the first that says so.
/// `separators`:
/// ":" for RUNPATH, ":;" for LD_LIBRARY_PATH. An empty part is the working directory.
template <class Look>
bool any_folder(std::string_view list, const char* separators, std::string_view origin,
                const Look& look) {
  if (list.empty()) return false;
  for (size_t begin = 0; begin <= list.size();) {
    const size_t end = std::min(list.find_first_of(separators, begin), list.size());
    std::string folder(list.substr(begin, end - begin));
    begin = end + 1;
    if (folder.empty()) folder = ".";
    for (const std::string_view token : {"${ORIGIN}", "$ORIGIN"})
      for (size_t at; (at = folder.find(token)) != std::string::npos;)
        folder.replace(at, token.size(), origin);
    // $LIB and $PLATFORM depend on the loader's build: what they stand for cannot be told.
    if (folder.find('$') != std::string::npos) return true;
    // Libraries for newer processors lie below; which of them the loader takes is its own affair.
    if (look(folder) || exists(folder + "/glibc-hwcaps")) return true;
  }
  return false;
}

/// The names of a cache in glibc's format 1.1 (the only one that glibc writes since 2.32). Offsets
/// count from its beginning; every one is checked.
std::optional<std::set<std::string, std::less<>>> parse_cache(const std::vector<std::byte>& bytes) {
  constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
  constexpr size_t kHeader = 48, kEntry = 24, kKeyInEntry = 4;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.size() < kHeader || !text.starts_with(kMagic)) return std::nullopt;
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    std::memcpy(&value, text.data() + at, sizeof value);
    return value;
  };
  const size_t count = number(kMagic.size());
  if (count > (text.size() - kHeader) / kEntry) return std::nullopt;
  std::set<std::string, std::less<>> names;
  for (size_t i = 0; i < count; ++i) {
    const size_t key = number(kHeader + i * kEntry + kKeyInEntry);
    const size_t end = key < text.size() ? text.find('\0', key) : std::string_view::npos;
    if (end == std::string_view::npos) return std::nullopt;
    names.emplace(text.substr(key, end - key));
  }
  return names;
}

}  // namespace

const std::optional<std::set<std::string, std::less<>>>& LibraryFinder::cached_names() {
  if (read_cache_) return cache_;
  read_cache_ = true;
  const OpenedFile file = open_regular_file(kCachePath);
  if (!file.problem.empty()) return cache_;
  try {
    cache_ = parse_cache(read_bytes(file, kCachePath));
  } catch (const Error&) {
    cache_.reset();  // unreadable: then only loading can tell
  }
  return cache_;
}

bool LibraryFinder::can_find(std::string_view name, std::string_view runpath,
                             std::string_view origin) {
  if (name.find('/') != std::string_view::npos) {
    const std::string path(name);
    return path.find('$') != std::string::npos || exists(path);
  }
  if (is_mapped(name)) return true;
  const auto look = [&](const std::string& folder) {
    return exists(folder + "/" + std::string(name));
  };
  if (any_folder(runpath, ":", origin, look)) return true;
  const char* variable = getauxval(AT_SECURE) ? nullptr : std::getenv("LD_LIBRARY_PATH");
  if (variable && any_folder(variable, ":;", origin, look)) return true;
  if (std::any_of(kStandardFolders.begin(), kStandardFolders.end(), look)) return true;
  const auto& cache = cached_names();
  return !cache || cache->find(name) != cache->end();
}

std::string LibraryFinder::places(std::string_view runpath) {
  return (runpath.empty() ? "RUNPATH (the file has none)"
                          : "RUNPATH (" + printable(runpath, 200) + ")") +
         ", LD_LIBRARY_PATH and the loader's cache";
}

}  // namespace titan::plugins
