// The emulated runtime refuses in a stream capture what CUDA refuses, and repeats what it has captured.
#include <cuda_runtime.h>
#include <gtest/gtest.h>

namespace {

class EmulatedCapture : public testing::Test {
 protected:
  EmulatedCapture() {
    cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&event_, cudaEventDisableTiming);
    cudaEventCreateWithFlags(&back_, cudaEventDisableTiming);
    cudaMalloc(reinterpret_cast<void**>(&words_), 64);
    cudaHostAlloc(reinterpret_cast<void**>(&pinned_), 64, cudaHostAllocDefault);
  }
  ~EmulatedCapture() override {
    cudaEventDestroy(event_);
    cudaEventDestroy(back_);
    cudaStreamDestroy(stream_);
    cudaStreamDestroy(side_);
    cudaFree(words_);
    cudaFreeHost(pinned_);
    cudaGetLastError();
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed) {
    ASSERT_EQ(cudaStreamBeginCapture(stream_, mode), cudaSuccess);
  }
  cudaError_t end() {
    cudaGraph_t graph = nullptr;
    const cudaError_t error = cudaStreamEndCapture(stream_, &graph);
    EXPECT_EQ(graph != nullptr, error == cudaSuccess);
    cudaGraphDestroy(graph);
    return error;
  }
  void expect_invalid(cudaError_t refused, cudaError_t expected) {
    EXPECT_EQ(refused, expected);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;
  cudaStream_t side_ = nullptr;
  cudaEvent_t event_ = nullptr;
  cudaEvent_t back_ = nullptr;
  unsigned char* words_ = nullptr;
  unsigned char* pinned_ = nullptr;
};

TEST_F(EmulatedCapture, RunsNothingBeforeTheLaunchAndEverythingInEachLaunch) {
  cudaMemsetAsync(words_, 1, 8, stream_);
  cudaStreamSynchronize(stream_);
  begin();
  cudaMemsetAsync(words_, 2, 4, stream_);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
  cudaGraphExec_t launchable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&launchable, graph), cudaSuccess);
  ASSERT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  cudaStreamSynchronize(stream_);
  EXPECT_EQ(words_[0], 1);
  for (int run = 0; run < 2; ++run) {
    cudaMemsetAsync(words_, 1, 8, stream_);
    ASSERT_EQ(cudaGraphLaunch(launchable, stream_), cudaSuccess);
    cudaStreamSynchronize(stream_);
    EXPECT_EQ(words_[3], 2);
    EXPECT_EQ(words_[4], 1);
  }
  cudaGraphExecDestroy(launchable);
}

TEST_F(EmulatedCapture, RefusesToWait) {
  begin();
  expect_invalid(cudaStreamSynchronize(stream_), cudaErrorStreamCaptureUnsupported);
  begin();
  expect_invalid(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
}

TEST_F(EmulatedCapture, RefusesQuestionsForCapturedEvents) {
  begin();
  cudaEventRecord(event_, stream_);
  expect_invalid(cudaEventQuery(event_), cudaErrorCapturedEvent);
  begin();
  cudaEventRecord(event_, stream_);
  expect_invalid(cudaEventSynchronize(event_), cudaErrorCapturedEvent);
}

TEST_F(EmulatedCapture, RefusesTransfersOfPageableMemory) {
  unsigned char pageable[8] = {};
  begin();
  expect_invalid(cudaMemcpyAsync(words_, pageable, 8, cudaMemcpyHostToDevice, stream_),
                 cudaErrorStreamCaptureUnsupported);
  begin();
  expect_invalid(cudaMemcpyAsync(pageable, words_, 8, cudaMemcpyDeviceToHost, stream_),
                 cudaErrorStreamCaptureUnsupported);
  begin();
  EXPECT_EQ(cudaMemcpyAsync(words_, pinned_, 8, cudaMemcpyHostToDevice, stream_), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
}

TEST_F(EmulatedCapture, RefusesToFreeMemoryInEveryMode) {
  void* memory = nullptr;
  cudaMalloc(&memory, 8);
  begin();
  expect_invalid(cudaFree(memory), cudaErrorStreamCaptureUnsupported);
  cudaFree(memory);
}

TEST_F(EmulatedCapture, AllocatesInRelaxedModeAlone) {
  void* memory = nullptr;
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaMalloc(&memory, 8), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  cudaFree(memory);
  for (const cudaStreamCaptureMode mode : {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal}) {
    begin(mode);
    expect_invalid(cudaMalloc(&memory, 8), cudaErrorStreamCaptureUnsupported);
  }
}

TEST_F(EmulatedCapture, TakesInStreamsThatWaitForItsEvents) {
  begin();
  cudaEventRecord(event_, stream_);
  EXPECT_EQ(cudaStreamWaitEvent(side_, event_, 0), cudaSuccess);
  cudaMemsetAsync(words_, 3, 4, side_);
  cudaEventRecord(back_, side_);
  EXPECT_EQ(cudaStreamWaitEvent(stream_, back_, 0), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
  EXPECT_NE(words_[0], 3);
}

TEST_F(EmulatedCapture, RefusesStreamsThatDoNotComeBackAndEventsFromOutside) {
  begin();
  cudaEventRecord(event_, stream_);
  cudaStreamWaitEvent(side_, event_, 0);
  cudaMemsetAsync(words_, 3, 4, side_);
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
  EXPECT_EQ(cudaStreamSynchronize(side_), cudaSuccess);
  cudaEventRecord(back_, side_);
  begin();
  expect_invalid(cudaStreamWaitEvent(stream_, back_, 0), cudaErrorStreamCaptureIsolation);
}

}  // namespace
