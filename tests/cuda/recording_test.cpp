// Recorded work of a CUDA device at the seam: other streams take part by events, and what cannot be recorded is STATE.
#include "backend/kernels/kernels.h"
#include "cuda_device.h"
#include "room_fixture.h"

namespace halftone {
namespace {

class RecordedWorkOnCuda : public RoomTest {
 protected:
  RecordedWorkOnCuda() {
    EXPECT_TRUE(device_itself().create_stream(&side_).ok());
    EXPECT_TRUE(device_itself().create_event(&out_).ok());
    EXPECT_TRUE(device_itself().create_event(&back_).ok());
    target_ = full(cuda(), DType::kF32, {4}, 1.0);
    EXPECT_TRUE(stream().synchronize().ok());  // the side stream does not wait for it
  }
  ~RecordedWorkOnCuda() override {
    out_->destroy();
    back_->destroy();
    side_->destroy();
  }
  ContextDevice& cuda() { return cuda_device(context()); }
  Device& device_itself() { return *cuda().device; }
  Stream& stream() { return device_itself().stream(); }
  Status fill(Stream& on, double value) { return device_itself().kernels().convert.fill(on, value, target_.view()); }
  void begin() { ASSERT_TRUE(device_itself().begin_recording(stream()).ok()); }
  // target = 2 on the default stream, then 3 on the side stream.
  void record_both() {
    EXPECT_TRUE(fill(stream(), 2.0).ok());
    EXPECT_TRUE(out_->record(stream()).ok());
    EXPECT_TRUE(out_->wait_on(*side_).ok());
    EXPECT_TRUE(fill(*side_, 3.0).ok());
  }

  Stream* side_ = nullptr;
  Event* out_ = nullptr;
  Event* back_ = nullptr;
  Tensor target_;
};

TEST_F(RecordedWorkOnCuda, RunsInOrderOverSeveralStreamsAndOnlyWhenItIsRun) {
  begin();
  record_both();
  EXPECT_TRUE(back_->record(*side_).ok());
  EXPECT_TRUE(back_->wait_on(stream()).ok());
  RecordedWork* work = nullptr;
  ASSERT_TRUE(device_itself().end_recording(stream(), &work).ok());
  EXPECT_EQ(values(target_), std::vector<double>(4, 1.0));
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(fill(stream(), 9.0).ok());
    ASSERT_TRUE(work->run(stream()).ok());
    EXPECT_EQ(values(target_), std::vector<double>(4, 3.0));
  }
  work->destroy();
}

TEST_F(RecordedWorkOnCuda, NeedsTheDefaultStreamToWaitForTheOthers) {
  begin();
  record_both();
  RecordedWork* work = nullptr;
  EXPECT_EQ(device_itself().end_recording(stream(), &work).code, Code::kState);
  EXPECT_EQ(work, nullptr);
  ASSERT_TRUE(fill(*side_, 4.0).ok());
  ASSERT_TRUE(side_->synchronize().ok());
  EXPECT_EQ(values(target_), std::vector<double>(4, 4.0));
}

TEST_F(RecordedWorkOnCuda, RefusesWaitsAndQuestionsAndNamesTheFirstAtTheEnd) {
  bool is_reached = false;
  begin();
  EXPECT_TRUE(out_->record(stream()).ok());
  EXPECT_EQ(out_->is_reached(&is_reached).code, Code::kState);
  EXPECT_EQ(out_->synchronize().code, Code::kState);
  EXPECT_EQ(stream().synchronize().code, Code::kState);
  RecordedWork* work = nullptr;
  const Status ended = device_itself().end_recording(stream(), &work);
  EXPECT_EQ(ended.code, Code::kState);
  EXPECT_STREQ(ended.message,
               "a question for an event cannot be part of a graph; do it before the capture or after a replay");
  EXPECT_EQ(work, nullptr);
  EXPECT_TRUE(stream().synchronize().ok());
}

TEST_F(RecordedWorkOnCuda, ReadsPinnedMemoryInEachRunAndFreesItAfterTheRecording) {
  void* pinned = nullptr;
  void* unused = nullptr;
  ASSERT_TRUE(device_itself().allocate_pinned(16, &pinned).ok());
  ASSERT_TRUE(device_itself().allocate_pinned(16, &unused).ok());
  auto* const numbers = static_cast<float*>(pinned);
  begin();
  EXPECT_TRUE(device_itself().copy_from_host(stream(), target_.data(), pinned, 16).ok());
  device_itself().deallocate_pinned(unused, 16);
  RecordedWork* work = nullptr;
  ASSERT_TRUE(device_itself().end_recording(stream(), &work).ok());
  for (const float value : {5.0f, 6.0f}) {
    std::fill(numbers, numbers + 4, value);
    ASSERT_TRUE(work->run(stream()).ok());
    EXPECT_EQ(values(target_), std::vector<double>(4, value));
  }
  work->destroy();
  device_itself().deallocate_pinned(pinned, 16);
}

TEST_F(RecordedWorkOnCuda, IsNothingThatTheCpuHas) {
  EXPECT_FALSE(device().device->can_record());
  EXPECT_EQ(device().device->begin_recording(device().device->stream()).code, Code::kUnsupported);
}

}  // namespace
}  // namespace halftone
