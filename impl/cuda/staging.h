// Pinned memory for the way from host memory to a device: a transfer copies the caller's bytes into a block of it, and
// the call returns without a wait. Blocks are used again once the device has read them. Large transfers go in pieces,
// and wait for a block where too many are under way, so that pinned memory has a bound. Safe from any thread.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <mutex>
#include <vector>

#include "core/status.h"

namespace halftone::cuda {

class Staging {
 public:
  Staging() = default;
  ~Staging();  // REQUIRES: the device has finished all transfers
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Queues a copy of host memory, which may change as soon as this returns.
  Status copy(cudaStream_t stream, void* device, const void* host, size_t bytes) noexcept;

 private:
  struct Block {
    void* memory = nullptr;
    size_t bytes = 0;
    cudaEvent_t read = nullptr;  // the device has read the block
  };

  Status copy_piece(cudaStream_t stream, void* device, const void* host, size_t bytes) noexcept;
  // Takes a free block out of the list, or makes one. `bytes` is at most that of the largest block.
  Status take(size_t bytes, Block* out) noexcept;
  static Status make(size_t bytes, Block* out) noexcept;
  void give_back(const Block& block) noexcept;
  static void free(const Block& block) noexcept;

  std::mutex mutex_;
  std::vector<Block> blocks_;
};

}  // namespace halftone::cuda
