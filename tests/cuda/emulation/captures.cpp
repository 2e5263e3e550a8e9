// Captures and graphs of the emulated CUDA runtime.
#include "world.h"

namespace emulation {

class FakeGraphExec {
 public:
  std::vector<std::function<void()>> work;
};

// A stream that waits for a captured event takes part in the capture. One that is captured can wait for no other event.
cudaError_t wait_in_capture(cudaStream_t stream, cudaEvent_t event) {
  if (stream->capture != nullptr && stream->capture != event->capture) {
    return refuse(*stream->capture, cudaErrorStreamCaptureIsolation);
  }
  if (event->capture->is_invalid()) return result(cudaErrorStreamCaptureInvalidated);
  stream->capture = event->capture;
  stream->capture->join(stream, event->stream, event->position);
  return cudaSuccess;
}

}  // namespace emulation

using namespace emulation;

namespace {

std::vector<std::shared_ptr<Capture>>& captures_of(cudaStream_t stream) {
  FakeDevice& first = world().devices[0];
  return &first.machine == &stream->machine ? first.captures : world().devices[1].captures;
}

}  // namespace

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  const Lock lock(stream->machine.mutex);
  if (stream->capture != nullptr) return result(cudaErrorInvalidValue);
  stream->capture = std::make_shared<Capture>(stream, mode);
  captures_of(stream).push_back(stream->capture);
  return cudaSuccess;
}
// Ends the capture of all streams that took part, also where it fails.
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* out) {
  const Lock lock(stream->machine.mutex);
  *out = nullptr;
  const std::shared_ptr<Capture> capture = stream->capture;
  if (capture == nullptr) return result(cudaErrorInvalidValue);
  if (capture->origin() != stream) return refuse(*capture, cudaErrorStreamCaptureUnmatched);
  if (capture->is_of_other_thread()) return refuse(*capture, cudaErrorStreamCaptureWrongThread);
  for (const auto& [each, position] : capture->streams()) each->capture = nullptr;
  std::erase(captures_of(stream), capture);
  if (capture->is_invalid()) return result(cudaErrorStreamCaptureInvalidated);
  if (!capture->is_joined()) return result(cudaErrorStreamCaptureUnjoined);
  *out = new FakeGraph(std::move(capture->graph()));
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* out) {
  *out = stream->capture != nullptr ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  *out = new FakeGraphExec{graph->work};
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  ++counts.graphs;
  for (const std::function<void()>& work : graph->work) {
    if (const cudaError_t error = enqueue(stream, work); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
