#include "comm/nccl/cuda_call.h"

namespace halftone::nccl {

Status status_of(cudaError_t error, const char* call) noexcept {
  if (error == cudaSuccess) return {};
  cudaGetLastError();  // clears the error that the runtime keeps for this thread
  const Code code = error == cudaErrorMemoryAllocation ? Code::kOutOfMemory : Code::kDevice;
  Status status = Status::failure(code, "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
  status.native_code = static_cast<int32_t>(error);
  return status;
}

CudaPoint::~CudaPoint() {
  if (event_ == nullptr) return;
  const CurrentDevice current(device_);
  cudaEventDestroy(event_);
}

Status CudaPoint::record(cudaStream_t stream) noexcept {
  const CurrentDevice current(device_);
  Status status = status_of(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  return status.ok() ? status_of(cudaEventRecord(event_, stream), "cudaEventRecord") : status;
}

Status CudaPoint::wait_on(cudaStream_t stream) const noexcept {
  if (event_ == nullptr) return {};
  const CurrentDevice current(device_);
  return status_of(cudaStreamWaitEvent(stream, event_, 0), "cudaStreamWaitEvent");
}

Status CudaPoint::is_reached(bool* out) const noexcept {
  *out = true;
  if (event_ == nullptr) return {};
  const CurrentDevice current(device_);
  const cudaError_t error = cudaEventQuery(event_);
  *out = error == cudaSuccess;
  if (error != cudaErrorNotReady) return status_of(error, "cudaEventQuery");
  cudaGetLastError();
  return {};
}

}  // namespace halftone::nccl
