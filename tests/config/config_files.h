/// Helpers of the config tests: real files in a folder that goes away, and checks of errors.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "config/load.h"

namespace titan::config {

/// A folder below the system's temporary folder, removed with all it holds.
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "titan-config-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

/// Pass 1 on a file "debug.yaml" with this text.
inline LoadedConfig load_text(const std::string& text,
                              const std::vector<std::string>& overrides = {}) {
  const TempFolder folder;
  return load_config(folder.write("debug.yaml", text), overrides);
}

/// Pass 1 without a file.
inline LoadedConfig load_options(const std::vector<std::string>& overrides) {
  return load_config(std::nullopt, overrides);
}

/// The usage error that `action` must throw. Its hint is never empty.
inline Error usage_error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::kUsage) << error.render();
    EXPECT_FALSE(error.hint().empty()) << error.render();
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return usage_error("", "", "");
}

inline bool ends_with(const std::string& text, const std::string& ending) {
  return text.size() >= ending.size() &&
         text.compare(text.size() - ending.size(), ending.size(), ending) == 0;
}

/// The error's message, place and hint contain these; an empty part is not checked. The place is
/// compared at its end, because files lie in folders with random names.
inline void expect_error(const Error& error, const std::string& what, const std::string& where,
                         const std::string& hint) {
  EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.render();
  EXPECT_TRUE(ends_with(error.where(), where)) << "wanted " << where << " in " << error.render();
  EXPECT_NE(error.hint().find(hint), std::string::npos) << error.render();
}

inline void expect_load_error(const std::string& yaml, const std::string& what,
                              const std::string& where, const std::string& hint) {
  SCOPED_TRACE(yaml);
  expect_error(usage_error_of([&] { load_text(yaml); }), what, where, hint);
}

inline void expect_option_error(const std::vector<std::string>& options, const std::string& what,
                                const std::string& where, const std::string& hint) {
  SCOPED_TRACE(options.front());
  expect_error(usage_error_of([&] { load_options(options); }), what, where, hint);
}

}  // namespace titan::config
