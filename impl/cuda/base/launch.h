// Starts kernels. Host code that launches is compiled by nvcc with the kernel; plans of grids are plain functions with
// their own tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "cuda/base/current_device.h"
#include "cuda/base/error.h"
#include "cuda/base/stream.h"

namespace halftone::cuda {

struct Grid {
  int64_t blocks = 1;
  int threads = 256;
  size_t shared_bytes = 0;  // dynamic shared memory of a block
};

inline constexpr int kThreads = 256;
// Blocks of 256 threads that fill a multiprocessor.
inline constexpr int kBlocksPerMultiprocessor = 8;

// A grid whose threads take `items` items in a grid-stride loop: enough blocks to fill the device, and no idle ones.
// No block for no items.
inline Grid grid_for_items(const DeviceState& device, int64_t items, int threads = kThreads) {
  const int64_t needed = (items + threads - 1) / threads;
  const int64_t most = static_cast<int64_t>(device.multiprocessors) * kBlocksPerMultiprocessor * (kThreads / threads);
  return {.blocks = std::min(needed, std::max<int64_t>(most, 1)), .threads = threads};
}

// A grid of one block for each row, at most 2^31 - 1; kernels loop over further rows.
inline Grid grid_for_rows(int64_t rows, int threads, size_t shared_bytes = 0) {
  return {.blocks = std::min<int64_t>(rows, INT32_MAX), .threads = threads, .shared_bytes = shared_bytes};
}

// Bytes of dynamic shared memory that every kernel may use; more has to be asked for.
inline constexpr size_t kUsualShared = 48 << 10;

// Queues a kernel. A grid without blocks does nothing.
template <class... Parameters>
Status launch(Stream& stream, const Grid& grid, void (*kernel)(Parameters...),
              std::type_identity_t<Parameters>... arguments) noexcept {
  if (grid.blocks == 0) return {};
  const CurrentDevice current(device_of(stream).index);
  if (grid.shared_bytes > kUsualShared) {
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(grid.shared_bytes));
    if (error != cudaSuccess) return status_of(error, "cudaFuncSetAttribute");
  }
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
  return status_of(
      cudaLaunchKernel(kernel, dim3(static_cast<unsigned>(grid.blocks)), dim3(static_cast<unsigned>(grid.threads)),
                       pointers, grid.shared_bytes, native(stream)),
      "cudaLaunchKernel");
}

}  // namespace halftone::cuda
