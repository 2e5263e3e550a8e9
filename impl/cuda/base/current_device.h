// Makes a device the calling thread's current one, and restores the program's choice at the end. The calls of the CUDA
// runtime refer to the current device. One thread.
#pragma once

#include <cuda_runtime.h>

namespace halftone::cuda {

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

}  // namespace halftone::cuda
