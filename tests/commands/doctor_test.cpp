/// What doctor calls a problem, each seen alone, and its two renderings.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "commands/doctor_checks.h"
#include "commands/doctor_report.h"

namespace titan::commands {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

/// A machine with one GPU on which nothing is wrong.
DoctorFacts healthy_facts() {
  DoctorFacts facts;
  facts.titan_version = "0.1.0";
  facts.api_level = 2;
  facts.torch.version = "2.11.0";
  facts.torch.build = "build";
  facts.torch.cpu_capability = "AVX2";
  facts.torch.flags = {{"USE_CUDA", "ON"},
                       {"CUDA_VERSION", "13.0"},
                       {"USE_GLOO", "ON"},
                       {"USE_NCCL", "1"},
                       {"USE_MPI", "OFF"}};
  facts.torch.threads = 4;
  facts.driver.found = facts.device_files = true;
  facts.driver.version = 13000;
  facts.driver.devices = {{"NVIDIA H200", 9, 0, 140 * kGiB}};
  facts.driver_release = "580.65.06";
  facts.cuda_runtime = 13000;
  facts.cublaslt = 130002;
  facts.nccl = 22703;
  facts.system.operating_system = "Debian 12";
  facts.system.processors = facts.system.processors_allowed = 4;
  facts.system.memory_bytes = 16 * kGiB;
  facts.system.memory_available_bytes = 8 * kGiB;
  facts.dump_folder = "/secret/outputs";
  facts.disk = {"/secret", 100 * kGiB, 50 * kGiB, true, false};
  facts.shared_memory = {"/dev/shm", 8 * kGiB, 8 * kGiB, true, false};
  facts.limits.open_files = 1024;
  facts.limits.open_files_hard = 65536;
  facts.locale = "C.UTF-8";
  facts.locale_codes = "UTF-8";
  facts.plugins.names = {"float8 0.1.0"};
  return facts;
}

struct DoctorCase {
  std::string named;  ///< in the problem
  std::string cured;  ///< in its fix
  std::function<void(DoctorFacts&)> harm;
};

TEST(DoctorTest, AHealthyMachineHasNoProblem) {
  const std::vector<Problem> problems = problems_of(healthy_facts());
  EXPECT_TRUE(problems.empty()) << problems.front().what;
}

TEST(DoctorTest, EveryProblemIsFoundAlone) {
  const auto two_gpus = [](DoctorFacts& facts) {
    facts.driver.devices.push_back(facts.driver.devices.front());
  };
  const std::vector<DoctorCase> cases = {
      {"libcuda.so.1", "--gpus all", [](auto& f) { f.driver = {}; }},
      {"error 803", "nvidia-smi",
       [](auto& f) {
         f.driver.error = 803;
         f.driver.devices.clear();
       }},
      {"CUDA_VISIBLE_DEVICES is '7'", "unset",
       [](auto& f) {
         f.driver.error = 100;
         f.driver.devices.clear();
         f.environment["CUDA_VISIBLE_DEVICES"] = "7";
       }},
      {"without CUDA", "TITAN_TORCH_ROOT", [](auto& f) { f.torch.flags["USE_CUDA"] = "OFF"; }},
      {"up to 12.8, LibTorch is built for CUDA 13.0", "update the driver",
       [](auto& f) { f.driver.version = 12080; }},
      {"cannot be opened: no libcupti", "--cuda",
       [](auto& f) { f.torch_cuda_problem = "no libcupti"; }},
      {"cuBLASLt", "cuBLAS", [](auto& f) { f.cublaslt = 0; }},
      {"NCCL", "NCCL",
       [&](auto& f) {
         two_gpus(f);
         f.nccl = 0;
       }},
      {"/dev/shm has 0.06GiB", "--shm-size",
       [&](auto& f) {
         two_gpus(f);
         f.shared_memory.total_bytes = kGiB / 16;
       }},
      {"nothing can be found out", "job.dump_folder", [](auto& f) { f.disk = {}; }},
      {"/secret cannot be written", "job.dump_folder", [](auto& f) { f.disk.writable = false; }},
      {"no inodes", "job.dump_folder", [](auto& f) { f.disk.no_inodes = true; }},
      {"0.50GiB free", "job.dump_folder", [](auto& f) { f.disk.free_bytes = kGiB / 2; }},
      {"0.25GiB of 16.00GiB memory", "close programs",
       [](auto& f) { f.system.memory_available_bytes = kGiB / 4; }},
      {"allows it 0.50GiB", "--memory", [](auto& f) { f.system.memory_limit_bytes = kGiB / 2; }},
      {"8 threads, but this process has 4 processors", "OMP_NUM_THREADS=4",
       [](auto& f) { f.torch.threads = 8; }},
      {"has 2 processors", "OMP_NUM_THREADS=2", [](auto& f) { f.system.processor_quota = 1.5; }},
      {"may open 256 files", "ulimit -n 65536", [](auto& f) { f.limits.open_files = 256; }},
      {"grow to 1.00GiB", "ulimit -f unlimited", [](auto& f) { f.limits.file_bytes = kGiB; }},
      {"address space is limited to 64.00GiB", "ulimit -v unlimited",
       [](auto& f) { f.limits.address_space_bytes = 64 * kGiB; }},
      {"locale 'xx_YY'", "C.UTF-8",
       [](auto& f) {
         f.locale = "xx_YY";
         f.locale_codes = "";
       }},
      {"plugin x", "rebuild it",
       [](auto& f) {
         f.plugins.problems = {{"plugin x is refused", "rebuild it"}};
       }},
  };
  for (const DoctorCase& one : cases) {
    DoctorFacts facts = healthy_facts();
    one.harm(facts);
    const std::vector<Problem> problems = problems_of(facts);
    ASSERT_EQ(problems.size(), 1u) << one.named;
    EXPECT_NE(problems[0].what.find(one.named), std::string::npos) << problems[0].what;
    EXPECT_NE(problems[0].fix.find(one.cured), std::string::npos) << problems[0].fix;
    const std::string text = doctor_text(facts, problems);
    EXPECT_NE(text.find("problem: " + problems[0].what + "\n  fix: " + problems[0].fix + "\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("\n1 problem(s)\n"), std::string::npos) << text;
  }
}

TEST(DoctorTest, WhatACpuNeedsNotIsNoProblem) {
  DoctorFacts facts = healthy_facts();
  facts.driver = {};
  facts.device_files = false;
  facts.cublaslt = facts.nccl = facts.cuda_runtime = 0;
  facts.shared_memory = {};
  facts.torch.flags.clear();
  EXPECT_TRUE(problems_of(facts).empty());
  facts.limits.address_space_bytes = 64 * kGiB;
  EXPECT_TRUE(problems_of(facts).empty());
  facts.limits.address_space_bytes = 4 * kGiB;
  EXPECT_EQ(problems_of(facts).size(), 1u);
}

TEST(DoctorTest, TheBlockForBugReportsHasVersionsAndNoPaths) {
  const std::string text = doctor_text(healthy_facts(), {});
  EXPECT_NE(text.find("/secret/outputs: 50.00GiB free of 100.00GiB"), std::string::npos) << text;
  const size_t begin = text.find("```\n"), end = text.rfind("```\n");
  ASSERT_LT(begin, end);
  const std::string block = text.substr(begin, end - begin);
  EXPECT_EQ(block.find("secret"), std::string::npos) << block;
  for (const char* part :
       {"0.1.0, plugin API level 2", "2.11.0 (build), AVX2; built with NCCL, gloo, CUDA 13.0",
        "580.65.06, runs CUDA up to 13.0", "13.0.2", "2.27.3",
        "NVIDIA H200, capability 9.0, 140.00GiB", "float8 0.1.0"})
    EXPECT_NE(block.find(part), std::string::npos) << part << "\n" << block;
}

TEST(DoctorTest, JsonHoldsTheNumbers) {
  DoctorFacts facts = healthy_facts();
  facts.environment["OMP_PLACES"] = "\xff";
  const auto json = nlohmann::json::parse(doctor_json(facts, {{"a", "b"}}));
  EXPECT_EQ(json["healthy"], false);
  EXPECT_EQ(json["problems"], (nlohmann::json{{{"what", "a"}, {"fix", "b"}}}));
  EXPECT_EQ(json["cuda"]["devices"][0]["capability"], (nlohmann::json{9, 0}));
  EXPECT_EQ(json["limits"]["open_files"], 1024);
  EXPECT_TRUE(json["limits"]["file_bytes"].is_null());
  EXPECT_EQ(json["torch"]["flags"]["USE_GLOO"], "ON");
  EXPECT_EQ(json["disk"]["dump_folder"]["free_bytes"], 50 * kGiB);
  EXPECT_EQ(nlohmann::json::parse(doctor_json(facts, {}))["healthy"], true);
}

}  // namespace
}  // namespace titan::commands
