/// Loading good plugins: what comes out, and that it stays.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "base/sha256.h"
#include "plugins/descriptor.h"
#include "plugins/loader.h"
#include "plugins/mapping.h"
#include "plugins/plugin_testing.h"
#include "plugins/registrar.h"

namespace titan::plugins {
namespace {

using testing::copy_to;
using testing::small_host;
using testing::TempFolder;

std::string name_of(const titan_converter& converter) {
  return std::string(converter.name.data, converter.name.size);
}

TEST(Loader, LoadsAPluginForGood) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  const JudgedPlugin judged = Judge().judge(path);
  const LoadedPlugin plugin = load_plugin(judged, small_host());
  EXPECT_EQ(plugin.path, path);
  EXPECT_EQ(plugin.sha256, sha256_hex(testing::read_file(path)));
  ASSERT_EQ(plugin.converters.size(), 2u);
  EXPECT_EQ(name_of(plugin.converters[0]), "scale");
  EXPECT_EQ(name_of(plugin.converters[1]), "scale.twice");
  EXPECT_EQ(plugin.converters[0].convert(nullptr, nullptr), TITAN_OK);
  EXPECT_EQ(plugin.converters[0].create, nullptr);
  EXPECT_EQ(plugin.description.converters[0].options.size(), 3u);

  // Pinned: closing every handle that can be had does not unmap it.
  for (int i = 0; i < 3; ++i)
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD)) {
      dlclose(handle);
      dlclose(handle);
    }
  EXPECT_TRUE(mapped_file_at(reinterpret_cast<const void*>(plugin.converters[0].convert)));

  // A second load runs nothing and gives the same.
  EXPECT_EQ(load_plugin(judged, small_host()).converters[0].convert, plugin.converters[0].convert);
}

TEST(Loader, LearnsWhatANotelessPluginOffers) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_noteless.so");
  const LoadedPlugin plugin = load_plugin(Judge().judge(path), small_host());
  ASSERT_EQ(plugin.converters.size(), 1u);
  ASSERT_EQ(plugin.description.converters.size(), 1u);
  EXPECT_EQ(plugin.description.converters[0].name, "plain");
  EXPECT_EQ(plugin.description.converters[0].origin, path.string());
}

TEST(Loader, LoadsTheCppLayer) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_cpp_layer.so");
  const LoadedPlugin plugin = load_plugin(Judge().judge(path), small_host());
  ASSERT_EQ(plugin.converters.size(), 1u);
  EXPECT_EQ(name_of(plugin.converters[0]), "nothing");
  EXPECT_NE(plugin.converters[0].create, nullptr);
}

TEST(Loader, RefusesAFileThatChangedSinceItWasJudged) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_scale.so");
  const JudgedPlugin judged = Judge().judge(path);
  std::filesystem::remove(path);
  copy_to(folder, TITAN_TEST_SO "/test_noteless.so", "test_scale.so");
  try {
    load_plugin(judged, small_host());
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("changed since it was checked [T-34]"),
              std::string::npos);
    EXPECT_EQ(error.status(), ExitStatus::kUsage);
    EXPECT_NE(error.where().find("plugin 'scale' ("), std::string::npos);
  }
}

TEST(Loader, RefusesWhatWasNotJudgedLoadable) {
  TempFolder folder;
  const auto path = copy_to(folder, TITAN_TEST_SO "/test_helper.so");
  EXPECT_THROW(load_plugin(Judge().judge(path), small_host()), Error);
}

TEST(Mapping, ComparesFilesNotNames) {
  TempFolder folder;
  const auto a = copy_to(folder, TITAN_TEST_SO "/test_scale.so", "a.so");
  const auto b = copy_to(folder, TITAN_TEST_SO "/test_scale.so", "b.so");
  const OpenedFile one = open_regular_file(a), same = open_regular_file(a),
                   other = open_regular_file(b);
  ASSERT_TRUE(mapped_file_of(one.handle.get()));
  EXPECT_EQ(mapped_file_of(one.handle.get()), mapped_file_of(same.handle.get()));
  EXPECT_NE(mapped_file_of(one.handle.get()), mapped_file_of(other.handle.get()));
  EXPECT_FALSE(mapped_file_at(nullptr));
  int local = 0;
  EXPECT_FALSE(mapped_file_at(&local)) << "the stack has no file";
}

titan_status some_convert(void*, titan_model*) { return TITAN_OK; }

titan_converter good_converter() {
  auto converter = sized<titan_converter>();
  converter.name = TITAN_STR("good");
  converter.convert = some_convert;
  return converter;
}

TEST(Registrar, DeadAfterwardsAndBoundToItsThread) {
  const titan_converter converter = good_converter();
  titan_registrar* kept = nullptr;
  {
    Registration registration;
    kept = registration.handle();
    std::thread([&] {
      EXPECT_EQ(registrar_converter(kept, &converter), TITAN_WRONG_STATE);
    }).join();
    EXPECT_EQ(registrar_converter(kept, &converter), TITAN_OK);
  }
  EXPECT_EQ(registrar_converter(kept, &converter), TITAN_WRONG_STATE);
  EXPECT_EQ(registrar_note(kept, "{}", 2), TITAN_WRONG_STATE);
  EXPECT_NE(take_error(TITAN_WRONG_STATE).message.find("after register_converters returned"),
            std::string::npos);
  EXPECT_EQ(registrar_converter(nullptr, &converter), TITAN_INVALID_ARGUMENT);
  EXPECT_EQ(kept->converters.size(), 1u);
}

TEST(Registrar, NoteOnceAndFirst) {
  const titan_converter converter = good_converter();
  Registration registration;
  EXPECT_EQ(registrar_note(registration.handle(), nullptr, 2), TITAN_INVALID_ARGUMENT);
  EXPECT_EQ(registrar_note(registration.handle(), "{}", uint64_t{1} << 40), TITAN_INVALID_ARGUMENT);
  EXPECT_EQ(registrar_note(registration.handle(), "{}", 2), TITAN_OK);
  EXPECT_EQ(registrar_note(registration.handle(), "{}", 2), TITAN_WRONG_STATE);
  Registration second;
  EXPECT_EQ(registrar_converter(second.handle(), &converter), TITAN_OK);
  EXPECT_EQ(registrar_note(second.handle(), "{}", 2), TITAN_WRONG_STATE);
}

TEST(Descriptor, TailBeyondTheKnownMustBeZero) {
  struct Newer {
    titan_converter known;
    uint64_t tail[2];
  } newer{good_converter(), {0, 0}};
  newer.known.struct_size = sizeof(Newer);
  CheckedConverter checked = check_converter(&newer.known);
  EXPECT_EQ(checked.problem, "");
  EXPECT_EQ(checked.table.struct_size, sizeof(titan_converter));
  EXPECT_EQ(checked.name, "good");
  newer.tail[1] = 1;
  EXPECT_NE(check_converter(&newer.known).problem.find("newer fields"), std::string::npos);
}

TEST(Descriptor, NamesAreCopiedOut) {
  std::string name = "temporary";
  titan_converter converter = good_converter();
  converter.name = {name.data(), name.size()};
  Registration registration;
  ASSERT_EQ(registrar_converter(registration.handle(), &converter), TITAN_OK);
  name.assign("overwritten");
  EXPECT_TRUE(titan_equal(registration.handle()->converters[0].name, "temporary"));
}

}  // namespace
}  // namespace titan::plugins
