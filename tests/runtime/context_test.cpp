#include "runtime/context.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/error.h"
#include "cpu/device.h"
#include "runtime/failing_new.h"

namespace halftone {
namespace {

Error error_of_device(Context& context, const char* name) {
  try {
    context.device(name);
  } catch (const Error& error) {
    return error;
  }
  return Error(Code::kOk, 0, "", "");
}

TEST(Context, HasOneCpuUnderTwoNames) {
  const auto context = make_ref<Context>(ContextOptions{});
  ContextDevice& cpu = context->device("cpu");
  EXPECT_EQ(&context->device("cpu:0"), &cpu);
  EXPECT_EQ(cpu.context, context.get());
  EXPECT_EQ(cpu.device->kind(), DeviceKind::kCpu);
  EXPECT_STREQ(cpu.device->name(), "cpu");
  EXPECT_TRUE(cpu.device->host_accessible());
}

TEST(Context, SaysWhyThereIsNoDevice) {
  const auto context = make_ref<Context>(ContextOptions{});
  for (const char* name : {"cuda", "cuda:0", "cuda:99", "cpu:1", "cpu:99", "tpu"}) {
    const Error error = error_of_device(*context, name);
    EXPECT_EQ(error.code(), Code::kDevice) << name;
    EXPECT_STREQ(error.argument(), "name");
  }
  const Error cuda = error_of_device(*context, "cuda");
  EXPECT_NE(std::string(cuda.what()).find("libhalftone_cuda.so is not installed"), std::string::npos) << cuda.what();
  EXPECT_EQ(error_of_device(*context, "cpu").code(), Code::kOk) << "the CPU keeps working";
}

TEST(Context, StaysAsItWasWhereADeviceCannotBeMade) {
  for (int64_t k = 0;; ++k) {
    const auto context = make_ref<Context>(ContextOptions{});
    bool made = true;
    bool failed = false;
    {
      const FailingNew failing(k);
      try {
        context->device("cpu");
      } catch (const std::bad_alloc&) {
        made = false;
      }
      failed = failing.has_failed();
    }
    EXPECT_EQ(made, !failed);
    EXPECT_STREQ(context->device("cpu").device->name(), "cpu");
    if (!failed) {
      EXPECT_GT(k, 2);
      break;
    }
    ASSERT_LT(k, 100);
  }
}

TEST(Context, CanBeMadeOnManyThreadsAtOnce) {
  std::atomic<int> faults{0};
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 16; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < 60; ++i) {
        const auto context = make_ref<Context>(ContextOptions{.num_threads = 2});
        std::atomic<int> sum{0};
        if (i % 4 == 0)
          cpu::pool_of(context->device("cpu").device->stream()).parallel_for(10, [&](int64_t chunk, int) {
            sum += static_cast<int>(chunk);
          });
        CachingAllocator& allocator = *context->device("cpu").allocator;
        allocator.release(allocator.allocate(1000, Category::kOther));
        if (sum != (i % 4 == 0 ? 45 : 0)) ++faults;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, 0);
}

TEST(CpuDevice, CopiesAndRecordsEvents) {
  const auto context = make_ref<Context>(ContextOptions{});
  Device& cpu = *context->device("cpu").device;
  const char from[] = "0123456789";
  char there[sizeof from + 1] = {};
  char back[sizeof from + 1] = {};
  there[sizeof from] = back[sizeof from] = '#';  // guards
  EXPECT_TRUE(cpu.copy_from_host(cpu.stream(), there, from, sizeof from).ok());
  EXPECT_TRUE(cpu.copy_to_host(cpu.stream(), back, there, sizeof from).ok());
  EXPECT_TRUE(cpu.copy_to_host(cpu.stream(), nullptr, nullptr, 0).ok());
  EXPECT_STREQ(back, from);
  EXPECT_EQ(there[sizeof from], '#');
  EXPECT_EQ(back[sizeof from], '#');
  Event* event = nullptr;
  ASSERT_TRUE(cpu.create_event(&event).ok());
  EXPECT_TRUE(event->record(cpu.stream()).ok());
  EXPECT_TRUE(event->wait_on(cpu.stream()).ok());
  EXPECT_TRUE(event->synchronize().ok());
  event->destroy();
}

TEST(SystemMemory, AlignsLargeBlocksToHugePages) {
  const HostMemory& memory = system_memory();
  constexpr size_t kHugePage = size_t{2} << 20;
  for (const size_t bytes : {size_t{1}, kHugePage - 1, kHugePage, kHugePage + 1, 5 * kHugePage + 12345}) {
    auto* block = static_cast<char*>(memory.allocate(memory.user, bytes, 64));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (bytes >= kHugePage ? kHugePage : 64), 0u);
    block[0] = block[bytes - 1] = 1;
    memory.deallocate(memory.user, block, bytes);
  }
  EXPECT_EQ(memory.allocate(memory.user, SIZE_MAX, 64), nullptr);
  EXPECT_EQ(memory.allocate(memory.user, size_t{1} << 50, 64), nullptr);
}

}  // namespace
}  // namespace halftone
