// Tensors on several streams of the deferred device: memory is used again only when every stream has finished with it.
#include <memory>

#include "deferred_device.h"
#include "room_fixture.h"
#include "runtime/stream_scope.h"

namespace halftone {
namespace {

constexpr int64_t kSmall = 8;
constexpr int64_t kLarge = 1 << 20;

class StreamsTest : public RoomTest {
 protected:
  StreamsTest() { check(there_.device->create_stream(&side_)); }
  // A tensor that records the side stream is released before it.
  ~StreamsTest() override {
    there_.allocator->release_cached();
    side_->destroy();
  }

  Tensor filled(int64_t count, double value) { return full(there_, DType::kF32, {count}, value); }
  // Queues `target = source` on the side stream, behind the default stream.
  void copy_on_side(const Tensor& source, const Tensor& target) {
    StreamScope scope(there_, *side_);
    scope.follow_default_stream();
    copy(source, target);
  }
  void default_stream_follows_side() {
    Event* event = nullptr;
    check(there_.device->create_event(&event));
    check(event->record(*side_));
    check(event->wait_on(there_.device->stream()));
    event->destroy();
  }

  Ref<Context> context_ = make_ref<Context>(options());
  ContextDevice& there_ = deferred_device(*context_);
  Stream* side_ = nullptr;
};

TEST_F(StreamsTest, ReleasedMemoryIsNotUsedAgainBeforeItsStreamsHaveFinished) {
  for (const int64_t count : {kSmall, kLarge}) {
    const Tensor target = filled(count, 0);
    Tensor source = filled(count, 1);
    const void* const memory = source.data();
    source.storage()->record_stream(*side_);
    copy_on_side(source, target);
    source = Tensor();
    const Tensor next = filled(count, 2);
    EXPECT_NE(next.data(), memory);
    default_stream_follows_side();
    EXPECT_EQ(values(target), std::vector<double>(static_cast<size_t>(count), 1.0));
    EXPECT_EQ(filled(count, 3).data(), memory) << "the stream has finished";
  }
}

// The counterpart: without record_stream the deferred device shows the fault.
TEST_F(StreamsTest, UnrecordedMemoryIsOverwrittenTooEarly) {
  const Tensor target = filled(kSmall, 0);
  Tensor source = filled(kSmall, 1);
  copy_on_side(source, target);
  source = Tensor();
  const Tensor next = filled(kSmall, 2);
  values(next);
  default_stream_follows_side();
  EXPECT_EQ(values(target), std::vector<double>(kSmall, 2.0));
}

TEST_F(StreamsTest, ReleasedMemoryCountsAsReleasedWhileStreamsUseIt) {
  Tensor tensor = filled(kLarge, 1);
  const int64_t current = there_.allocator->stats().current;
  tensor.storage()->record_stream(*side_);
  tensor.storage()->record_stream(*side_);
  tensor.storage()->record_stream(there_.device->stream());
  tensor = Tensor();
  EXPECT_EQ(there_.allocator->stats().current, current - kLarge * 4);
}

TEST_F(StreamsTest, AFullDeviceWaitsForMemoryThatStreamsStillUse) {
  Tensor tensor = filled(kLarge, 1);
  const Tensor target = filled(kLarge, 0);
  there_.allocator->release_cached();
  there_.allocator->set_limit(there_.allocator->stats().reserved);
  tensor.storage()->record_stream(*side_);
  copy_on_side(tensor, target);
  copy_on_side(tensor, target);
  tensor = Tensor();
  const int64_t waits = deferred_waits();
  const Tensor next = filled(kLarge, 2);
  EXPECT_GT(deferred_waits(), waits);
  there_.allocator->set_limit(0);
  default_stream_follows_side();
  EXPECT_EQ(values(target)[kLarge - 1], 1);
}

TEST_F(StreamsTest, AScopeQueuesTheThreadsWorkOnItsStream) {
  const Tensor target = filled(kSmall, 1);
  values(target);
  {
    const StreamScope scope(there_, *side_);
    fill(target, 2);
    EXPECT_EQ(&current_stream(there_), side_);
  }
  EXPECT_EQ(&current_stream(there_), &there_.device->stream());
  EXPECT_EQ(values(target)[0], 1) << "the default stream does not wait for the scope's";
  default_stream_follows_side();
  EXPECT_EQ(values(target)[0], 2);
}

TEST_F(StreamsTest, ScopesOfTwoDevicesDoNotMix) {
  ContextDevice& other = context_->device("deferred:1");
  Stream* others_stream = nullptr;
  check(other.device->create_stream(&others_stream));
  {
    const StreamScope outer(there_, *side_);
    const StreamScope inner(other, *others_stream);
    EXPECT_EQ(&current_stream(there_), side_);
    EXPECT_EQ(&current_stream(other), others_stream);
    EXPECT_EQ(&current_stream(context_->device("cpu")), &context_->device("cpu").device->stream());
  }
  others_stream->destroy();
}

// The default stream still reads the memory that the scope gets, and uses it again after the scope's tensors are gone.
TEST_F(StreamsTest, MemoryMovesSafelyBetweenAScopeAndTheDefaultStream) {
  for (const bool is_first : {false, true}) {
    const std::unique_ptr<OthersFirst> others_first = is_first ? std::make_unique<OthersFirst>() : nullptr;
    const Tensor before = filled(kSmall, 0), inside = filled(kSmall, 0);
    copy(filled(kSmall, 1), before);  // the source's memory is free when the scope begins
    {
      const StreamScope scope(there_, *side_);
      copy(filled(kSmall, 2), inside);
    }
    const Tensor after = filled(kSmall, 3);
    default_stream_follows_side();
    EXPECT_EQ(values(before)[0], 1);
    EXPECT_EQ(values(inside)[0], 2);
    EXPECT_EQ(values(after)[0], 3);
  }
}

TEST_F(StreamsTest, ResultsInAScopeAreThoseOfTheCpu) {
  const Tensor a = leaf({2, 3}, {1, 2, 3, 4, 5, 6}), b = tensor({3, 2}, {1, 0, 2, 1, 0, 1});
  const StreamScope scope(there_, *side_);
  const Tensor far_a = moved_to(there_, a), far_b = moved_to(there_, b);
  EXPECT_EQ(values(far_a), values(a));
  EXPECT_EQ(values(converted(far_b, DType::kBF16)), values(b));
}

}  // namespace
}  // namespace halftone
