/// Files that are no plugins, or no longer: each gets one line, and the scan goes on.
#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>

#include "base/error.h"
#include "plugins/catalog.h"
#include "plugins/load_requested.h"
#include "plugins/plugin_testing.h"
#include "plugins/report.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::read_file;
using testing::TempFolder;
using testing::write_file;
using testing::write_text;
namespace fs = std::filesystem;

std::vector<std::byte> good_bytes() { return read_file(TITAN_NASTY_SO "/good.so"); }

/// The good plugin with `change` applied to its bytes.
template <class Change>
void write_changed(const fs::path& path, Change&& change) {
  auto bytes = good_bytes();
  change(bytes);
  write_file(path, bytes);
}

struct Expected {
  Outcome outcome;
  std::string says;
};

/// Every odd file into one folder; what is said about each.
std::map<std::string, Expected> fill_folder(const TempFolder& folder) {
  std::map<std::string, Expected> expected;
  const auto expect = [&](const char* name, Outcome outcome, const char* says) {
    expected[name] = {outcome, says};
    return folder / name;
  };
  constexpr auto kSkipped = Outcome::kSkipped;
  constexpr auto kRefused = Outcome::kRefused;
  const auto set_byte = [](size_t at, int value) {
    return [=](std::vector<std::byte>& bytes) { bytes[at] = static_cast<std::byte>(value); };
  };
  write_text(expect("empty.so", kRefused, "is empty"), "");
  write_text(expect("one_byte.so", kSkipped, "is not an ELF file"), "x");
  write_text(expect("script.so", kSkipped, "is not an ELF file"), "INPUT(-lfoo)\n");
  write_changed(expect("cut_header.so", kRefused, "the ELF header is cut"),
                [](auto& b) { b.resize(40); });
  write_changed(expect("cut_table.so", kRefused, "the program headers end beyond"),
                [](auto& b) { b.resize(100); });
  write_changed(expect("cut_segment.so", kRefused, "is cut short: segment"),
                [](auto& b) { b.resize(b.size() / 4); });
  write_changed(expect("arm.so", kSkipped, "was built for AArch64"), set_byte(18, EM_AARCH64));
  write_changed(expect("elf32.so", kSkipped, "was built for 32-bit"),
                set_byte(EI_CLASS, ELFCLASS32));
  write_changed(expect("big_endian.so", kSkipped, "was built for big-endian"),
                set_byte(EI_DATA, ELFDATA2MSB));
  write_changed(expect("program.so", kRefused, "is a program"), set_byte(16, ET_EXEC));
  write_changed(expect("object.so", kRefused, "is an object file"), set_byte(16, ET_REL));
  write_changed(expect("core.so", kRefused, "is a core dump"), set_byte(16, ET_CORE));
  write_changed(expect("no_segments.so", kRefused, "program header table has 0 entries"),
                [](auto& b) { b[56] = b[57] = std::byte{0}; });
  write_changed(expect("many_segments.so", kRefused, "program headers end beyond"),
                [](auto& b) { b[56] = std::byte{0xfe}, b[57] = std::byte{0xff}; });
  write_changed(expect("note_length.so", kRefused, "the note says that it has 4294967280 bytes"),
                [](auto& b) {
                  // descsz stands in front of the type and the name.
                  const std::string_view mark("\1\0\0\0titan\0", 10);
                  const std::string_view text(reinterpret_cast<const char*>(b.data()), b.size());
                  const size_t at = text.find(mark);
                  ASSERT_NE(at, std::string_view::npos);
                  const uint32_t size = 4294967280u;
                  std::memcpy(b.data() + at - 4, &size, 4);
                });
  fs::create_directory(expect("folder.so", kSkipped, "is a folder"));
  fs::create_symlink("loop.so", expect("loop.so", kRefused, "leads back to itself"));
  fs::create_symlink("nowhere.so",
                     expect("dangling.so", kRefused, "link to a file that does not exist"));
  fs::create_symlink("/dev/null", expect("device.so", kRefused, "is a device"));
  EXPECT_EQ(mkfifo(expect("fifo.so", kRefused, "is a FIFO").c_str(), 0600), 0);
  copy_to(folder, TITAN_NASTY_SO "/good.so", "open_to_all.so");
  EXPECT_EQ(chmod(expect("open_to_all.so", kRefused, "is world-writable").c_str(), 0777), 0);
  for (const auto& [name, says] : std::map<std::string, std::string>{
           {"execstack", "asks for an executable stack"},
           {"textrel", "has relocations in its code (TEXTREL)"},
           {"needs_gone", "needs libgone.so, which was not found in RUNPATH"},
           {"links_torch", "links LibTorch (libtorch_cpu.so)"},
           {"cpp_torch",
            "needs the C++ interface of LibTorch (_ZNK2at6Tensor5numelEv) and has no note"},
           {"cpp_torch_note", "says tier stable but needs the C++ symbol _ZNK2at6Tensor5numelEv"},
           {"shim", "says tier none but needs aoti_torch_get_dim"},
           {"note_exact",
            "was built for LibTorch 9.9.9 cuda99.0 0123456789ab exactly, this titan runs on"},
           {"note_too_new", "needs titan API level 4294967295, this titan has level 2"},
           {"note_keys", "the key \"converters\" occurs twice"},
           {"note_deep", "nested more than 16 levels"},
           {"note_json", "not valid JSON"},
           {"two_notes", "has two titan notes"},
           {"mangled", "which is register_converters with a C++ name"},
           {"mangled_note", "which is register_converters with a C++ name"},
           {"mangled_hidden", "has a titan note but exports no register_converters"},
           {"entry_name", "has a titan note but exports no register_converters"}}) {
    copy_to(folder, TITAN_NASTY_SO "/" + name + ".so");
    expected[name + ".so"] = {kRefused, says};
  }
  copy_to(folder, TITAN_NASTY_SO "/good.so");
  expected["good.so"] = {Outcome::kLoadable, ""};
  return expected;
}

