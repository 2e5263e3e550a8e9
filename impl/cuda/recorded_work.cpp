#include "cuda/recorded_work.h"

#include <new>

#include "cuda/base/current_device.h"
#include "cuda/base/error.h"

namespace halftone::cuda {
namespace {

class CudaGraph final : public RecordedWork {
 public:
  CudaGraph(const DeviceState& device, cudaGraphExec_t native) noexcept : device_(device), native_(native) {}

  // A run that is under way finishes: CUDA frees what it needs afterwards.
  void destroy() noexcept override {
    const CurrentDevice current(device_.index);
    cudaGraphExecDestroy(native_);
    delete this;
  }
  Status run(Stream& stream) noexcept override {
    const CurrentDevice current(device_.index);
    return status_of(cudaGraphLaunch(native_, native(stream)), "cudaGraphLaunch");
  }

 private:
  const DeviceState& device_;
  cudaGraphExec_t native_;
};

Status make_graph(const DeviceState& device, cudaGraph_t graph, RecordedWork** out) noexcept {
  cudaGraphExec_t native = nullptr;
  Status status = status_of(cudaGraphInstantiate(&native, graph, 0), "cudaGraphInstantiate");
  if (!status.ok()) return status;
  *out = new (std::nothrow) CudaGraph(device, native);
  if (*out != nullptr) return {};
  cudaGraphExecDestroy(native);
  return Status::failure(Code::kOutOfMemory, "no memory for a graph");
}

}  // namespace

// Relaxed: memory may be allocated meanwhile. What must not happen is refused by RecordingState.
Status begin_recording(const DeviceState& device, Stream& stream) noexcept {
  const CurrentDevice current(device.index);
  if (!device.recording->begin()) return Status::failure(Code::kState, "another graph is captured on this device");
  const cudaError_t error = cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeRelaxed);
  if (error != cudaSuccess) device.recording->end();
  return status_of(error, "cudaStreamBeginCapture");
}

Status end_recording(const DeviceState& device, Stream& stream, RecordedWork** out) noexcept {
  const CurrentDevice current(device.index);
  cudaGraph_t graph = nullptr;
  const cudaError_t error = cudaStreamEndCapture(native(stream), &graph);
  Status status = device.recording->end();
  if (status.ok()) status = status_of(error, "cudaStreamEndCapture");
  if (status.ok() && out != nullptr) status = make_graph(device, graph, out);
  if (graph != nullptr) cudaGraphDestroy(graph);
  return status;
}

}  // namespace halftone::cuda
