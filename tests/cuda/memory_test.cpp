// The caching allocator on a CUDA device: memory that other streams use, memory that runs out, and the limit.
#include <string>
#include <vector>

#include "backend/kernels/kernels.h"
#include "core/error.h"
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class CudaMemory : public RoomTest {
 protected:
  ~CudaMemory() override {
    leave_memory(-1);
    cuda().allocator->set_limit(0);
  }
  ContextDevice& cuda() { return cuda_device(context()); }
  // A GPU has other programs' memory, and too much to fill it.
  static void leave_memory(int64_t bytes) {
    if (is_emulated()) emulation_function<void(int64_t)>("cuda_emulation_leave_memory")(bytes);
  }
  Tensor bytes_of(int64_t count) { return empty(cuda(), DType::kU8, {count}); }
  Error error_of(int64_t count) {
    try {
      bytes_of(count);
    } catch (const Error& error) {
      return error;
    }
    return Error(Code::kOk, 0, "", "");
  }
  static bool names(const Error& error, const std::string& text) {
    return std::string(error.what()).find(text) != std::string::npos;
  }
};

TEST_F(CudaMemory, WaitsForOtherStreamsBeforeABlockIsUsedAgain) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: on a GPU the stream may have finished";
  Device& device = *cuda().device;
  Stream* side = nullptr;
  ASSERT_TRUE(device.create_stream(&side).ok());
  Tensor used = bytes_of(kMiB);
  void* const address = used.data();
  used.storage()->record_stream(*side);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(device.kernels().convert.fill(*side, 1.0, used.view()).ok());
  used = Tensor();
  {
    const Tensor meanwhile = bytes_of(kMiB);
    EXPECT_NE(meanwhile.data(), address);
    ASSERT_TRUE(side->synchronize().ok());
    const Tensor later = bytes_of(kMiB);
    EXPECT_EQ(later.data(), address);
  }
  side->destroy();
}

TEST_F(CudaMemory, EmptiesTheCacheAndAsksOnceMore) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: a GPU's memory is not filled here";
  cuda().allocator->release_cached();
  leave_memory(8 * kMiB);
  { const std::vector<Tensor> cached = {bytes_of(2 * kMiB), bytes_of(2 * kMiB), bytes_of(2 * kMiB)}; }
  EXPECT_EQ(cuda().allocator->stats().reserved, 6 * kMiB);
  EXPECT_NO_THROW(bytes_of(7 * kMiB));
  EXPECT_EQ(cuda().allocator->stats().reserved, 8 * kMiB);
}

TEST_F(CudaMemory, NamesWhatWasRequestedAndWhatIsThereWhenItRunsOut) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: a GPU's memory is not filled here";
  cuda().allocator->release_cached();
  leave_memory(8 * kMiB);
  const Tensor held = bytes_of(3 * kMiB);  // in a block of 4 MiB
  const Error error = error_of(6 * kMiB);
  EXPECT_EQ(error.code(), Code::kOutOfMemory);
  EXPECT_TRUE(names(error, "requested 6291456 bytes")) << error.what();
  EXPECT_TRUE(names(error, "current 3145728, reserved 4194304, free among these 1048576")) << error.what();
  EXPECT_TRUE(names(error, "(device cuda:0: cuda:0 has no 6291456 bytes: 4194304 of its ")) << error.what();
  EXPECT_NO_THROW(bytes_of(4 * kMiB));
}

TEST_F(CudaMemory, KeepsTheLimit) {
  cuda().allocator->release_cached();
  cuda().allocator->set_limit(4 * kMiB);
  const Tensor held = bytes_of(2 * kMiB);
  const Error error = error_of(3 * kMiB);
  EXPECT_EQ(error.code(), Code::kOutOfMemory);
  EXPECT_TRUE(names(error, "limit 4194304")) << error.what();
  EXPECT_NO_THROW(bytes_of(2 * kMiB));
  EXPECT_LE(cuda().allocator->stats().reserved, 4 * kMiB);
}

}  // namespace
}  // namespace halftone
