/// Expects an error of a status whose rendering names what a user needs.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/error.h"

namespace titan::test {

/// Runs `action`, expects a titan::Error of that status whose rendering holds every one of `parts`;
/// unless the status is kInternal it must have a hint.
template <class Action>
void expect_error(ExitStatus status, std::initializer_list<std::string_view> parts, Action action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string text = error.render();
    EXPECT_EQ(static_cast<int>(error.status()), static_cast<int>(status)) << text;
    if (status != ExitStatus::kInternal) {
      EXPECT_FALSE(error.hint().empty()) << text;
    }
    for (const std::string_view part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is missing in:\n" << text;
    return;
  } catch (const std::exception& error) {
    FAIL() << "another exception: " << error.what();
  }
  FAIL() << "nothing was thrown";
}

}  // namespace titan::test
