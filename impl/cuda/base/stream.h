// Streams and events of a CUDA device.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "backend/device.h"
#include "cuda/base/fault.h"
#include "cuda/base/recording.h"

namespace halftone::cuda {

class DnnHandle;
class LtHandle;

// Constants of a device, and the parts that its streams and kernels share. Outlives them.
struct DeviceState {
  int index = 0;
  int multiprocessors = 1;
  int capability = 80;              // 90 for 9.0
  size_t shared_memory = 48 << 10;  // bytes that one block may ask for
  bool allows_tf32 = false;         // in products of FP32 operands
  bool uses_managed_memory = false;
  bool fuses_gelu = false;   // products may end in the GELU of cuBLASLt
  Fault* fault = nullptr;    // host memory that kernels write
  LtHandle* lt = nullptr;    // for matrix products
  DnnHandle* dnn = nullptr;  // for convolutions
  RecordingState* recording = nullptr;
};

// Bytes of device memory that a stream has for its kernels.
inline constexpr size_t kScratchBytes = size_t{1} << 20;

class CudaStream final : public Stream {
 public:
  // Owns both arguments.
  CudaStream(const DeviceState& device, cudaStream_t native, void* scratch) noexcept
      : device_(device), native_(native), scratch_(scratch) {}
  ~CudaStream();

  void destroy() noexcept override;
  Status synchronize() noexcept override;
  void* native_handle() noexcept override { return native_; }

  cudaStream_t native() const noexcept { return native_; }
  const DeviceState& device() const noexcept { return device_; }
  // kScratchBytes of device memory, aligned to 256 bytes, with any content. A kernel entry may use them for what its
  // launches pass on to each other: the stream runs them in order, and nothing else uses this memory.
  void* scratch() const noexcept { return scratch_; }

 private:
  const DeviceState& device_;
  cudaStream_t native_;
  void* scratch_;
};

class CudaEvent final : public Event {
 public:
  CudaEvent(const DeviceState& device, cudaEvent_t native) noexcept : device_(device), native_(native) {}

  void destroy() noexcept override;
  Status record(Stream& stream) noexcept override;
  Status wait_on(Stream& stream) noexcept override;
  Status synchronize() noexcept override;
  Status is_reached(bool* out) noexcept override;

 private:
  const DeviceState& device_;
  cudaEvent_t native_;
};

Status create_stream(const DeviceState& device, CudaStream** out) noexcept;
Status create_event(const DeviceState& device, Event** out) noexcept;
// The fault that kernels reported, which is cleared.
Status take_fault(const DeviceState& device) noexcept;

// REQUIRES: a stream of a CUDA device; CUDA kernels get no other.
inline cudaStream_t native(Stream& stream) { return static_cast<CudaStream&>(stream).native(); }
inline const DeviceState& device_of(Stream& stream) { return static_cast<CudaStream&>(stream).device(); }
inline std::byte* scratch_of(Stream& stream) {
  return static_cast<std::byte*>(static_cast<CudaStream&>(stream).scratch());
}

}  // namespace halftone::cuda
