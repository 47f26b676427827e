#include "checkpoint/manifest.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"
#include "base/regular_file.h"
#include "checkpoint/safetensors_header.h"

namespace titan::checkpoint {
namespace {

using ManifestJson = nlohmann::ordered_json;

constexpr int64_t kMaxManifestBytes = int64_t{16} << 20;
constexpr const char* kManifestKind = "titan checkpoint";

std::string crc_text(uint32_t crc) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", crc);
  return text;
}

/// Takes values out of JSON that may be anything; every mistake names the file and the key.
class ManifestReader {
 public:
  ManifestReader(const ManifestJson& json, const std::string& where, std::string prefix = {})
      : json_(json), where_(where), prefix_(std::move(prefix)) {}

  [[noreturn]] void wrong(const std::string& what) const {
    throw data_error(what, where_,
                     "the checkpoint is damaged: remove its folder, or resume from another step "
                     "(checkpoint.load_step)");
  }
  const ManifestJson& at(const char* key) const {
    if (!json_.is_object() || !json_.contains(key)) wrong("there is no '" + prefix_ + key + "'");
    return json_.at(key);
  }
  int64_t count(const char* key) const {
    const ManifestJson& value = at(key);
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{INT64_MAX});
    if (!fits || value.get<int64_t>() < 0)
      wrong("'" + prefix_ + key + "' is no whole number of 0 or more");
    return value.get<int64_t>();
  }
  bool has(const char* key) const { return json_.is_object() && json_.contains(key); }
  /// 0 where it is absent: keys that older checkpoints do not have.
  int64_t count_or_0(const char* key) const { return has(key) ? count(key) : 0; }
  bool flag(const char* key) const {
    if (!at(key).is_boolean()) wrong("'" + prefix_ + key + "' is neither true nor false");
    return at(key).get<bool>();
  }
  std::string text(const char* key) const {
    if (!at(key).is_string()) wrong("'" + prefix_ + key + "' is no text");
    return at(key).get<std::string>();
  }
  std::map<std::string, std::string> texts(const char* key) const {
    std::map<std::string, std::string> result;
    for (const auto& [name, value] : object(key).items()) {
      if (!value.is_string()) wrong("'" + prefix_ + key + "." + shown_name(name) + "' is no text");
      result[name] = value.get<std::string>();
    }
    return result;
  }
  const ManifestJson& object(const char* key) const {
    if (!at(key).is_object()) wrong("'" + prefix_ + key + "' is no object");
    return at(key);
  }
  ManifestReader inside(const char* key) const {
    return {object(key), where_, prefix_ + key + "."};
  }

 private:
  const ManifestJson& json_;
  const std::string& where_;
  std::string prefix_;
};

ManifestJson position_json(const data::StreamPosition& position) {
  return {{"epoch", position.epoch},    {"document", position.document},
          {"byte", position.byte},      {"token", position.token},
          {"file", position.file},      {"offset", position.offset},
          {"ordinal", position.ordinal}};
}

data::StreamPosition read_position(const ManifestReader& position) {
  return {position.count("epoch"),       position.count("document"),  position.count("byte"),
          position.count("token"),       position.count_or_0("file"), position.count_or_0("offset"),
          position.count_or_0("ordinal")};
}

FileSum read_file_sum(const ManifestReader& file) {
  const std::string crc = file.text("crc32c");
  if (crc.size() != 8 || crc.find_first_not_of("0123456789abcdef") != std::string::npos)
    file.wrong("a crc32c is not made of 8 hexadecimal digits");
  return {file.count("bytes"), static_cast<uint32_t>(std::stoul(crc, nullptr, 16))};
}

}  // namespace

std::string ConverterRecord::text() const {
  std::string result = "'" + instance + "'";
  if (plugin.empty()) return result + " (built in)";
  result += " (plugin " + plugin + (version.empty() ? "" : " " + version) + ", " + file;
  return result + ", sha256 " + sha256.substr(0, 12) + ")";
}

std::string Manifest::owner_of(const std::string& stored_name) const {
  const std::string instance = stored_name.substr(0, stored_name.find('/'));
  for (const ConverterRecord& record : converters)
    if (record.instance == instance) return record.text();
  return "'" + shown_name(instance) + "'";
}

std::string format_manifest(const Manifest& manifest) {
  const RunPosition& position = manifest.position;
  ManifestJson json;
  json["kind"] = kManifestKind;
  json["format"] = Manifest::kFormat;
  json["made_by"] = manifest.made_by;
  json["model_only"] = manifest.model_only;
  json["step"] = position.step;
  json["tokens_seen"] = position.tokens_seen;
  json["schedule_step"] = position.schedule_step;
  json["skipped_steps"] = position.skipped_steps;
  json["skipped_in_a_row"] = position.skipped_in_a_row;
  json["loader"] = position_json(manifest.loader.position);
  json["loader"]["samples"] = manifest.loader.samples;
  json["loader"]["total_bytes"] = manifest.loader.total_bytes;
  json["loader"]["fingerprint"] = manifest.loader.fingerprint;
  if (!manifest.loader.parts.empty()) json["loader"]["parts"] = ManifestJson::array();
  for (const data::StreamPosition& part : manifest.loader.parts)
    json["loader"]["parts"].push_back(position_json(part));
  json["seed"] = manifest.seed;
  json["generators"] = ManifestJson(manifest.generators);
  json["settings"] = ManifestJson(manifest.settings);
  json["converters"] = ManifestJson::array();
  for (const ConverterRecord& record : manifest.converters)
    json["converters"].push_back({{"instance", record.instance},
                                  {"converter", record.converter},
                                  {"plugin", record.plugin},
                                  {"version", record.version},
                                  {"file", record.file},
                                  {"sha256", record.sha256}});
  json["files"] = ManifestJson::object();
  for (const auto& [name, sum] : manifest.files)
    json["files"][name] = {{"bytes", sum.bytes}, {"crc32c", crc_text(sum.crc32c)}};
  // Paths may hold bytes that are no UTF-8: they are replaced rather than refused.
  return json.dump(2, ' ', false, ManifestJson::error_handler_t::replace) + "\n";
}

