/// SHA-256, printable text, names, the error slot, texts of the dynamic loader.
#include <gtest/gtest.h>

#include <thread>

#include "base/printable.h"
#include "base/sha256.h"
#include "plugins/error_slot.h"
#include "plugins/load_text.h"
#include "plugins/plugin_name.h"
#include "plugins/torch_symbols.h"

namespace titan::plugins {
namespace {

std::string sha_of(const std::string& text) { return sha256_hex(std::as_bytes(std::span(text))); }

titan_string str(std::string_view text) { return {text.data(), text.size()}; }

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Printable, KeepsTextAndEscapesTheRest) {
  EXPECT_EQ(printable("Größe 漢字 😀"), "Größe 漢字 😀");
  EXPECT_EQ(printable(std::string_view("a\x1b[31m\0b", 8)), "a\\x1b[31m\\x00b");
  EXPECT_EQ(printable("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(printable("\xe6\xbc"), "\\xe6\\xbc");  // cut character
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");  // C1 control
  EXPECT_EQ(printable("abcdef", 3), "abc...");
}

TEST(Names, Rule) {
  for (const char* good : {"a", "float8", "scale.twice", "x_1-y"})
    EXPECT_TRUE(valid_name(good)) << good;
  for (const char* bad : {"", "A", "1a", "_a", "a b", "a/b", "ä"})
    EXPECT_FALSE(valid_name(bad)) << bad;
  EXPECT_TRUE(valid_name(std::string(64, 'a')));
  EXPECT_FALSE(valid_name(std::string(65, 'a')));
}

TEST(ErrorSlot, CarriesMessageAndHint) {
  EXPECT_EQ(set_error(TITAN_UNSUPPORTED, str("needs sm_89"), str("use the emulation")),
            TITAN_UNSUPPORTED);
  TakenError taken = take_error(TITAN_UNSUPPORTED);
  EXPECT_EQ(taken.status, TITAN_UNSUPPORTED);
  EXPECT_EQ(taken.message, "needs sm_89");
  EXPECT_EQ(taken.hint, "use the emulation");
  // Taken once: the next failure does not inherit it.
  taken = take_error(TITAN_FAILED);
  EXPECT_NE(taken.message.find("without saying why"), std::string::npos);
  EXPECT_EQ(taken.rule, Rule::kErrorText);
  EXPECT_FALSE(taken.hint.empty());
}

TEST(ErrorSlot, UnknownStatusIsInternalAndBadTextsAreHarmless) {
  set_error(77, {nullptr, UINT64_MAX}, {"x\x01", 2});
  TakenError taken = take_error(77);
  EXPECT_EQ(taken.status, TITAN_INTERNAL);
  EXPECT_NE(taken.message.find("unknown status 77"), std::string::npos);

  const std::string long_text(1 << 20, 'm');
  set_error(TITAN_FAILED, str(long_text), {});
  EXPECT_LT(take_error(TITAN_FAILED).message.size(), 5000u);
}

TEST(ErrorSlot, SuccessLeavesNothingBehind) {
  set_error(TITAN_FAILED, str("old"), {});
  EXPECT_EQ(take_error(TITAN_OK).message, "");
  EXPECT_EQ(take_error(TITAN_FAILED).message.find("old"), std::string::npos);
}

TEST(ErrorSlot, OnePerThread) {
  set_error(TITAN_FAILED, str("main"), {});
  std::thread([] { set_error(TITAN_FAILED, str("other"), {}); }).join();
  EXPECT_EQ(take_error(TITAN_FAILED).message, "main");
}

TEST(LoadText, SaysWhatIsMissing) {
  const LoadText library = explain_load_failure(
      "boost::dll::shared_library::load() failed (dlerror system message: libfoo.so.3: cannot open "
      "shared "
      "object file: No such file or directory): Bad file descriptor",
      "/p/x.so");
  EXPECT_EQ(library.reason, "needs libfoo.so.3, which was not found");
  const LoadText symbol = explain_load_failure(
      "failed (dlerror system message: /p/x.so: undefined symbol: aoti_torch_new): Bad file "
      "descriptor",
      "/p/x.so");
  EXPECT_EQ(symbol.reason,
            "needs the symbol aoti_torch_new, which nothing in this process defines");
  EXPECT_NE(symbol.hint.find("LibTorch"), std::string::npos);
  const LoadText other = explain_load_failure(
      "failed (dlerror system message: /p/x.so: odd (very)): Bad file descriptor", "/p/x.so");
  EXPECT_EQ(other.reason, "cannot be loaded: odd (very)");
}

TEST(TorchSymbols, Versions) {
  EXPECT_TRUE(older_torch("2.9.1", "2.10"));
  EXPECT_FALSE(older_torch("2.11.0+cpu", "2.10"));
  EXPECT_FALSE(older_torch("2.10.0", "2.10"));
  EXPECT_TRUE(is_torch_library("libtorch_cpu.so"));
  EXPECT_TRUE(is_torch_library("/x/libc10.so.2"));
  EXPECT_FALSE(is_torch_library("libtorrent.so"));
}

TEST(TorchSymbols, TellsTheNamespacesOfLibTorch) {
  const auto tier_of = [](std::string_view name) {
    ElfFile file;
    file.undefined.push_back({name, false});
    return torch_symbols(file).tier();
  };
  EXPECT_EQ(tier_of("_ZNK2at6Tensor3addERKS0_"), Tier::kExact);
  EXPECT_EQ(tier_of("_ZN3c105ErrorC1E"), Tier::kExact);
  EXPECT_EQ(tier_of("_Z3fooRKN2at6TensorE"), Tier::kExact);
  EXPECT_EQ(tier_of("_ZNSt6vectorIiSaIiEE2atEm"), Tier::kNone);  // std::vector::at
  EXPECT_EQ(tier_of("aoti_torch_get_sizes"), Tier::kStable);
  EXPECT_EQ(tier_of("torch_call_dispatcher"), Tier::kStable);
  EXPECT_EQ(tier_of("malloc"), Tier::kNone);
}

}  // namespace
}  // namespace titan::plugins
