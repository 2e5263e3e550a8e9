#include "cuda/device.h"

#include <cuda_runtime.h>

#include <cstdio>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "cuda/base/current_device.h"
#include "cuda/base/error.h"
#include "cuda/base/kernel_groups.h"
#include "cuda/base/managed.h"
#include "cuda/base/stream.h"
#include "cuda/dnn/handle.h"
#include "cuda/driver.h"
#include "cuda/gemm/lt_handle.h"
#include "cuda/recorded_work.h"
#include "cuda/staging.h"

namespace halftone::cuda {
namespace {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) noexcept {
    state_.index = index;
    state_.recording = &recording_;
  }
  virtual ~CudaDevice();
  // Comes once, before every other call.
  Status open() noexcept;

  void destroy() noexcept override { delete this; }
  DeviceKind kind() const noexcept override { return DeviceKind::kCuda; }
  const char* name() const noexcept override { return name_; }
  int32_t index() const noexcept override { return state_.index; }
  Status set_option(DeviceOption option, int64_t value) noexcept override;

  bool can_record() const noexcept override { return true; }
  Status begin_recording(Stream& stream) noexcept override { return cuda::begin_recording(state_, stream); }
  Status end_recording(Stream& stream, RecordedWork** out) noexcept override;

  Status allocate(size_t bytes, void** out) noexcept override;
  void deallocate(void* memory, size_t bytes) noexcept override;
  bool host_accessible() const noexcept override { return false; }
  Status allocate_pinned(size_t bytes, void** out) noexcept override;
  void deallocate_pinned(void* memory, size_t bytes) noexcept override;

  Stream& stream() noexcept override { return *stream_; }
  Status create_stream(Stream** out) noexcept override;
  Status create_event(Event** out) noexcept override { return cuda::create_event(state_, out); }
  Status copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept override;
  Status copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept override;

  const Kernels& kernels() const noexcept override { return cuda::kernels(); }

 private:
  Status read_attributes() noexcept;
  Status allocate_managed(size_t bytes, void** out) noexcept;

  DeviceState state_;
  RecordingState recording_;
  std::vector<void*> pinned_to_free_;  // released by the recording thread meanwhile
  char name_[24] = "";
  std::unique_ptr<LtHandle> lt_;
  std::unique_ptr<DnnHandle> dnn_;
  Staging staging_;
  CudaStream* stream_ = nullptr;
};

CudaDevice::~CudaDevice() {
  const CurrentDevice current(state_.index);
  cudaDeviceSynchronize();
  dnn_.reset();  // it knows the stream
  if (stream_ != nullptr) stream_->destroy();
  if (state_.fault != nullptr) cudaFreeHost(state_.fault);
}

Status CudaDevice::read_attributes() noexcept {
  int shared = 0;
  int major = 0;
  int minor = 0;
  const std::pair<int*, cudaDeviceAttr> attributes[] = {
      {&state_.multiprocessors, cudaDevAttrMultiProcessorCount},
      {&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin},
      {&major, cudaDevAttrComputeCapabilityMajor},
      {&minor, cudaDevAttrComputeCapabilityMinor},
  };
  for (const auto& [out, attribute] : attributes) {
    Status status = status_of(cudaDeviceGetAttribute(out, attribute, state_.index), "cudaDeviceGetAttribute");
    if (!status.ok()) return status;
  }
  state_.shared_memory = static_cast<size_t>(shared);
  state_.capability = 10 * major + minor;
  return {};
}

Status CudaDevice::open() noexcept {
  std::snprintf(name_, sizeof name_, "cuda:%d", state_.index);
  const CurrentDevice current(state_.index);
  if (Status status = read_attributes(); !status.ok()) return status;
  void* word = nullptr;
  // Mapped: kernels write to it directly.
  Status status = status_of(cudaHostAlloc(&word, sizeof(Fault), cudaHostAllocMapped), "cudaHostAlloc");
  if (!status.ok()) return status;
  state_.fault = new (word) Fault;
  lt_.reset(new (std::nothrow) LtHandle(state_.index));
  dnn_.reset(new (std::nothrow) DnnHandle(state_.index));
  if (lt_ == nullptr || dnn_ == nullptr) return Status::failure(Code::kOutOfMemory, "no memory for a device");
  state_.lt = lt_.get();
  state_.dnn = dnn_.get();
  return cuda::create_stream(state_, &stream_);
}

Status CudaDevice::set_option(DeviceOption option, int64_t value) noexcept {
  switch (option) {
    case DeviceOption::kTf32Products:
      state_.allows_tf32 = value != 0;
      break;
    case DeviceOption::kManagedMemory:
      state_.uses_managed_memory = value != 0;
      break;
    case DeviceOption::kFusedGelu:
      state_.fuses_gelu = value != 0;
      break;
  }
  return {};
}

