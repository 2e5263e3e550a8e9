// The rules of backend/device.h on a device that runs work as late as they allow.
#include "deferred_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "backend/kernels/kernels.h"
#include "core/error.h"

namespace halftone {
namespace {

constexpr int64_t kCount = 5;
constexpr size_t kBytes = kCount * sizeof(float);

struct DestroyStream {
  void operator()(Stream* stream) const { stream->destroy(); }
};
struct DestroyEvent {
  void operator()(Event* event) const { event->destroy(); }
};
using OwnedStream = std::unique_ptr<Stream, DestroyStream>;
using OwnedEvent = std::unique_ptr<Event, DestroyEvent>;

class DeferredDeviceTest : public testing::Test {
 protected:
  ~DeferredDeviceTest() override {
    for (const Allocation& memory : kept_) there_.allocator->release(memory);
  }

  Device& device() { return *there_.device; }
  Stream& stream() { return device().stream(); }
  const Kernels& kernels() { return device().kernels(); }

  View make(DType dtype = DType::kF32) {
    kept_.push_back(there_.allocator->allocate(kCount * size_of(dtype), Category::kOther));
    return {.data = kept_.back().data, .dtype = dtype, .shape = {kCount}, .strides = {1}};
  }
  OwnedStream make_stream() {
    Stream* stream = nullptr;
    check(device().create_stream(&stream));
    return OwnedStream(stream);
  }
  OwnedEvent recorded(Stream& stream) {
    Event* event = nullptr;
    check(device().create_event(&event));
    check(event->record(stream));
    return OwnedEvent(event);
  }
  void fill(Stream& stream, const View& view, double value) { check(kernels().convert.fill(stream, value, view)); }
  // Reads in the order of `stream`.
  float first_of(Stream& stream, const View& view) {
    std::vector<float> values(kCount);
    check(device().copy_to_host(stream, values.data(), view.data, kBytes));
    check(stream.synchronize());
    return values[0];
  }
  static bool is_reached(Event& event) {
    bool reached = false;
    check(event.is_reached(&reached));
    return reached;
  }
  // Queues a check of indices, one of which is out of range.
  Status queue_fault(Stream& stream) {
    const View indices = make(DType::kI64);
    fill(stream, indices, 12);
    std::string name = "places";
    const Status status = kernels().index.check_range(stream, name.c_str(), indices, 10);
    name = "------";
    return status;
  }

