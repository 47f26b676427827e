/// The bounded reader behind parse_elf; only elf_file.cpp and elf_dynamic.cpp include it.
#pragma once

#include <elf.h>

#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plugins/elf_file.h"

namespace titan::plugins {

// Bounds that keep the time for a hostile file linear; real files stay far below them.
inline constexpr uint64_t kMaxStringBytes = 64 * 1024;
inline constexpr size_t kMaxVersions = 64 * 1024;

class ElfReader {
 public:
  explicit ElfReader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  ElfFile read();

 private:
  bool fits(uint64_t offset, uint64_t size) const {
    return offset <= bytes_.size() && size <= bytes_.size() - offset;
  }
  /// Copies: the file's structures need not be aligned.
  template <class T>
  std::optional<T> at(uint64_t offset) const {
    if (!fits(offset, sizeof(T))) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }
  void fail(ElfProblem problem, std::string text) {
    if (file_.problem != ElfProblem::kNone) return;
    file_.problem = problem;
    file_.problem_text = std::move(text);
  }
  bool ok() const { return file_.problem == ElfProblem::kNone; }

  void read_ident();
  void read_segments();
  void read_sections();
  void read_dynamic(uint64_t offset, uint64_t size);
  void read_symbols();
  void read_version_needs();
  void read_version_definitions();
  uint64_t symbol_count() const;
  uint64_t gnu_hash_count() const;
  std::optional<uint64_t> offset_of(uint64_t address) const;
  /// The NUL-terminated string at `index` of the dynamic string table; empty if there is none.
  std::string_view dynamic_string(uint64_t index) const;
  std::string_view string_in(uint64_t table, uint64_t size, uint64_t index) const;

  std::span<const std::byte> bytes_;
  ElfFile file_;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> loads_;
  // Addresses from the dynamic section; 0: absent.
  uint64_t strtab_ = 0, strsz_ = 0, symtab_ = 0, hash_ = 0, gnu_hash_ = 0, verneed_ = 0,
           verneed_count_ = 0;
  uint64_t verdef_ = 0, verdef_count_ = 0;
  std::optional<uint64_t> strtab_offset_;
  uint64_t section_symbols_ = 0;  // entries of the section SHT_DYNSYM
};

}  // namespace titan::plugins
