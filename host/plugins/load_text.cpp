/// Known texts of glibc's loader; unknown ones are passed on as they are.
#include "plugins/load_text.h"

#include "base/printable.h"

namespace titan::plugins {
namespace {

/// The loader's own words: between "(dlerror system message: " and the last ')', without the path.
std::string_view loader_words(std::string_view raw, std::string_view path) {
  constexpr std::string_view kPrefix = "(dlerror system message: ";
  if (const size_t begin = raw.find(kPrefix); begin != std::string_view::npos) {
    raw.remove_prefix(begin + kPrefix.size());
    if (const size_t end = raw.rfind(')'); end != std::string_view::npos) raw = raw.substr(0, end);
  }
  if (!path.empty() && raw.starts_with(path) && raw.substr(path.size()).starts_with(": "))
    raw.remove_prefix(path.size() + 2);
  return raw;
}

}  // namespace

LoadText explain_load_failure(std::string_view raw, std::string_view path) {
  const std::string_view words = loader_words(raw, path);
  constexpr std::string_view kUndefined = "undefined symbol: ";
  constexpr std::string_view kMissing = ": cannot open shared object file";
  LoadText out;
  if (const size_t at = words.find(kUndefined); at != std::string_view::npos) {
    const std::string_view rest = words.substr(at + kUndefined.size());
    const std::string symbol = printable(rest.substr(0, rest.find_first_of(" \t(,")), 200);
    out.reason = "needs the symbol " + symbol + ", which nothing in this process defines";
    if (symbol.starts_with("aoti_torch_") || symbol.starts_with("torch_"))
      out.hint =
          "the LibTorch of this titan lacks it: use a newer one, or a CUDA build if the symbol is "
          "of CUDA";
    else
      out.hint =
          "link the library that defines it (-Wl,-z,defs finds this when the plugin is built)";
  } else if (const size_t end = words.find(kMissing); end != std::string_view::npos && end > 0) {
    const std::string library = printable(words.substr(0, end), 200);
    out.reason = "needs " + library + ", which was not found";
    out.hint =
        "install the package that has it, or put it beside the plugin and link that with "
        "-Wl,-rpath,'$ORIGIN'";
  } else if (words.find("static TLS block") != std::string_view::npos) {
    out.reason = "found no room for its static thread-local storage";
    out.hint =
        "compile it without -ftls-model=initial-exec, or raise "
        "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384";
  } else {
    out.reason = "cannot be loaded: " + printable(words, 400);
    out.hint = "check it with: ldd " + shell_path(path);
  }
  return out;
}

}  // namespace titan::plugins
