/// The documentation of keys comes from the table that checks them.
#include "config/explain.h"

#include "config/fields.h"
#include "config_files.h"
#include "converter_schemas.h"

namespace titan::config {
namespace {

TEST(Explain, OneKey) {
  EXPECT_EQ(explain("optimizer.lr", {}),
            "optimizer.lr\n"
            "  peak learning rate\n"
            "  type:     number, from 0.0 to 1e+30\n"
            "  default:  0.0008\n"
            "  option:   --optimizer.lr=VALUE\n");
  EXPECT_NE(explain("lr_scheduler.decay_ratio", {}).find("or null"), std::string::npos);
  EXPECT_NE(explain("lr_scheduler.decay_type", {}).find("one of linear, sqrt, cosine"),
            std::string::npos);
}

TEST(Explain, OneOptionOfAConverter) {
  const std::string text = explain("float8.recipe_name", schemas());
  EXPECT_EQ(text.rfind("float8.recipe\n", 0), 0u) << text;
  EXPECT_NE(text.find("also:     recipe_name"), std::string::npos) << text;
  EXPECT_NE(explain("lora.rank", schemas()).find("it must be given"), std::string::npos);
}

TEST(Explain, SectionsAndEverything) {
  const std::string section = explain("optimizer", schemas());
  EXPECT_NE(section.find("optimizer.beta1"), std::string::npos);
  EXPECT_EQ(section.find("training.steps"), std::string::npos);
  EXPECT_NE(explain("model", {}).find("model.args.dim"), std::string::npos);
  EXPECT_NE(explain("float8", schemas()).find("float8.history"), std::string::npos);
  const std::string all = explain("", schemas());
  for (const std::string& name : all_full_names())
    EXPECT_NE(all.find(name), std::string::npos) << name;
  EXPECT_NE(all.find("lora.rank"), std::string::npos);
}

TEST(Explain, UnknownNamesSuggestTheNearest) {
  expect_error(usage_error_of([] { explain("optimizer.lrr", {}); }), "no key or section", "",
               "did you mean 'optimizer.lr'?");
  expect_error(usage_error_of([] { explain("float8.recip", schemas()); }), "", "",
               "did you mean 'float8.recipe'?");
}

}  // namespace
}  // namespace titan::config
