#include "cuda/driver.h"

#include <cuda_runtime.h>

#include "cuda/base/error.h"

namespace halftone::cuda {
namespace {

// 8.0: the first with instructions for BF16.
constexpr int kOldestMajor = 8;

Status why_none(cudaError_t error) noexcept {
  cudaGetLastError();
  int driver = 0;
  int needed = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&needed);
  Status status = Status::failure(Code::kDevice, "no CUDA device: %s", cudaGetErrorString(error));
  if (error == cudaErrorInsufficientDriver && driver == 0) {
    status = Status::failure(Code::kDevice, "no CUDA device: NVIDIA's driver is not installed");
  } else if (error == cudaErrorInsufficientDriver) {
    status = Status::failure(Code::kDevice, "no CUDA device: the driver supports CUDA %d.%d, expected %d.%d or later",
                             driver / 1000, driver % 1000 / 10, needed / 1000, needed % 1000 / 10);
  } else if (error == cudaErrorNoDevice) {
    status = Status::failure(Code::kDevice, "no CUDA device: the driver finds none");
  }
  status.native_code = static_cast<int32_t>(error);
  return status;
}

}  // namespace

UsableDevices usable_devices() noexcept {
  UsableDevices usable;
  int count = 0;  // a failure leaves it as it is
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) {
    usable.count = count;
  } else {
    usable.status = why_none(error == cudaSuccess ? cudaErrorNoDevice : error);
  }
  return usable;
}

Status check_capability(int32_t index) noexcept {
  int major = 0;
  int minor = 0;
  Status status =
      status_of(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, index), "cudaDeviceGetAttribute");
  if (status.ok()) {
    status =
        status_of(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, index), "cudaDeviceGetAttribute");
  }
  if (!status.ok() || major >= kOldestMajor) return status;
  return Status::failure(Code::kDevice, "cuda:%d has compute capability %d.%d, expected %d.0 or later", index, major,
                         minor, kOldestMajor);
}

bool is_pinned(const void* host) noexcept {
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, host) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace halftone::cuda
