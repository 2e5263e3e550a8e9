#include "cuda/base/error.h"

namespace halftone::cuda {

Status status_of(cudaError_t error, const char* call) noexcept {
  if (error == cudaSuccess) return {};
  // Clears the error that the runtime keeps for this thread, so that the program's own calls do not meet it.
  cudaGetLastError();
  const bool is_of_capture = error >= cudaErrorStreamCaptureUnsupported && error <= cudaErrorStreamCaptureWrongThread;
  const Code code = error == cudaErrorMemoryAllocation ? Code::kOutOfMemory
                    : is_of_capture                    ? Code::kState
                                                       : Code::kDevice;
  Status status = Status::failure(code, "%s: %s (%s)", call, cudaGetErrorString(error), cudaGetErrorName(error));
  status.native_code = static_cast<int32_t>(error);
  return status;
}

}  // namespace halftone::cuda