TEST(NastyFiles, OneFolderWithAllOfThemIsListed) {
  TempFolder folder;
  const auto expected = fill_folder(folder);
  SearchOptions options;
  options.paths = {folder.path()};
  const Catalog catalog = scan(options);
  EXPECT_EQ(catalog.entries().size(), expected.size());
  for (const CatalogEntry& entry : catalog.entries()) {
    const std::string name = entry.judged.path.filename();
    ASSERT_TRUE(expected.count(name)) << name;
    const Expected& want = expected.at(name);
    const Verdict& verdict = entry.judged.verdict;
    EXPECT_EQ(outcome_name(verdict.outcome), outcome_name(want.outcome))
        << name << ": " << verdict.reason;
    EXPECT_NE(verdict.reason.find(want.says), std::string::npos) << name << ": " << verdict.reason;
    if (entry.loadable()) continue;
    EXPECT_FALSE(verdict.hint.empty()) << name;
    EXPECT_NE(verdict.rule, Rule::kNone) << name;
  }
  const std::string text = list_text(catalog);
  for (const auto& [name, want] : expected)
    EXPECT_NE(text.find((folder / name).string()), std::string::npos) << name;
  // In spite of its neighbours the good one works.
  EXPECT_EQ(load_requested(catalog, {"nasty"}, {}, testing::small_host()).size(), 1u);
}

TEST(NastyFiles, CutAnywhereIsNeverLoadable) {
  TempFolder folder;
  const auto bytes = good_bytes();
  const auto path = folder / "cut.so";
  Judge judge;
  // Up to the end of the last segment; the section headers behind it are not needed.
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  uint64_t end = 0;
  for (int i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type == PT_LOAD)
      end = std::max<uint64_t>(end, segment.p_offset + segment.p_filesz);
  }
  for (size_t length = 0; length < end; length += 101) {
    write_file(path, {bytes.data(), length});
    const JudgedPlugin judged = judge.judge(path);
    EXPECT_NE(judged.verdict.outcome, Outcome::kLoadable) << length;
    EXPECT_THROW(load_plugin(judged, testing::small_host()), Error) << length;
  }
}

TEST(NastyFiles, RefusedFileIsNamedWhenItsConverterIsRequested) {
  TempFolder folder;
  copy_to(folder, TITAN_NASTY_SO "/note_too_new.so");
  SearchOptions options;
  options.paths = {folder.path()};
  try {
    load_requested(scan(options), {"nasty"}, {}, testing::small_host());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what())
                  .find("is in " + (folder / "note_too_new.so").string() +
                        ", which was refused: it needs titan API level 4294967295, this "
                        "titan has level 2 [T-11]"),
              std::string::npos)
        << error.what();
    EXPECT_NE(error.hint().find("https://nasty.example"), std::string::npos);
    EXPECT_EQ(error.status(), ExitStatus::kUsage);
  }
}

TEST(NastyFiles, InterposersAreWarnedOf) {
  TempFolder folder;
  const JudgedPlugin judged = Judge().judge(copy_to(folder, TITAN_NASTY_SO "/exports_cblas.so"));
  EXPECT_EQ(judged.verdict.outcome, Outcome::kLoadable) << judged.verdict.reason;
  ASSERT_EQ(judged.verdict.warnings.size(), 1u);
  EXPECT_NE(judged.verdict.warnings[0].find("exports cblas_malloc"), std::string::npos);
}

}  // namespace
}  // namespace titan::plugins