Status CudaDevice::allocate_managed(size_t bytes, void** out) noexcept {
  Status status = status_of(cudaMallocManaged(out, bytes), "cudaMallocManaged");
  if (!status.ok()) return status;
  status = status_of(prefer_device(*out, bytes, state_.index), "cudaMemAdvise");
  // A graph would prefetch in each run.
  if (status.ok() && !recording_.is_mine()) {
    status = status_of(prefetch_to_device(*out, bytes, state_.index, stream_->native()), "cudaMemPrefetchAsync");
  }
  if (!status.ok()) cudaFree(*out);
  return status;
}

Status CudaDevice::allocate(size_t bytes, void** out) noexcept {
  const CurrentDevice current(state_.index);
  if (state_.uses_managed_memory) return allocate_managed(bytes, out);
  const cudaError_t error = cudaMalloc(out, bytes);
  if (error != cudaErrorMemoryAllocation) return status_of(error, "cudaMalloc");
  size_t free = 0;
  size_t total = 0;
  // Clears the error: the next look at a launch would find it.
  cudaGetLastError();
  cudaMemGetInfo(&free, &total);
  return Status::failure(Code::kOutOfMemory, "%s has no %zu bytes: %zu of its %zu are free", name_, bytes, free, total);
}

void CudaDevice::deallocate(void* memory, size_t) noexcept {
  const CurrentDevice current(state_.index);
  cudaFree(memory);
}

Status CudaDevice::allocate_pinned(size_t bytes, void** out) noexcept {
  const CurrentDevice current(state_.index);
  return status_of(cudaHostAlloc(out, bytes, cudaHostAllocDefault), "cudaHostAlloc");
}

// A recording cannot wait. If there is no memory for the entry, the pinned memory is lost.
void CudaDevice::deallocate_pinned(void* memory, size_t) noexcept {
  const CurrentDevice current(state_.index);
  if (recording_.is_mine()) {
    try {
      pinned_to_free_.push_back(memory);
    } catch (const std::bad_alloc&) {
    }
    return;
  }
  cudaDeviceSynchronize();
  cudaFreeHost(memory);
}

Status CudaDevice::end_recording(Stream& stream, RecordedWork** out) noexcept {
  const Status status = cuda::end_recording(state_, stream, out);
  for (void* memory : std::exchange(pinned_to_free_, {})) deallocate_pinned(memory, 0);
  return status;
}

Status CudaDevice::create_stream(Stream** out) noexcept {
  CudaStream* made = nullptr;
  Status status = cuda::create_stream(state_, &made);
  if (status.ok()) *out = made;
  return status;
}

// Pinned memory is read in stream order. For other memory the runtime would wait for the stream's work so far, so it is
// staged.
Status CudaDevice::copy_from_host(Stream& stream, void* device, const void* host, size_t bytes) noexcept {
  if (bytes == 0) return {};
  const CurrentDevice current(state_.index);
  if (!is_pinned(host)) {
    const Status status = recording_.require_none("a transfer of host memory that is not pinned");
    return status.ok() ? staging_.copy(native(stream), device, host, bytes) : status;
  }
  return status_of(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, native(stream)), "cudaMemcpyAsync");
}

// For memory that is not pinned the runtime waits; its caller waits next in any case.
Status CudaDevice::copy_to_host(Stream& stream, void* host, const void* device, size_t bytes) noexcept {
  if (bytes == 0) return {};
  const CurrentDevice current(state_.index);
  if (!is_pinned(host)) {
    const Status status = recording_.require_none("reading the device's memory");
    if (!status.ok()) return status;
  }
  return status_of(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, native(stream)), "cudaMemcpyAsync");
}

}  // namespace

int32_t device_count() noexcept { return usable_devices().count; }

Status create_device(int32_t index, Device** out) noexcept {
  const UsableDevices usable = usable_devices();
  if (!usable.status.ok()) return usable.status;
  if (index >= usable.count) {
    return Status::failure(Code::kDevice, "there is no device cuda:%d: there are %d CUDA devices", index, usable.count);
  }
  if (Status status = check_capability(index); !status.ok()) return status;
  auto* device = new (std::nothrow) CudaDevice(index);
  if (device == nullptr) return Status::failure(Code::kOutOfMemory, "no memory for a device");
  Status status = device->open();
  if (status.ok()) {
    *out = device;
  } else {
    device->destroy();
  }
  return status;
}

}  // namespace halftone::cuda
