/// The dynamic section: needed libraries, symbols and their versions.
#include <algorithm>
#include <cstring>

#include "plugins/elf_reader.h"

namespace titan::plugins {

std::string_view ElfReader::string_in(uint64_t table, uint64_t size, uint64_t index) const {
  if (index >= size || !fits(table, size)) return {};
  const char* begin = reinterpret_cast<const char*>(bytes_.data()) + table + index;
  const void* end = std::memchr(begin, 0, std::min(size - index, kMaxStringBytes));
  if (end == nullptr) return {};
  return {begin, static_cast<size_t>(static_cast<const char*>(end) - begin)};
}

std::string_view ElfReader::dynamic_string(uint64_t index) const {
  return strtab_offset_ ? string_in(*strtab_offset_, strsz_, index) : std::string_view();
}

void ElfReader::read_dynamic(uint64_t offset, uint64_t size) {
  std::vector<uint64_t> needed;
  std::optional<uint64_t> soname, runpath, rpath;
  for (uint64_t i = 0; i < size / sizeof(Elf64_Dyn); ++i) {
    const auto entry = at<Elf64_Dyn>(offset + i * sizeof(Elf64_Dyn));
    if (!entry || entry->d_tag == DT_NULL) break;
    const uint64_t value = entry->d_un.d_val;
    switch (entry->d_tag) {
      case DT_STRTAB: strtab_ = value; break;
      case DT_STRSZ: strsz_ = value; break;
      case DT_SYMTAB: symtab_ = value; break;
      case DT_HASH: hash_ = value; break;
      case DT_GNU_HASH: gnu_hash_ = value; break;
      case DT_VERNEED: verneed_ = value; break;
      case DT_VERNEEDNUM: verneed_count_ = value; break;
      case DT_VERDEF: verdef_ = value; break;
      case DT_VERDEFNUM: verdef_count_ = value; break;
      case DT_NEEDED: needed.push_back(value); break;
      case DT_SONAME: soname = value; break;
      case DT_RUNPATH: runpath = value; break;
      case DT_RPATH: rpath = value; break;
      case DT_TEXTREL: file_.text_relocations = true; break;
      case DT_FLAGS:
        if (value & DF_TEXTREL) file_.text_relocations = true;
        if (value & DF_STATIC_TLS) file_.static_tls = true;
        break;
      default: break;
    }
  }
  strtab_offset_ = offset_of(strtab_);
  if (!strtab_offset_ || !fits(*strtab_offset_, strsz_))
    return fail(ElfProblem::kMalformed, "the dynamic string table lies outside the file");
  for (const uint64_t index : needed) {
    const std::string_view name = dynamic_string(index);
    if (name.empty()) return fail(ElfProblem::kMalformed, "the name of a needed library is broken");
    file_.needed.push_back(name);
  }
  if (soname) file_.soname = dynamic_string(*soname);
  if (runpath || rpath) file_.runpath = dynamic_string(runpath ? *runpath : *rpath);
}

/// Symbols reached through the GNU hash table: all hashed ones and those in front of them.
uint64_t ElfReader::gnu_hash_count() const {
  const auto start = offset_of(gnu_hash_);
  if (gnu_hash_ == 0 || !start) return 0;
  const auto buckets = at<uint32_t>(*start), first = at<uint32_t>(*start + 4),
             bloom = at<uint32_t>(*start + 8);
  if (!buckets || !first || !bloom) return 0;
  const uint64_t bucket_at = *start + 16 + uint64_t{*bloom} * 8;
  const uint64_t chain_at = bucket_at + uint64_t{*buckets} * 4;
  if (!fits(bucket_at, uint64_t{*buckets} * 4)) return 0;
  uint64_t last = 0;
  for (uint64_t i = 0; i < *buckets; ++i)
    last = std::max<uint64_t>(last, *at<uint32_t>(bucket_at + 4 * i));
  if (last < *first) return *first;
  // The chain of the last bucket ends at an entry whose lowest bit is set.
  for (;; ++last) {
    const auto link = at<uint32_t>(chain_at + (last - *first) * 4);
    if (!link) return 0;
    if (*link & 1) return last + 1;
  }
}

uint64_t ElfReader::symbol_count() const {
  // Why the maximum: the GNU hash table of a file that exports nothing does not count the undefined
  // symbols, and the section headers may be gone.
  uint64_t count = std::max(gnu_hash_count(), section_symbols_);
  if (const auto start = offset_of(hash_); hash_ != 0 && start)
    if (const auto chains = at<uint32_t>(*start + 4)) count = std::max<uint64_t>(count, *chains);
  return count;
}

void ElfReader::read_symbols() {
  const auto start = offset_of(symtab_);
  if (symtab_ == 0 || !start) return;
  const uint64_t count =
      std::min<uint64_t>(symbol_count(), (bytes_.size() - *start) / sizeof(Elf64_Sym));
  for (uint64_t i = 1; i < count; ++i) {
    const auto symbol = at<Elf64_Sym>(*start + i * sizeof(Elf64_Sym));
    const int binding = ELF64_ST_BIND(symbol->st_info);
    if (binding == STB_LOCAL) continue;
    const std::string_view name = dynamic_string(symbol->st_name);
    if (name.empty()) continue;
    const int visibility = ELF64_ST_VISIBILITY(symbol->st_other);
    const bool visible = visibility == STV_DEFAULT || visibility == STV_PROTECTED;
    if (symbol->st_shndx == SHN_UNDEF)
      file_.undefined.push_back({name, binding == STB_WEAK});
    else if (visible)
      file_.defined.push_back({name, binding == STB_WEAK});
  }
}

void ElfReader::read_version_needs() {
  auto where = offset_of(verneed_);
  // Each step moves forward, so the loops end within the file.
  for (uint64_t i = 0; verneed_ != 0 && where && i < verneed_count_; ++i) {
    const auto need = at<Elf64_Verneed>(*where);
    if (!need) return;
    uint64_t aux_at = *where + need->vn_aux;
    for (uint64_t k = 0; k < need->vn_cnt; ++k) {
      const auto aux = at<Elf64_Vernaux>(aux_at);
      if (!aux) break;
      if (file_.version_needs.size() == kMaxVersions) return;
      file_.version_needs.push_back({dynamic_string(need->vn_file), dynamic_string(aux->vna_name),
                                     (aux->vna_flags & VER_FLG_WEAK) != 0});
      if (aux->vna_next == 0) break;
      aux_at += aux->vna_next;
    }
    if (need->vn_next == 0) return;
    *where += need->vn_next;
  }
}

void ElfReader::read_version_definitions() {
  auto where = offset_of(verdef_);
  for (uint64_t i = 0; verdef_ != 0 && where && i < verdef_count_; ++i) {
    const auto definition = at<Elf64_Verdef>(*where);
    if (!definition || i == kMaxVersions) return;
    if (const auto aux = at<Elf64_Verdaux>(*where + definition->vd_aux))
      file_.version_definitions.push_back(dynamic_string(aux->vda_name));
    if (definition->vd_next == 0) return;
    *where += definition->vd_next;
  }
}

}  // namespace titan::plugins
