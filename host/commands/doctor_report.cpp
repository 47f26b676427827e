#include "commands/doctor_report.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/numbers.h"
#include "base/printable.h"
#include "base/table.h"
#include "base/text_list.h"
#include "commands/doctor_checks.h"

namespace titan::commands {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;
using DoctorJson = nlohmann::ordered_json;

std::string torch_text(const TorchFacts& torch) {
  std::vector<std::string> parts;
  for (const auto& [flag, name] : {std::pair("USE_MKL", "MKL"), std::pair("USE_MKLDNN", "oneDNN"),
                                   std::pair("USE_OPENMP", "OpenMP"), std::pair("USE_NCCL", "NCCL"),
                                   std::pair("USE_GLOO", "gloo"), std::pair("USE_MPI", "MPI")})
    if (torch.has(flag)) parts.emplace_back(name);
  const auto cuda = torch.flags.find("CUDA_VERSION");
  parts.push_back(torch.has("USE_CUDA") && cuda != torch.flags.end() ? "CUDA " + cuda->second
                                                                     : "no CUDA");
  return torch.version + " (" + torch.build + "), " + torch.cpu_capability + "; built with " +
         joined(parts);
}

std::string driver_text(const DoctorFacts& facts) {
  if (!facts.driver.found) return "none (training on the CPU needs none)";
  std::string text = facts.driver_release.empty() ? "found" : facts.driver_release;
  if (facts.driver.version > 0)
    text += ", runs CUDA up to " + cuda_version_text(facts.driver.version);
  if (facts.driver.devices.empty()) text += ", shows no device";
  return text;
}

std::string or_none(int32_t version, const std::string& text) {
  return version > 0 ? text : "not found";
}

/// 130100 → "13.1.0", 22703 → "2.27.3".
std::string three_parts(int32_t version) {
  return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

/// What programs are there, and on what: nothing of it names a user or a path.
Rows version_rows(const DoctorFacts& facts) {
  const observe::SystemFacts& system = facts.system;
  Rows rows = {
      {"titan", facts.titan_version + ", plugin API level " + std::to_string(facts.api_level)},
      {"LibTorch", torch_text(facts.torch)},
      {"CUDA driver", driver_text(facts)},
      {"CUDA runtime", or_none(facts.cuda_runtime, cuda_version_text(facts.cuda_runtime))},
      {"cuBLASLt", or_none(facts.cublaslt, three_parts(facts.cublaslt))},
      {"NCCL", or_none(facts.nccl, three_parts(facts.nccl))}};
  for (size_t i = 0; i < facts.driver.devices.size(); ++i) {
    const train::CudaDevice& device = facts.driver.devices[i];
    rows.emplace_back("GPU " + std::to_string(i),
                      device.name + ", capability " + std::to_string(device.capability_major) +
                          "." + std::to_string(device.capability_minor) + ", " +
                          gib(device.memory_bytes));
  }
  rows.emplace_back("system", system.operating_system +
                                  (system.operating_system.empty() ? "" : ", ") + system.kernel +
                                  ", " + system.c_library);
  std::string processors = std::to_string(system.processors) + " x " +
                           (system.processor.empty() ? "processor" : system.processor);
  if (usable_processors(system) < system.processors)
    processors += ", " + std::to_string(usable_processors(system)) + " for this process";
  rows.emplace_back("processors", processors + "; LibTorch uses " +
                                      std::to_string(facts.torch.threads) + " threads");
  rows.emplace_back("memory",
                    gib(system.memory_bytes) + ", " + gib(system.memory_available_bytes) +
                        " available" +
                        (system.memory_limit_bytes > 0
                             ? ", limit of the control group " + gib(system.memory_limit_bytes)
                             : ""));
  rows.emplace_back("swap", system.swap_bytes == 0 ? "none"
                                                   : gib(system.swap_bytes) + ", " +
                                                         gib(system.swap_free_bytes) + " free");
  rows.emplace_back("plugins", facts.plugins.names.empty() ? "none" : joined(facts.plugins.names));
  return rows;
}

std::string disk_text(const observe::DiskSpace& disk) {
  return gib(disk.free_bytes) + " free of " + gib(disk.total_bytes);
}

std::string bytes_limit_text(const std::optional<uint64_t>& limit) {
  return limit ? gib(*limit) : "unlimited";
}

std::string count_limit_text(const std::optional<uint64_t>& limit) {
  return limit ? std::to_string(*limit) : "unlimited";
}

Rows surroundings_rows(const DoctorFacts& facts) {
  std::vector<std::string> variables;
  for (const auto& [name, value] : facts.environment)
    variables.push_back(name + "=" + printable_path(value));
  const ProcessLimits& limits = facts.limits;
  return {
      {"environment",
       variables.empty() ? "nothing set for OpenMP, CUDA, NCCL" : joined(variables, " ")},
      {"dump folder", printable_path(facts.dump_folder) + ": " + disk_text(facts.disk)},
      {"/dev/shm", facts.shared_memory.total_bytes == 0 ? "none" : disk_text(facts.shared_memory)},
      {"limits", "open files " + count_limit_text(limits.open_files) + " (at most " +
                     count_limit_text(limits.open_files_hard) + "), file size " +
                     bytes_limit_text(limits.file_bytes) + ", address space " +
                     bytes_limit_text(limits.address_space_bytes) + ", locked memory " +
                     bytes_limit_text(limits.locked_bytes)},
      {"locale", (facts.locale.empty() ? std::string("C") : printable(facts.locale, 80)) + ", " +
                     (facts.locale_codes.empty() ? "not installed" : facts.locale_codes)}};
}

std::string table_of(const Rows& rows) {
  Table table;
  for (const auto& [key, value] : rows) table.add_row({key, value});
  return table.render();
}

DoctorJson limit_json(const std::optional<uint64_t>& limit) {
  return limit ? DoctorJson(*limit) : DoctorJson(nullptr);
}

DoctorJson cuda_json(const DoctorFacts& facts) {
  DoctorJson devices = DoctorJson::array();
  for (const train::CudaDevice& device : facts.driver.devices)
    devices.push_back({{"name", printable(device.name)},
                       {"capability", {device.capability_major, device.capability_minor}},
                       {"memory_bytes", device.memory_bytes}});
  return {{"driver_found", facts.driver.found},
          {"driver_release", facts.driver_release},
          {"driver_cuda_version", facts.driver.version},
          {"runtime_version", facts.cuda_runtime},
          {"cublaslt_version", facts.cublaslt},
          {"nccl_version", facts.nccl},
          {"devices", devices}};
}

DoctorJson disk_json(const observe::DiskSpace& disk) {
  return {{"free_bytes", disk.free_bytes},
          {"total_bytes", disk.total_bytes},
          {"writable", disk.writable}};
}

}  // namespace

std::string doctor_text(const DoctorFacts& facts, const std::vector<Problem>& problems) {
  const Rows versions = version_rows(facts);
  Rows rows = versions;
  for (auto& row : surroundings_rows(facts)) rows.push_back(std::move(row));
  std::string text = table_of(rows) + "\n";
  for (const Problem& problem : problems)
    text += "problem: " + problem.what + "\n  fix: " + problem.fix + "\n";
  text +=
      problems.empty() ? "no problems found\n" : std::to_string(problems.size()) + " problem(s)\n";
  return text + "\nfor a bug report:\n```\n" + table_of(versions) + "```\n";
}

std::string doctor_json(const DoctorFacts& facts, const std::vector<Problem>& problems) {
  DoctorJson listed = DoctorJson::array();
  for (const Problem& problem : problems)
    listed.push_back({{"what", problem.what}, {"fix", problem.fix}});
  const observe::SystemFacts& system = facts.system;
  const ProcessLimits& limits = facts.limits;
  const DoctorJson out = {
      {"healthy", problems.empty()},
      {"problems", listed},
      {"titan", {{"version", facts.titan_version}, {"api_level", facts.api_level}}},
      {"torch",
       {{"version", facts.torch.version},
        {"build", facts.torch.build},
        {"cpu_capability", facts.torch.cpu_capability},
        {"threads", facts.torch.threads},
        {"flags", facts.torch.flags}}},
      {"cuda", cuda_json(facts)},
      {"system",
       {{"operating_system", system.operating_system},
        {"kernel", system.kernel},
        {"c_library", system.c_library},
        {"processor", system.processor},
        {"processors", system.processors},
        {"processors_allowed", system.processors_allowed},
        {"processor_quota", system.processor_quota},
        {"memory_bytes", system.memory_bytes},
        {"memory_available_bytes", system.memory_available_bytes},
        {"memory_limit_bytes", system.memory_limit_bytes > 0 ? DoctorJson(system.memory_limit_bytes)
                                                             : DoctorJson(nullptr)},
        {"swap_bytes", system.swap_bytes},
        {"swap_free_bytes", system.swap_free_bytes}}},
      {"disk",
       {{"dump_folder", disk_json(facts.disk)}, {"shared_memory", disk_json(facts.shared_memory)}}},
      {"limits",
       {{"open_files", limit_json(limits.open_files)},
        {"open_files_hard", limit_json(limits.open_files_hard)},
        {"file_bytes", limit_json(limits.file_bytes)},
        {"address_space_bytes", limit_json(limits.address_space_bytes)},
        {"locked_bytes", limit_json(limits.locked_bytes)}}},
      {"locale", {{"name", facts.locale}, {"codes", facts.locale_codes}}},
      {"environment", facts.environment},
      {"plugins", facts.plugins.names}};
  // Names of plugins and variables may hold any bytes.
  return out.dump(2, ' ', false, DoctorJson::error_handler_t::replace);
}

}  // namespace titan::commands