  Ref<Context> context_ = make_ref<Context>(ContextOptions{});
  ContextDevice& there_ = deferred_device(*context_);
  std::vector<Allocation> kept_;
};

TEST_F(DeferredDeviceTest, RunsNothingBeforeAWait) {
  const View view = make();
  fill(stream(), view, 3);
  // Fresh memory is NaN. The memory of this device is host memory in truth.
  EXPECT_TRUE(std::isnan(static_cast<const float*>(view.data)[0]));
  const int64_t waits = deferred_waits();
  check(stream().synchronize());
  EXPECT_EQ(static_cast<const float*>(view.data)[0], 3);
  EXPECT_EQ(deferred_waits(), waits + 1);
}

TEST_F(DeferredDeviceTest, CopiesHostArgumentsBeforeACallReturns) {
  const View view = make(), sums = make();
  std::vector<float> host(kCount, 2);
  check(device().copy_from_host(stream(), view.data, host.data(), kBytes));
  host.assign(kCount, 7);
  View a = view, b = view, out = sums;
  check(kernels().elementwise.binary(stream(), BinaryOp::kAdd, a, b, out));
  for (View* argument : {&a, &b, &out}) *argument = {.data = nullptr, .shape = {1000}, .strides = {1}};
  EXPECT_EQ(first_of(stream(), sums), 4);
}

TEST_F(DeferredDeviceTest, ReadsPinnedMemoryWhenTheTransferRuns) {
  const View view = make();
  void* pinned = nullptr;
  check(device().allocate_pinned(kBytes, &pinned));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(pinned) % 64, 0u);
  auto* values = static_cast<float*>(pinned);
  std::fill_n(values, kCount, 2.0f);
  check(device().copy_from_host(stream(), view.data, values, kBytes));
  const OwnedEvent copied = recorded(stream());
  std::fill_n(values, kCount, 3.0f);
  check(copied->synchronize());
  std::fill_n(values, kCount, 4.0f);
  EXPECT_EQ(first_of(stream(), view), 3);
  // Freeing it waits for transfers that still use it.
  check(device().copy_from_host(stream(), view.data, values, kBytes));
  device().deallocate_pinned(pinned, kBytes);
  EXPECT_EQ(first_of(stream(), view), 4);
}

TEST_F(DeferredDeviceTest, StreamsHaveNoOrderWithoutAnEvent) {
  const OwnedStream side = make_stream();
  const View view = make();
  fill(stream(), view, 1);
  fill(*side, view, 2);
  EXPECT_EQ(first_of(stream(), view), 1) << "the side stream has not run";
  fill(stream(), view, 3);
  fill(*side, view, 4);
  const OthersFirst others_first;
  EXPECT_EQ(first_of(stream(), view), 3) << "the side stream ran first, although its work is younger";
}

TEST_F(DeferredDeviceTest, AnEventOrdersStreams) {
  const OwnedStream side = make_stream();
  const View view = make();
  for (const bool is_first : {false, true}) {
    const std::unique_ptr<OthersFirst> others_first = is_first ? std::make_unique<OthersFirst>() : nullptr;
    fill(stream(), view, 1);
    check(recorded(stream())->wait_on(*side));
    fill(*side, view, 2);
    check(recorded(*side)->wait_on(stream()));
    check(kernels().elementwise.binary(stream(), BinaryOp::kAdd, view, view, view));
    EXPECT_EQ(first_of(stream(), view), 4);
  }
}

TEST_F(DeferredDeviceTest, AnEventIsReachedWhenItsWorkHasFinished) {
  const View view = make();
  fill(stream(), view, 1);
  fill(stream(), view, 2);
  const OwnedEvent event = recorded(stream());
  fill(stream(), view, 3);
  EXPECT_FALSE(is_reached(*event));
  EXPECT_TRUE(is_reached(*event)) << "each query runs one piece of work";
  EXPECT_EQ(static_cast<const float*>(view.data)[0], 2) << "work behind the event has not run";
  Event* never_recorded = nullptr;
  check(device().create_event(&never_recorded));
  EXPECT_TRUE(is_reached(*never_recorded));
  EXPECT_TRUE(never_recorded->synchronize().ok());
  never_recorded->destroy();
}

TEST_F(DeferredDeviceTest, AnEventOutlivesItsStream) {
  const View view = make();
  OwnedStream side = make_stream();
  fill(*side, view, 5);
  const OwnedEvent event = recorded(*side);
  check(event->wait_on(stream()));
  side.reset();
  EXPECT_TRUE(is_reached(*event)) << "the end of a stream waits for its work";
  EXPECT_EQ(first_of(stream(), view), 5);
}

// A23
TEST_F(DeferredDeviceTest, TheErrorWordKeepsTheFirstFaultUntilAWait) {
  ASSERT_TRUE(queue_fault(stream()).ok()) << "the fault is not known yet";
  const OwnedEvent event = recorded(stream());
  while (!is_reached(*event)) continue;
  const Status fault = event->synchronize();
  EXPECT_EQ(fault.code, Code::kInvalidArgument);
  EXPECT_STREQ(fault.message, "places[0]=12 is outside [0, 10)");
  EXPECT_TRUE(stream().synchronize().ok()) << "a wait clears the word";
  const OwnedStream side = make_stream();
  ASSERT_TRUE(queue_fault(*side).ok());
  check(recorded(*side)->wait_on(stream()));
  EXPECT_EQ(stream().synchronize().code, Code::kInvalidArgument) << "the word is the device's, not a stream's";
  EXPECT_TRUE(side->synchronize().ok());
}

TEST_F(DeferredDeviceTest, MemoryIsNotANumberAfterItsRelease) {
  void* memory = nullptr;
  check(device().allocate(kBytes, &memory));
  const View view = {.data = memory, .dtype = DType::kF32, .shape = {kCount}, .strides = {1}};
  const View copy = make();
  fill(stream(), view, 6);
  check(kernels().convert.cast(stream(), view, copy));
  device().deallocate(memory, kBytes);
  EXPECT_EQ(first_of(stream(), copy), 6) << "the release waited for work on the memory";
}

TEST_F(DeferredDeviceTest, ImplementsEveryKernel) {
  // A struct of function pointers has no padding.
  const auto* entries = reinterpret_cast<void (*const*)()>(&kernels());
  for (size_t i = 0; i < sizeof(Kernels) / sizeof(entries[0]); ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

}  // namespace
}  // namespace halftone
