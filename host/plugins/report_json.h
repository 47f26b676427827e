/// JSON of a catalog, shared by the reports. Includes nlohmann's header, which the room keeps to
/// itself.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "config/option_schema.h"
#include "plugins/catalog.h"

namespace titan::plugins {

using ReportJson = nlohmann::ordered_json;

std::string report_path(const std::filesystem::path& path);
/// "int", "list[string]".
std::string type_text(const config::OptionSchema& option);
ReportJson value_json(const config::OptionValue& value);
/// What the note claims about a converter's numbers.
ConverterClaims claims_of(const PluginDescription& plugin, const std::string& converter);
/// All that is known of one file: its verdict, its gates, its description.
ReportJson plugin_json(const JudgedPlugin& judged);
/// {"searched", "plugins", "duplicates", "notices"}.
ReportJson catalog_json(const Catalog& catalog);
std::string dump_report(const ReportJson& json);

}  // namespace titan::plugins
