/// What the tests of plugins share: a minimal host table, a folder of their own, file patching.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <titan/host.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/error_slot.h"
#include "plugins/registrar.h"

namespace titan::plugins::testing {

/// The functions that register_converters may use; all others are NULL.
inline const titan_host& small_host() {
  static const titan_host host = [] {
    auto table = sized<titan_host>();
    table.api_level = 1;
    table.set_error = set_error;
    table.get_extension = [](titan_string) -> const void* { return nullptr; };
    table.log = [](int32_t, titan_string) {};
    table.registrar_note = registrar_note;
    table.registrar_converter = registrar_converter;
    return table;
  }();
  return host;
}

/// A folder that only this test uses; gone with the object.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "titan_plugins_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = std::filesystem::canonical(pattern);
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

inline void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  out.close();
  ASSERT_TRUE(out) << path;
}

inline void write_text(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text)));
}

/// A copy in a folder with fixed modes, whatever the umask of whoever built the original.
inline std::filesystem::path copy_to(const TempFolder& folder, const std::filesystem::path& from,
                                     const std::string& name = {}) {
  const auto to = folder / (name.empty() ? from.filename().string() : name);
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(chmod(to.c_str(), 0755), 0);
  return to;
}

/// Bytes that end at an inaccessible page: reading one byte too many ends the test.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t capacity)
      : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        room_((capacity / page_ + 1) * page_),
        base_(static_cast<std::byte*>(mmap(nullptr, room_ + page_, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (base_ == MAP_FAILED || mprotect(base_ + room_, page_, PROT_NONE) != 0)
      throw std::runtime_error("mmap failed");
  }
  ~GuardedBytes() { munmap(base_, room_ + page_); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  std::span<const std::byte> set(std::span<const std::byte> bytes) {
    std::byte* at = base_ + room_ - bytes.size();
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    return {at, bytes.size()};
  }

 private:
  size_t page_, room_;
  std::byte* base_;
};

/// Replaces every occurrence of `from` by `to` (same length); returns how many there were.
inline int patch_bytes(std::vector<std::byte>& bytes, std::string_view from, std::string_view to) {
  EXPECT_EQ(from.size(), to.size());
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  int count = 0;
  for (size_t at = text.find(from); at != std::string_view::npos;
       at = text.find(from, at + 1), ++count)
    std::memcpy(bytes.data() + at, to.data(), to.size());
  return count;
}

}  // namespace titan::plugins::testing