Manifest parse_manifest(std::string_view text, const std::string& where) {
  const ManifestJson json = ManifestJson::parse(text, nullptr, /*allow_exceptions=*/false);
  const ManifestReader reader(json, where);
  if (!json.is_object() || reader.text("kind") != kManifestKind)
    reader.wrong("this is not the state of a titan checkpoint");
  if (const int64_t format = reader.count("format"); format != Manifest::kFormat)
    throw OtherFormatError(ExitStatus::kData,
                           "the checkpoint has format " + std::to_string(format) +
                               ", this titan reads format " + std::to_string(Manifest::kFormat),
                           where,
                           "resume with the titan that made it (" + reader.text("made_by") +
                               "), or start from its weights: checkpoint.initial_load_path");
  Manifest manifest;
  manifest.made_by = reader.text("made_by");
  manifest.model_only = reader.flag("model_only");
  manifest.position = {reader.count("step"), reader.count("tokens_seen"),
                       reader.count("schedule_step"), reader.count("skipped_steps"),
                       reader.count("skipped_in_a_row")};
  const ManifestReader loader = reader.inside("loader");
  manifest.loader.samples = loader.count("samples");
  manifest.loader.total_bytes = loader.count("total_bytes");
  manifest.loader.fingerprint = loader.count("fingerprint");
  manifest.loader.position = read_position(loader);
  if (loader.has("parts")) {
    if (!loader.at("parts").is_array()) reader.wrong("'loader.parts' is no list");
    for (const ManifestJson& part : loader.at("parts"))
      manifest.loader.parts.push_back(read_position({part, where, "loader.parts[]."}));
  }
  manifest.seed = reader.count("seed");
  manifest.generators = reader.texts("generators");
  manifest.settings = reader.texts("settings");
  if (!reader.at("converters").is_array()) reader.wrong("'converters' is no list");
  for (const ManifestJson& one : reader.at("converters")) {
    const ManifestReader record(one, where, "converters[].");
    manifest.converters.push_back({record.text("instance"), record.text("converter"),
                                   record.text("plugin"), record.text("version"),
                                   record.text("file"), record.text("sha256")});
  }
  const ManifestJson& files = reader.object("files");
  for (const auto& [name, value] : files.items())
    manifest.files[name] = read_file_sum({value, where, "files." + shown_name(name) + "."});
  if (!manifest.files.count(kModelFile)) reader.wrong("'files' does not list the model");
  if (!manifest.model_only && !manifest.files.count(kOptimizerFile))
    reader.wrong("'files' does not list the optimizer");
  return manifest;
}

Manifest read_manifest(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kManifestFile;
  const RegularFile file = RegularFile::open(path, "state of the checkpoint",
                                             "name the folder of a checkpoint that is complete");
  if (file.size() > kMaxManifestBytes)
    throw data_error("the state of the checkpoint has " + std::to_string(file.size()) +
                         " bytes, at most " + std::to_string(kMaxManifestBytes) + " are accepted",
                     path.string(), "remove the folder, or resume from another step");
  return parse_manifest(file.text(), path.string());
}

void verify_file(const std::filesystem::path& path, const FileSum& saved) {
  constexpr int64_t kChunk = int64_t{1} << 20;
  const char* fix = "resume from another step (checkpoint.load_step), or remove this one";
  const RegularFile file = RegularFile::open(path, "checkpoint file", fix);
  FileSum found{file.size(), 0};
  std::string chunk(static_cast<size_t>(std::min(file.size(), kChunk)), '\0');
  for (int64_t at = 0; at < file.size(); at += kChunk) {
    const int64_t size = std::min(kChunk, file.size() - at);
    file.read(at, chunk.data(), size);
    found.crc32c = crc32c(found.crc32c, {chunk.data(), static_cast<size_t>(size)});
  }
  if (found == saved) return;
  throw data_error("the file is damaged: it has " + std::to_string(found.bytes) +
                       " bytes with checksum " + crc_text(found.crc32c) + ", it was saved with " +
                       std::to_string(saved.bytes) + " and " + crc_text(saved.crc32c),
                   path.string(), fix);
}

std::optional<Manifest> verify_weights(const std::filesystem::path& file_or_folder) {
  std::error_code error;
  std::filesystem::path folder = file_or_folder;
  if (!std::filesystem::is_directory(folder, error)) {
    if (folder.filename() != kModelFile) return std::nullopt;
    folder = folder.has_parent_path() ? folder.parent_path() : std::filesystem::path(".");
  }
  if (!std::filesystem::exists(folder / kManifestFile, error)) return std::nullopt;
  Manifest manifest = read_manifest(folder);
  verify_file(folder / kModelFile, manifest.files.at(kModelFile));
  return manifest;
}

}  // namespace titan::checkpoint
