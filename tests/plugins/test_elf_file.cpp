/// The ELF reader on real files, on every truncation of one, and on damaged ones.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "plugins/elf_file.h"
#include "plugins/note_bytes.h"
#include "plugins/plugin_testing.h"

namespace titan::plugins {
namespace {

using testing::GuardedBytes;
using testing::read_file;

std::vector<std::byte> scale_bytes() { return read_file(TITAN_TEST_SO "/test_scale.so"); }

TEST(ElfFile, ReadsARealPlugin) {
  const auto bytes = scale_bytes();
  const ElfFile file = parse_elf(bytes);
  EXPECT_EQ(file.problem, ElfProblem::kNone) << file.problem_text;
  EXPECT_EQ(file.machine, this_machine());
  EXPECT_TRUE(file.defines("register_converters"));
  EXPECT_FALSE(file.defines("convert"));
  EXPECT_FALSE(file.executable_stack);
  EXPECT_FALSE(file.text_relocations);
  EXPECT_FALSE(file.writable_code);
  EXPECT_FALSE(file.has_interpreter);
  const NoteBytes note = find_note(file);
  EXPECT_TRUE(note.found);
  EXPECT_EQ(note.problem, "");
  EXPECT_TRUE(note.json.starts_with("{\"name\": \"scale\""));
  EXPECT_TRUE(note.json.ends_with("}"));
}

TEST(ElfFile, ReadsTheRuntimeOfThisMachine) {
  // A large file with version definitions: the C++ runtime this test runs on.
  const auto bytes = read_file(TITAN_TEST_LIBSTDCXX);
  const ElfFile file = parse_elf(bytes);
  EXPECT_EQ(file.problem, ElfProblem::kNone) << file.problem_text;
  EXPECT_EQ(file.soname, "libstdc++.so.6");
  const auto has = [](const auto& list, std::string_view name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  EXPECT_TRUE(has(file.version_definitions, "GLIBCXX_3.4"));
  EXPECT_TRUE(has(file.needed, "libc.so.6"));
  EXPECT_TRUE(std::any_of(
      file.version_needs.begin(), file.version_needs.end(), [](const ElfVersionNeed& need) {
        return need.library == "libc.so.6" && need.version.starts_with("GLIBC_2.");
      }));
  EXPECT_GT(file.defined.size(), 3000u);
  EXPECT_TRUE(file.defines("__cxa_throw"));
}

TEST(ElfFile, EveryTruncationIsSurvivedAndSegmentsCutAreSeen) {
  const auto bytes = scale_bytes();
  const ElfFile whole = parse_elf(bytes);
  ASSERT_EQ(whole.problem, ElfProblem::kNone);
  // What must be there: the end of the last loaded segment.
  uint64_t end = 0;
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type == PT_LOAD)
      end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  GuardedBytes guarded(bytes.size());
  for (size_t length = 0; length < bytes.size(); ++length) {
    const ElfFile cut = parse_elf(guarded.set({bytes.data(), length}));
    find_note(cut);
    if (length < end) {
      EXPECT_NE(cut.problem, ElfProblem::kNone) << length;
      EXPECT_NE(cut.problem_text, "") << length;
    } else {
      EXPECT_EQ(cut.problem, ElfProblem::kNone) << length << ": only section headers are gone";
      EXPECT_TRUE(cut.defines("register_converters")) << length;
    }
  }
}

TEST(ElfFile, RandomDamageIsSurvived) {
  const auto original = scale_bytes();
  GuardedBytes guarded(original.size());
  std::mt19937_64 random(20240607);
  for (int trial = 0; trial < 20000; ++trial) {
    auto bytes = original;
    // Half of the damage goes where the structures are: the headers.
    const uint64_t flips = 1 + random() % 8;
    for (uint64_t i = 0; i < flips; ++i) {
      const size_t at = random() % (trial % 2 ? bytes.size() : 1024);
      bytes[at] = static_cast<std::byte>(random() % 3 == 0 ? 0xff : random());
    }
    const ElfFile file = parse_elf(guarded.set(bytes));
    find_note(file);
    EXPECT_EQ(file.problem == ElfProblem::kNone, file.problem_text.empty());
  }
}

TEST(ElfFile, NamesTheOtherMachine) {
  auto bytes = scale_bytes();
  bytes[18] = std::byte{183};
  EXPECT_EQ(parse_elf(bytes).problem, ElfProblem::kOtherMachine);
  EXPECT_EQ(parse_elf(bytes).problem_text, "AArch64");
  bytes[EI_CLASS] = std::byte{ELFCLASS32};
  EXPECT_EQ(parse_elf(bytes).problem, ElfProblem::kOtherClass);
  bytes[EI_DATA] = std::byte{ELFDATA2MSB};
  bytes[18] = std::byte{0}, bytes[19] = std::byte{22};
  EXPECT_EQ(parse_elf(bytes).problem, ElfProblem::kOtherEndian);
  EXPECT_EQ(parse_elf(bytes).problem_text, "big-endian s390");
}

/// A note area with one note of the given shape.
std::vector<std::byte> note_area(uint32_t name_size, uint32_t desc_size, uint32_t type,
                                 std::string_view rest) {
  std::vector<std::byte> bytes(12 + rest.size());
  const uint32_t words[3] = {name_size, desc_size, type};
  std::memcpy(bytes.data(), words, 12);
  std::memcpy(bytes.data() + 12, rest.data(), rest.size());
  return bytes;
}

NoteBytes note_of(const std::vector<std::byte>& bytes, uint64_t align = 4) {
  static GuardedBytes guarded(1 << 18);
  ElfFile file;
  file.notes.push_back({guarded.set(bytes), align, {}});
  return find_note(file);
}

TEST(NoteBytes, FindsAndBounds) {
  using namespace std::string_literals;
  const std::string name = "titan\0\0\0"s;
  EXPECT_EQ(note_of(note_area(6, 2, 1, name + "{}\0\0"s)).json, "{}");
  EXPECT_EQ(note_of(note_area(6, 2, 1, name + "{}"s)).json, "{}");
  EXPECT_FALSE(note_of(note_area(6, 2, 2, name + "{}\0\0"s)).found);  // another type
  EXPECT_FALSE(note_of(note_area(4, 4, 1, "GNU\0abcd"s)).found);
  EXPECT_NE(note_of(note_area(6, 100, 1, name + "{}\0\0"s)).problem, "");  // longer than the area
  EXPECT_NE(note_of(note_area(6, UINT32_MAX, 1, name + "{}\0\0"s)).problem, "");
  EXPECT_FALSE(note_of(note_area(UINT32_MAX, 2, 1, name + "{}\0\0"s)).found);
  EXPECT_FALSE(note_of({}).found);

  auto two = note_area(6, 2, 1, name + "{}\0\0"s);
  two.insert(two.end(), two.begin(), two.end());
  EXPECT_NE(note_of(two).problem.find("two titan notes"), std::string::npos);

  auto behind = note_area(4, 3, 3, "GNU\0abc\0"s);  // another note in front, with padding
  const auto ours = note_area(6, 2, 1, name + "{}"s);
  behind.insert(behind.end(), ours.begin(), ours.end());
  EXPECT_EQ(note_of(behind).json, "{}");
  for (size_t length = 0; length < behind.size(); ++length)
    note_of({behind.begin(), behind.begin() + static_cast<ptrdiff_t>(length)});

  const std::string big(65537, ' ');
  EXPECT_NE(note_of(note_area(6, 65537, 1, name + big)).problem.find("65536"), std::string::npos);
}

}  // namespace
}  // namespace titan::plugins
