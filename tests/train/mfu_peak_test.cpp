/// Which peak a run is measured against: by device name and by what converters declare.
#include "train/mfu_peak.h"

#include <gtest/gtest.h>

namespace titan::train {
namespace {

class MfuPeakTest : public testing::Test {
 protected:
  MfuPeakTest() {
    const auto never = [](const converters::CreateContext&) {
      return std::unique_ptr<converters::ModelConverter>();
    };
    registry_.register_model_converter({"narrow", "", "test", {}, "float8"}, never);
    registry_.register_model_converter({"wide", "", "test", {}}, never);
    device_.cuda = true;
    device_.name = "NVIDIA H200";
  }
  MfuPeak peak(const std::vector<std::string>& applied) const {
    std::vector<config::ConverterRequest> requests;
    for (const std::string& name : applied) requests.push_back({name, name + "_1", {}, {}, {}, {}});
    return mfu_peak(device_, registry_, requests);
  }

  converters::DeviceFacts device_;
  converters::Registry registry_;
};

TEST_F(MfuPeakTest, IsThatOfBfloat16UnlessAConverterDeclaresFloat8) {
  EXPECT_EQ(peak({}).flops, 989e12);
  EXPECT_EQ(peak({"wide"}).flops, 989e12);
  EXPECT_EQ(peak({"wide", "narrow"}).flops, 1979e12);
  EXPECT_EQ(peak({"narrow"}).text,
            "mfu is measured against 1,979 TFLOPS, the float8 peak of NVIDIA H200");
}

TEST_F(MfuPeakTest, AnUnknownDeviceIsNamedAndNotGuessed) {
  device_.name = "NVIDIA X9000";
  EXPECT_FALSE(peak({}).flops);
  EXPECT_EQ(peak({}).text,
            "mfu is not reported (N/A): the bfloat16 peak of device 'NVIDIA X9000' is not known");
  device_.name = "NVIDIA A100-SXM4-40GB";  // has no float8
  EXPECT_TRUE(peak({}).flops);
  EXPECT_FALSE(peak({"narrow"}).flops);
}

TEST_F(MfuPeakTest, ACpuHasNoneWhateverItIsCalled) {
  device_.cuda = false;
  device_.name = "H100";
  EXPECT_FALSE(peak({}).flops);
}

}  // namespace
}  // namespace titan::train
