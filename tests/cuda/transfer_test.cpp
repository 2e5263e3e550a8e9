// Transfers and the order of streams of a CUDA device.
#include <cstring>
#include <vector>

#include "backend/kernels/kernels.h"
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class TransferTest : public RoomTest {
 protected:
  ContextDevice& cuda() { return cuda_device(context()); }
  Device& device_itself() { return *cuda().device; }
};

TEST_F(TransferTest, OtherMemoryIsCopiedAtOnceAndWithoutAWait) {
  Device& device = device_itself();
  void* memory = nullptr;
  ASSERT_TRUE(device.allocate(64, &memory).ok());
  std::vector<float> host(16, 1.5f);
  const int64_t waits = cuda_waits();
  ASSERT_TRUE(device.copy_from_host(device.stream(), memory, host.data(), 64).ok());
  std::fill(host.begin(), host.end(), 0.0f);
  EXPECT_EQ(cuda_waits(), waits);
  ASSERT_TRUE(device.copy_to_host(device.stream(), host.data(), memory, 64).ok());
  ASSERT_TRUE(device.stream().synchronize().ok());
  EXPECT_EQ(host, std::vector<float>(16, 1.5f));
  device.deallocate(memory, 64);
}

TEST_F(TransferTest, PinnedMemoryIsReadWhenTheStreamRuns) {
  if (!is_emulated()) GTEST_SKIP() << "skipped: a GPU may have read the memory already";
  Device& device = device_itself();
  void* memory = nullptr;
  void* pinned = nullptr;
  float result = 0;
  ASSERT_TRUE(device.allocate(64, &memory).ok());
  ASSERT_TRUE(device.allocate_pinned(64, &pinned).ok());
  *static_cast<float*>(pinned) = 1.5f;
  ASSERT_TRUE(device.copy_from_host(device.stream(), memory, pinned, sizeof(float)).ok());
  *static_cast<float*>(pinned) = 2.5f;
  ASSERT_TRUE(device.copy_to_host(device.stream(), &result, memory, sizeof(float)).ok());
  ASSERT_TRUE(device.stream().synchronize().ok());
  EXPECT_EQ(result, 2.5f);
  device.deallocate(memory, 64);
  device.deallocate_pinned(pinned, 64);
}

TEST_F(TransferTest, StagedMemoryIsUsedAgainOnlyWhenItWasRead) {
  Device& device = device_itself();
  std::vector<void*> blocks(8);
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(device.allocate(sizeof(int64_t), &blocks[i]).ok());
    const int64_t value = static_cast<int64_t>(i);
    ASSERT_TRUE(device.copy_from_host(device.stream(), blocks[i], &value, sizeof value).ok());
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    int64_t value = -1;
    ASSERT_TRUE(device.copy_to_host(device.stream(), &value, blocks[i], sizeof value).ok());
    ASSERT_TRUE(device.stream().synchronize().ok());
    EXPECT_EQ(value, static_cast<int64_t>(i));
    device.deallocate(blocks[i], sizeof(int64_t));
  }
}

TEST_F(TransferTest, AnEventOrdersTwoStreams) {
  Device& device = device_itself();
  Stream* second = nullptr;
  Event* event = nullptr;
  void* memory = nullptr;
  void* copy = nullptr;
  ASSERT_TRUE(device.create_stream(&second).ok());
  ASSERT_TRUE(device.create_event(&event).ok());
  ASSERT_TRUE(device.allocate(64, &memory).ok());
  ASSERT_TRUE(device.allocate(64, &copy).ok());
  const View from = {.data = memory, .dtype = DType::kF32, .shape = {16}, .strides = {1}};
  const View to = {.data = copy, .dtype = DType::kF32, .shape = {16}, .strides = {1}};
  ASSERT_TRUE(device.kernels().convert.fill(device.stream(), 1.5, from).ok());
  ASSERT_TRUE(event->record(device.stream()).ok());
  ASSERT_TRUE(event->wait_on(*second).ok());
  ASSERT_TRUE(device.kernels().convert.cast(*second, from, to).ok());
  std::vector<float> host(16);
  ASSERT_TRUE(device.copy_to_host(*second, host.data(), copy, 64).ok());
  ASSERT_TRUE(second->synchronize().ok());
  EXPECT_EQ(host, std::vector<float>(16, 1.5f));
  bool is_reached = false;
  ASSERT_TRUE(event->is_reached(&is_reached).ok());
  EXPECT_TRUE(is_reached);
  event->destroy();
  second->destroy();
  device.deallocate(memory, 64);
  device.deallocate(copy, 64);
}

TEST_F(TransferTest, EveryEntryOfTheKernelTableIsThere) {
  const Kernels& kernels = device_itself().kernels();
  // The table holds nothing but pointers to functions.
  static_assert(sizeof(Kernels) % sizeof(void*) == 0);
  std::vector<void*> entries(sizeof(Kernels) / sizeof(void*));
  std::memcpy(entries.data(), &kernels, sizeof kernels);
  for (size_t i = 0; i < entries.size(); ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

}  // namespace
}  // namespace halftone
