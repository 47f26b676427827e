/// The plugin's file: what it needs and what it expects of whoever loads it.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::vector<std::string> run(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::vector<std::string> lines;
  if (!pipe) return lines;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.get())) lines.emplace_back(buffer);
  return lines;
}

TEST(Float8Binary, NeedsNeitherTorchNorCuda) {
  int needed = 0;
  for (const std::string& line : run("readelf -dW " FLOAT8_PLUGIN)) {
    if (line.find("NEEDED") == std::string::npos) continue;
    ++needed;
    for (const char* refused : {"torch", "libc10", "cudart", "cublas", "libcuda"})
      EXPECT_EQ(line.find(refused), std::string::npos) << line;
  }
  EXPECT_GT(needed, 0);
}

/// Symbols with a version belong to the C and C++ runtimes, weak ones may be missing; all others
/// must come from libtorch_cpu, or the plugin would not load on a machine without a GPU.
TEST(Float8Binary, EveryUndefinedSymbolIsInLibtorchCpu) {
  void* torch_cpu = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(torch_cpu, nullptr) << dlerror();
  int torch_symbols = 0;
  for (const std::string& line : run("nm -D --undefined-only " FLOAT8_PLUGIN)) {
    std::istringstream words(line);
    std::string kind, name;
    words >> kind >> name;
    if (kind != "U" || name.find('@') != std::string::npos) continue;
    ++torch_symbols;
    void* address = dlsym(torch_cpu, name.c_str());
    Dl_info from{};
    ASSERT_TRUE(address && dladdr(address, &from)) << name << " is not in libtorch_cpu";
    EXPECT_NE(std::string(from.dli_fname).find("libtorch_cpu"), std::string::npos)
        << name << " is in " << from.dli_fname;
  }
  EXPECT_GT(torch_symbols, 10);
}

TEST(Float8Binary, ExportsOneFunctionAndCarriesANote) {
  const auto exported = run("nm -D --defined-only " FLOAT8_PLUGIN);
  ASSERT_EQ(exported.size(), 1u);
  EXPECT_NE(exported[0].find(" register_converters"), std::string::npos) << exported[0];
  bool note = false;
  for (const std::string& line : run("readelf -SW " FLOAT8_PLUGIN))
    note = note || line.find(".note.titan") != std::string::npos;
  EXPECT_TRUE(note);
}

TEST(Float8Binary, LoadsWithAllSymbolsBoundAndStaysQuiet) {
  const auto cublaslt = [] { return dlopen("libcublasLt.so.13", RTLD_NOW | RTLD_NOLOAD); };
  void* before = cublaslt();
  void* plugin = dlopen(FLOAT8_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(plugin, nullptr) << dlerror();
  EXPECT_NE(dlsym(plugin, "register_converters"), nullptr);
  // Loading must not drag cuBLASLt in: it is opened at first use.
  EXPECT_EQ(cublaslt(), before);
}

}  // namespace
