#include "observe/run_file.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/regular_file.h"

namespace titan::observe {
namespace {

using RunJson = nlohmann::ordered_json;

RunJson converter_json(const checkpoint::ConverterRecord& record) {
  return {{"instance", record.instance}, {"converter", record.converter},
          {"plugin", record.plugin},     {"version", record.version},
          {"file", record.file},         {"sha256", record.sha256}};
}

RunJson session_json(const RunSession& session) {
  return {{"began", session.began},
          {"ended", session.ended ? RunJson(*session.ended) : RunJson(nullptr)},
          {"first_step", session.first_step},
          {"last_step", session.last_step},
          {"outcome", session.outcome}};
}

/// `json[key]` if it has that type; else what `value` holds stays.
template <class Value>
void take(const RunJson& json, const char* key, Value& value) {
  const auto found = json.find(key);
  if (found == json.end()) return;
  try {
    found->get_to(value);
  } catch (
      const RunJson::exception&) {  // of a newer titan, or changed by hand: as if it were missing
  }
}

template <class Each>
void for_each_object(const RunJson& json, const char* key, Each each) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_array()) return;
  for (const RunJson& item : *found)
    if (item.is_object()) each(item);
}

}  // namespace

std::string format_run_file(const RunFile& run) {
  RunJson json = {{"kind", "titan run"},
                  {"made_by", run.made_by},
                  {"parameters", run.parameters},
                  {"flops_per_token", run.flops_per_token},
                  {"device", run.device},
                  {"device_memory_bytes", run.device_memory_bytes},
                  {"system", run.system},
                  {"processors", run.processors},
                  {"sessions", RunJson::array()},
                  {"warnings", run.warnings},
                  {"more_warnings", run.more_warnings},
                  {"notes", run.notes},
                  {"converters", RunJson::array()},
                  {"config", run.config}};
  for (const RunSession& session : run.sessions) json["sessions"].push_back(session_json(session));
  for (const auto& record : run.converters) json["converters"].push_back(converter_json(record));
  // Paths and texts of plugins may hold any bytes.
  return json.dump(1, ' ', false, RunJson::error_handler_t::replace) + "\n";
}

RunFile parse_run_file(const std::string& text, const std::string& where) {
  const RunJson json = RunJson::parse(text, nullptr, false);
  if (!json.is_object())
    throw data_error("this is no run file of titan", where,
                     "remove it; the next run into this folder writes another");
  RunFile run;
  take(json, "made_by", run.made_by);
  take(json, "parameters", run.parameters);
  take(json, "flops_per_token", run.flops_per_token);
  take(json, "device", run.device);
  take(json, "device_memory_bytes", run.device_memory_bytes);
  take(json, "system", run.system);
  take(json, "processors", run.processors);
  take(json, "warnings", run.warnings);
  take(json, "more_warnings", run.more_warnings);
  take(json, "notes", run.notes);
  take(json, "config", run.config);
  for_each_object(json, "sessions", [&](const RunJson& item) {
    RunSession session;
    double ended = -1;
    take(item, "began", session.began);
    take(item, "ended", ended);
    if (ended >= 0) session.ended = ended;
    take(item, "first_step", session.first_step);
    take(item, "last_step", session.last_step);
    take(item, "outcome", session.outcome);
    run.sessions.push_back(session);
  });
  for_each_object(json, "converters", [&](const RunJson& item) {
    checkpoint::ConverterRecord record;
    take(item, "instance", record.instance);
    take(item, "converter", record.converter);
    take(item, "plugin", record.plugin);
    take(item, "version", record.version);
    take(item, "file", record.file);
    take(item, "sha256", record.sha256);
    run.converters.push_back(record);
  });
  return run;
}

std::optional<RunFile> read_run_file(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kRunFileName;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  const RegularFile file = RegularFile::open(path, "run file", "name the dump folder of a run");
  return parse_run_file(file.text(), path.string());
}

}  // namespace titan::observe
