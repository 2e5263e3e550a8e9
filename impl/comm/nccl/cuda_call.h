// Calls of the CUDA runtime: results as a Status, the current device and events. Safe from any thread.
#pragma once

#include <cuda_runtime.h>

#include "core/status.h"

namespace halftone::nccl {

// OUT_OF_MEMORY for a lack of memory, DEVICE otherwise. `call` is the function that returned `error`.
Status status_of(cudaError_t error, const char* call) noexcept;

// Makes a device the calling thread's current one for a block. The calls of the runtime refer to the current device.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index) noexcept : index_(index) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = index;
    if (before_ != index_) cudaSetDevice(index_);
  }
  ~CurrentDevice() {
    if (before_ != index_) cudaSetDevice(before_);
  }
  CurrentDevice(const CurrentDevice&) = delete;
  CurrentDevice& operator=(const CurrentDevice&) = delete;

 private:
  const int index_;
  int before_ = 0;
};

// A point in the work of a stream.
class CudaPoint {
 public:
  explicit CudaPoint(int device) noexcept : device_(device) {}
  ~CudaPoint();
  CudaPoint(const CudaPoint&) = delete;
  CudaPoint& operator=(const CudaPoint&) = delete;

  // Comes once.
  Status record(cudaStream_t stream) noexcept;
  // Later work of `stream` runs after the point.
  Status wait_on(cudaStream_t stream) const noexcept;
  // True before record().
  Status is_reached(bool* out) const noexcept;

 private:
  const int device_;
  cudaEvent_t event_ = nullptr;
};

}  // namespace halftone::nccl
