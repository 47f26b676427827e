/// What can only be checked by running: inline state is shared, helpers do what they say.
#include <gtest/gtest.h>

#include <string>

#include "linked_twice.h"
#include "plugins/descriptor.h"

namespace {

TEST(Abi, TheHostPointerIsOneObjectInBothTranslationUnits) {
  EXPECT_EQ(&titan::sdk::host_pointer(), address_of_host_pointer_here());
}

TEST(Abi, SizedFillsTheSizeAndZeroesTheRest) {
  const titan_converter converter = TITAN_SIZED(titan_converter);
  EXPECT_EQ(converter.struct_size, sizeof(titan_converter));
  EXPECT_EQ(converter.flags, 0u);
  EXPECT_EQ(converter.convert, nullptr);
}

TEST(Abi, EqualComparesWholeStrings) {
  const auto equal = [](const std::string& a, const std::string& b) {
    return titan_equal({a.data(), a.size()}, b.c_str()) != 0;
  };
  EXPECT_TRUE(equal("linear", "linear"));
  EXPECT_FALSE(equal("linear", "linea"));
  EXPECT_FALSE(equal("linea", "linear"));
  EXPECT_FALSE(equal(std::string("a\0b", 3), "a"));
  EXPECT_TRUE(titan_equal({nullptr, 0}, ""));
}

TEST(Abi, HostKnowsTheFirstSizeOfAConverter) {
  // Rule T-7: the smallest struct_size that is accepted never rises.
  EXPECT_EQ(titan::plugins::kConverterV1Size, 64u);
}

/// A table that ends after record_layout, as one of level 1 does.
TEST(Abi, HostHasSaysWhetherATableReachesAFunction) {
  titan_host table = TITAN_SIZED(titan_host);
  titan::sdk::host_pointer() = &table;
  EXPECT_TRUE(titan::sdk::host_has(&titan_host::set_error));
  EXPECT_TRUE(titan::sdk::host_has(&titan_host::call_grad_accumulated));
  table.struct_size = offsetof(titan_host, record_prediction);
  EXPECT_TRUE(titan::sdk::host_has(&titan_host::record_layout));
  EXPECT_FALSE(titan::sdk::host_has(&titan_host::record_prediction));
  // Half of a function is none.
  table.struct_size += sizeof(void*) / 2;
  EXPECT_FALSE(titan::sdk::host_has(&titan_host::record_prediction));
  table.struct_size += sizeof(void*) / 2;
  EXPECT_TRUE(titan::sdk::host_has(&titan_host::record_prediction));
  EXPECT_FALSE(titan::sdk::host_has(&titan_host::call_grad_accumulator));
  titan::sdk::host_pointer() = nullptr;
}

}  // namespace
