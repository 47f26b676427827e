/// Speed and utilisation against numbers worked out by hand, and peaks of devices by name.
#include "observe/throughput.h"

#include <gtest/gtest.h>

#include "observe/peak_flops.h"

namespace titan::observe {
namespace {

TEST(ThroughputTest, FollowsTorchtitansDefinitions) {
  // 8192 tokens in 4 s; Llama 3 8B at 8192 takes 57,914,449,920 FLOPs a token:
  // 2048 * 57.91444992e9 = 1.18608793e14 FLOPs a second, 11.9928% of 989e12.
  const Throughput speed = throughput(8192, 4.0, 57914449920.0, 989e12);
  EXPECT_DOUBLE_EQ(speed.tps, 2048.0);
  EXPECT_NEAR(speed.tflops, 118.60879343616, 1e-9);
  ASSERT_TRUE(speed.mfu);
  EXPECT_NEAR(*speed.mfu, 11.9928001451, 1e-8);
}

TEST(ThroughputTest, WithoutAPeakThereIsNoUtilisation) {
  const Throughput speed = throughput(100, 2.0, 1e9, std::nullopt);
  EXPECT_DOUBLE_EQ(speed.tps, 50.0);
  EXPECT_DOUBLE_EQ(speed.tflops, 0.05);
  EXPECT_FALSE(speed.mfu);
}

TEST(ThroughputTest, NoTimeIsNotInfiniteSpeed) {
  const Throughput speed = throughput(100, 0.0, 1e9, 1e12);
  EXPECT_EQ(speed.tps, 0.0);
  EXPECT_EQ(speed.mfu, 0.0);
}

TEST(PeakFlopsTest, KnownDevices) {
  const auto bf16 = [](const char* name) { return peak_flops(name, MatrixType::kBfloat16); };
  EXPECT_EQ(bf16("NVIDIA A100-SXM4-80GB"), 312e12);
  EXPECT_EQ(bf16("NVIDIA A100 80GB PCIe"), 312e12);
  EXPECT_EQ(bf16("NVIDIA H100 80GB HBM3"), 989e12);
  EXPECT_EQ(bf16("NVIDIA H100 NVL"), 835e12);
  EXPECT_EQ(bf16("NVIDIA H100 PCIe"), 756e12);
  EXPECT_EQ(bf16("NVIDIA H200"), 989e12);
  EXPECT_EQ(bf16("NVIDIA H20"), 148e12);
  EXPECT_EQ(bf16("NVIDIA B200"), 2.25e15);
}

TEST(PeakFlopsTest, Float8IsTwiceAsFastWhereItExists) {
  for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA H100 NVL", "NVIDIA H100 PCIe",
                           "NVIDIA H200", "NVIDIA H20", "NVIDIA B200"}) {
    const double bf16 = peak_flops(name, MatrixType::kBfloat16).value();
    EXPECT_NEAR(peak_flops(name, MatrixType::kFloat8).value(), 2 * bf16, 0.002 * bf16) << name;
  }
  EXPECT_FALSE(peak_flops("NVIDIA A100-SXM4-80GB", MatrixType::kFloat8));
}

TEST(PeakFlopsTest, WhatIsNotInTheTableIsNotGuessed) {
  for (const char* name :
       {"", "NVIDIA GeForce RTX 4090", "NVIDIA GH200 480GB", "NVIDIA GB200", "NVIDIA A10", "H2000",
        "NVIDIA H100 80GB HBM3 MIG 1g.10gb", "Intel(R) Xeon(R) Processor", "AMD Instinct MI300X"})
    EXPECT_FALSE(peak_flops(name, MatrixType::kBfloat16)) << name;
}

}  // namespace
}  // namespace titan::observe
