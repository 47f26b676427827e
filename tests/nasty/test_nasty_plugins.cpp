/// Plugins that pass the judge and misbehave once loaded: an error with a cure, never a crash.
#include <gtest/gtest.h>

#include "base/error.h"
#include "plugins/loader.h"
#include "plugins/plugin_testing.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::small_host;
using testing::TempFolder;

struct LoadDefect {
  const char* file;
  const char* says;
};

std::ostream& operator<<(std::ostream& out, const LoadDefect& defect) { return out << defect.file; }

class NastyPlugin : public ::testing::TestWithParam<LoadDefect> {};

TEST_P(NastyPlugin, IsRefusedWithACure) {
  TempFolder folder;
  const auto path = copy_to(folder, std::string(TITAN_NASTY_SO "/") + GetParam().file + ".so");
  const JudgedPlugin judged = Judge().judge(path);
  ASSERT_EQ(judged.verdict.outcome, Outcome::kLoadable) << judged.verdict.reason;
  // Twice: the second answer is the same, and the entry does not run again.
  for (int round = 0; round < 2; ++round) {
    try {
      load_plugin(judged, small_host());
      FAIL() << "was loaded";
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::kUsage);
      EXPECT_NE(std::string(error.what()).find(GetParam().says), std::string::npos) << error.what();
      EXPECT_FALSE(error.hint().empty());
      EXPECT_NE(error.where().find(path.string()), std::string::npos);
      EXPECT_EQ(std::string(error.what()).find("Bad file descriptor"), std::string::npos);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NastyPlugin,
    ::testing::Values(
        LoadDefect{"throws", "threw an exception: out of cheese [T-28]"},
        LoadDefect{"throws_int", "threw something that is no std::exception [T-28]"},
        LoadDefect{"returns_error",
                   "register_converters failed (unsupported): needs a better moon"},
        LoadDefect{
            "silent_error",
            "failed (unknown status 4242): it failed (unknown status 4242) without saying why, "
            "which is a defect of the plugin [T-26]"},
        LoadDefect{"nothing", "registered nothing [T-32]"},
        LoadDefect{"twice", "the converter 'nasty' is registered twice [T-32]"},
        LoadDefect{"ignored", "the converter 'nasty' is registered twice [T-32]"},
        LoadDefect{"not_listed",
                   "registered the converter 'nasty', which its note does not list [T-17]"},
        LoadDefect{"not_registered",
                   "its note lists the converter 'promised', which it did not register [T-17]"},
        LoadDefect{"no_note_handed", "did not hand over its note [T-17]"},
        LoadDefect{"other_note", "handed over another note than the one in its file [T-17]"},
        LoadDefect{"size_0", "struct_size is 0;"}, LoadDefect{"size_3", "struct_size is 3;"},
        LoadDefect{"size_huge", "struct_size is 4294967295;"},
        LoadDefect{"null_convert", "titan_converter.convert of 'nasty' is NULL [T-7]"},
        LoadDefect{"null_name", "titan_converter.name is empty [T-19]"},
        LoadDefect{"bad_name", "'Nasty\\x1b[31m name' is not a valid name [T-19]"},
        LoadDefect{"huge_name", "is not a valid name [T-19]"},
        LoadDefect{"flags", "titan_converter.flags of 'nasty' is 1"},
        LoadDefect{"null_converter", "registrar_converter was given NULL"},
        LoadDefect{"misaligned", "misaligned pointer"},
        LoadDefect{
            "undefined",
            "needs the symbol nobody_defines_this, which nothing in this process defines [T-33]"},
        LoadDefect{"other_thread", "[T-29]"}, LoadDefect{"size_tail", "[T-7]"},
        LoadDefect{"throws_wrapped", "register_converters failed (failed): out of cheese"}),
    [](const auto& info) { return std::string(info.param.file); });

TEST(NastyPlugin, RegistrarUsedAfterReturnIsAnsweredNotFollowed) {
  TempFolder folder;
  const LoadedPlugin plugin =
      load_plugin(Judge().judge(copy_to(folder, TITAN_NASTY_SO "/good.so")), small_host());
  ASSERT_EQ(plugin.converters.size(), 1u);
  clear_error();
  EXPECT_EQ(plugin.converters[0].convert(nullptr, nullptr), TITAN_WRONG_STATE);
  EXPECT_NE(take_error(TITAN_WRONG_STATE).message.find("after register_converters returned"),
            std::string::npos);
}

}  // namespace
}  // namespace titan::plugins
