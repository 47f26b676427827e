/// What a plugin may declare about its converters.
#include "config/schema_check.h"

#include "config_files.h"
#include "converter_schemas.h"

namespace titan::config {
namespace {

TEST(SchemaCheck, AcceptsGoodSchemas) {
  for (const ConverterSchema& schema : schemas()) EXPECT_NO_THROW(validate_schema(schema));
  EXPECT_NO_THROW(validate_schema({"with.dots-and_dashes", "", "", {}}));
}

/// validate_schema() must refuse the float8 schema after `change`, naming converter and origin.
void expect_defect(const std::function<void(ConverterSchema&)>& change, const std::string& what) {
  ConverterSchema schema = float8_schema();
  change(schema);
  const Error error = usage_error_of([&] { validate_schema(schema); });
  expect_error(error, what, "/plugins/libfloat8.so", "");
  EXPECT_NE(std::string(error.what()).find(schema.name), std::string::npos);
}

TEST(SchemaCheck, RefusesBadNames) {
  for (const char* name : {"", "Float8", "8bit", "a b", "training", "model.args", "lr-scheduler"})
    expect_defect([&](ConverterSchema& s) { s.name = name; }, "the converter name");
  for (const char* name : {"", "Recipe", "a-b", "a.b", "1a"})
    expect_defect([&](ConverterSchema& s) { s.options[0].name = name; }, "is no option name");
  for (const char* name : {"use", "as", "include", "exclude", "filter_fqns"}) {
    expect_defect([&](ConverterSchema& s) { s.options[0].name = name; }, "is reserved");
    expect_defect([&](ConverterSchema& s) { s.options[0].aliases = {name}; }, "is reserved");
  }
  expect_defect([](ConverterSchema& s) { s.options[1].name = "recipe"; }, "declared twice");
  expect_defect([](ConverterSchema& s) { s.options[1].aliases = {"recipe_name"}; },
                "declared twice");
}

TEST(SchemaCheck, RefusesBadLimits) {
  expect_defect([](ConverterSchema& s) { s.options[0].min = 1; }, "is no number");
  expect_defect([](ConverterSchema& s) { s.options[1].min = 2000; }, "empty range");
  expect_defect([](ConverterSchema& s) { s.options[2].max = 0; }, "empty range");
  expect_defect([](ConverterSchema& s) { s.options[1].max = 1.0 / 0.0; }, "not finite");
  expect_defect([](ConverterSchema& s) { s.options[0].values.clear(); }, "enum without values");
  expect_defect([](ConverterSchema& s) { s.options[1].values = {"a"}; }, "is no enum");
  expect_defect([](ConverterSchema& s) { s.options[0].values.push_back("rowwise"); }, "twice");
}

TEST(SchemaCheck, RefusesBadDefaults) {
  expect_defect([](ConverterSchema& s) { s.options[0].default_value = one("none"); },
                "the default of float8.recipe must be one of");
  expect_defect([](ConverterSchema& s) { s.options[1].default_value = one(int64_t{0}); },
                "must be from 1 to 1024");
  expect_defect([](ConverterSchema& s) { s.options[2].default_value = one(0.0); },
                "must be above 0.0");
  expect_defect([](ConverterSchema& s) { s.options[1].default_value = one(1.0); }, "another type");
  expect_defect([](ConverterSchema& s) { s.options[4].default_value = one("true"); },
                "another type");
  expect_defect(
      [](ConverterSchema& s) {
        s.options[1].default_value = OptionValue{true, {}};
      },
      "unlike the option");
  expect_defect(
      [](ConverterSchema& s) {
        s.options[1].default_value = OptionValue{false, {}};
      },
      "unlike the option");
  expect_defect([](ConverterSchema& s) { s.options[3].default_value = one("x"); },
                "unlike the option");
}

}  // namespace
}  // namespace titan::config
