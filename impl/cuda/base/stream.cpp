#include "cuda/base/stream.h"

#include <new>

#include "cuda/base/current_device.h"
#include "cuda/base/error.h"

namespace halftone::cuda {

CudaStream::~CudaStream() {
  const CurrentDevice current(device_.index);
  cudaStreamSynchronize(native_);
  cudaStreamDestroy(native_);
  cudaFree(scratch_);
}

void CudaStream::destroy() noexcept { delete this; }

Status CudaStream::synchronize() noexcept {
  if (Status status = device_.recording->require_none("a wait for the device"); !status.ok()) return status;
  const CurrentDevice current(device_.index);
  Status status = status_of(cudaStreamSynchronize(native_), "cudaStreamSynchronize");
  return status.ok() ? take_fault(device_) : status;
}

void CudaEvent::destroy() noexcept {
  const CurrentDevice current(device_.index);
  cudaEventDestroy(native_);
  delete this;
}

Status CudaEvent::record(Stream& stream) noexcept {
  const CurrentDevice current(device_.index);
  return status_of(cudaEventRecord(native_, native(stream)), "cudaEventRecord");
}

Status CudaEvent::wait_on(Stream& stream) noexcept {
  const CurrentDevice current(device_.index);
  return status_of(cudaStreamWaitEvent(native(stream), native_, 0), "cudaStreamWaitEvent");
}

Status CudaEvent::synchronize() noexcept {
  if (Status status = device_.recording->require_none("a wait for the device"); !status.ok()) return status;
  const CurrentDevice current(device_.index);
  Status status = status_of(cudaEventSynchronize(native_), "cudaEventSynchronize");
  return status.ok() ? take_fault(device_) : status;
}

Status CudaEvent::is_reached(bool* out) noexcept {
  if (Status status = device_.recording->require_none("a question for an event"); !status.ok()) return status;
  const CurrentDevice current(device_.index);
  const cudaError_t error = cudaEventQuery(native_);
  *out = error == cudaSuccess;
  return error == cudaErrorNotReady ? Status{} : status_of(error, "cudaEventQuery");
}

// Non-blocking: the program's own work on the legacy default stream gives no order.
Status create_stream(const DeviceState& device, CudaStream** out) noexcept {
  const CurrentDevice current(device.index);
  cudaStream_t native = nullptr;
  Status status = status_of(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  if (!status.ok()) return status;
  void* scratch = nullptr;
  status = status_of(cudaMalloc(&scratch, kScratchBytes), "cudaMalloc");
  *out = status.ok() ? new (std::nothrow) CudaStream(device, native, scratch) : nullptr;
  if (*out != nullptr) return {};
  cudaStreamDestroy(native);
  cudaFree(scratch);
  return status.ok() ? Status::failure(Code::kOutOfMemory, "no memory for a stream") : status;
}

// Without times, which would slow the device's queue down.
Status create_event(const DeviceState& device, Event** out) noexcept {
  const CurrentDevice current(device.index);
  cudaEvent_t native = nullptr;
  Status status = status_of(cudaEventCreateWithFlags(&native, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  if (!status.ok()) return status;
  *out = new (std::nothrow) CudaEvent(device, native);
  if (*out != nullptr) return {};
  cudaEventDestroy(native);
  return Status::failure(Code::kOutOfMemory, "no memory for an event");
}

// The exchange makes one of several waiting threads take the fault. Kernels of other streams may report one meanwhile,
// which a later wait returns.
Status take_fault(const DeviceState& device) noexcept {
  constexpr int32_t kWritten = static_cast<int32_t>(FaultState::kWritten);
  if (__atomic_load_n(&device.fault->state, __ATOMIC_ACQUIRE) != kWritten) return {};
  const Fault fault = *device.fault;
  int32_t expected = kWritten;
  const bool is_taken =
      __atomic_compare_exchange_n(&device.fault->state, &expected, static_cast<int32_t>(FaultState::kNone), false,
                                  __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  return is_taken ? status_of(fault) : Status{};
}

}  // namespace halftone::cuda
