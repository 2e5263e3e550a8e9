// Messages of the plugin about machines without a usable GPU, and of a GPU that is lost.
#include <string>

#include "cuda_device.h"
#include "ops/elementwise/elementwise.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr int32_t kInsufficientDriver = 35;
constexpr int32_t kNoDevice = 100;

// The machine as the emulated runtime describes it, until the end of the test.
class MachineTest : public RoomTest {
 protected:
  void SetUp() override {
    if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime describes another machine";
  }
  void TearDown() override {
    if (!is_emulated()) return;
    describe(0, 13000, 9);
    emulation_function<void()>("cuda_emulation_restore")();
  }

  static void describe(int32_t device_count_error, int32_t driver_version, int32_t capability) {
    emulation_function<void(int32_t, int32_t, int32_t)>("cuda_emulation_answer")(device_count_error, driver_version,
                                                                                 capability);
  }
  static std::string message_of(const char* device) {
    const Ref<Context> context = make_ref<Context>(options());
    context->load_plugin(cuda_plugin());
    try {
      context->device(device);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kDevice);
      return error.what();
    }
    return "";
  }
};

TEST_F(MachineTest, AMissingDriverIsNamed) {
  describe(kInsufficientDriver, 0, 9);
  EXPECT_NE(message_of("cuda").find("NVIDIA's driver is not installed"), std::string::npos) << message_of("cuda");
}

TEST_F(MachineTest, AnOldDriverIsNamedWithBothVersions) {
  describe(kInsufficientDriver, 12040, 9);
  EXPECT_NE(message_of("cuda").find("the driver supports CUDA 12.4, expected 13.0 or later"), std::string::npos);
}

TEST_F(MachineTest, AMachineWithoutAGpuIsNamed) {
  describe(kNoDevice, 13000, 9);
  EXPECT_NE(message_of("cuda").find("the driver finds none"), std::string::npos);
}

TEST_F(MachineTest, AnOldGpuIsNamedWithItsCapability) {
  describe(0, 13000, 7);
  EXPECT_NE(message_of("cuda:1").find("cuda:1 has compute capability 7.0, expected 8.0 or later"), std::string::npos);
}

TEST_F(MachineTest, AnIndexBeyondTheLastGpuIsNamed) {
  EXPECT_NE(message_of("cuda:7").find("there is no device cuda:7: there are 2 CUDA devices"), std::string::npos);
}

TEST_F(MachineTest, DevicesAreListed) {
  context().load_plugin(cuda_plugin());
  EXPECT_NE(message_of("gpu").find("there are cpu, cuda:0, cuda:1"), std::string::npos) << message_of("gpu");
}

// D21
TEST_F(MachineTest, AGpuThatIsLostStaysLostAndTheOthersWork) {
  ContextDevice& lost = cuda_device(context());
  ContextDevice& other = context().device("cuda:1");
  const Tensor there = full(other, DType::kF32, {2}, 1.5);
  EXPECT_EQ(values(there), std::vector<double>(2, 1.5));
  const Tensor here = full(lost, DType::kF32, {2}, 1.5);
  emulation_function<void(int64_t)>("cuda_emulation_lose_after")(0);
  EXPECT_EQ(code_of([&] { values(here); }), Code::kDevice);
  EXPECT_EQ(code_of([&] { values(here); }), Code::kDevice);
  EXPECT_EQ(code_of([&] { full(lost, DType::kF32, {2}, 2.5); }), Code::kDevice);
  EXPECT_EQ(values(there), std::vector<double>(2, 1.5));
  EXPECT_EQ(values(tensor({2}, {1, 2})), std::vector<double>({1, 2}));
}

}  // namespace
}  // namespace halftone
