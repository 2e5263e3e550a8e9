// Settings of a CUDA device.
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class DeviceOptions : public RoomTest {
 protected:
  Device& cuda() { return *cuda_device(context()).device; }
};

TEST_F(DeviceOptions, ManagedMemoryIsUsedAndPrefetched) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: only the emulated runtime counts prefetches";
  const auto prefetches = [] { return emulation_function<int64_t()>("cuda_emulation_prefetches")(); };
  const int64_t before = prefetches();
  full(cuda_device(context()), DType::kF32, {100}, 1.0);
  EXPECT_EQ(prefetches(), before);
  ASSERT_TRUE(cuda().set_option(DeviceOption::kManagedMemory, 1).ok());
  cuda_device(context()).allocator->release_cached();
  const Tensor managed = full(cuda_device(context()), DType::kF32, {100}, 1.5);
  EXPECT_EQ(prefetches(), before + 1);
  EXPECT_EQ(values(managed), std::vector<double>(100, 1.5));
}

// It has TF32 alone.
TEST_F(DeviceOptions, TheCpuHasNoGelu) {
  const Status status = device().device->set_option(DeviceOption::kFusedGelu, 1);
  EXPECT_EQ(status.code, Code::kUnsupported);
  EXPECT_STREQ(status.message, "cpu has no option HTONE_DEVICE_FUSED_GELU");
}

}  // namespace
}  // namespace halftone
