#include "cuda/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "cuda/base/error.h"

namespace halftone::cuda {
namespace {

constexpr size_t kSmallestBlock = 64 << 10;

}  // namespace

Staging::~Staging() {
  for (const Block& block : blocks_) free(block);
}

void Staging::free(const Block& block) noexcept {
  if (block.read != nullptr) cudaEventDestroy(block.read);
  if (block.memory != nullptr) cudaFreeHost(block.memory);
}

// Sizes are powers of two, so that blocks fit later transfers.
Status Staging::take(size_t bytes, Block* out) noexcept {
  const std::lock_guard lock(mutex_);
  const auto fits = [&](const Block& block) {
    return block.bytes >= bytes && cudaEventQuery(block.read) == cudaSuccess;
  };
  const auto found = std::find_if(blocks_.begin(), blocks_.end(), fits);
  if (found != blocks_.end()) {
    *out = *found;
    blocks_.erase(found);
    return {};
  }
  cudaGetLastError();  // a block that is not free yet is no error
  Block block;
  block.bytes = std::max(kSmallestBlock, std::bit_ceil(bytes));
  Status status = status_of(cudaHostAlloc(&block.memory, block.bytes, cudaHostAllocDefault), "cudaHostAlloc");
  if (status.ok()) {
    status = status_of(cudaEventCreateWithFlags(&block.read, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }
  if (!status.ok()) {
    free(block);
    return status;
  }
  *out = block;
  return {};
}

void Staging::give_back(const Block& block) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    blocks_.push_back(block);
  } catch (const std::bad_alloc&) {
    cudaEventSynchronize(block.read);
    free(block);
  }
}

Status Staging::copy(cudaStream_t stream, void* device, const void* host, size_t bytes) noexcept {
  Block block;
  if (Status status = take(bytes, &block); !status.ok()) return status;
  std::memcpy(block.memory, host, bytes);
  Status status =
      status_of(cudaMemcpyAsync(device, block.memory, bytes, cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  if (status.ok()) status = status_of(cudaEventRecord(block.read, stream), "cudaEventRecord");
  give_back(block);
  return status;
}

}  // namespace halftone::cuda
