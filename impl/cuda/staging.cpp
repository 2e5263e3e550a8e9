#include "cuda/staging.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "cuda/base/error.h"

namespace halftone::cuda {
namespace {

constexpr size_t kSmallestBlock = 64 << 10;
constexpr size_t kLargestBlock = 16 << 20;
// Blocks at a time: 256 MiB at most.
constexpr size_t kMostBlocks = 16;

}  // namespace

Staging::~Staging() {
  for (const Block& block : blocks_) free(block);
}

void Staging::free(const Block& block) noexcept {
  if (block.read != nullptr) cudaEventDestroy(block.read);
  if (block.memory != nullptr) cudaFreeHost(block.memory);
}

// Sizes are powers of two, so that blocks fit later transfers; the smallest free block that is large enough is taken.
Status Staging::take(size_t bytes, Block* out) noexcept {
  const std::lock_guard lock(mutex_);
  auto best = blocks_.end();
  for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
    if (block->bytes < bytes || (best != blocks_.end() && block->bytes >= best->bytes)) continue;
    if (cudaEventQuery(block->read) == cudaSuccess) best = block;
  }
  cudaGetLastError();  // a block that is not free yet is no error
  if (best == blocks_.end() && blocks_.size() >= kMostBlocks) {
    // The oldest one. It is replaced where it is too small.
    best = blocks_.begin();
    Status status = status_of(cudaEventSynchronize(best->read), "cudaEventSynchronize");
    if (!status.ok()) return status;
    if (best->bytes < bytes) {
      free(*best);
      blocks_.erase(best);
      best = blocks_.end();
    }
  }
  if (best == blocks_.end()) return make(bytes, out);
  *out = *best;
  blocks_.erase(best);
  return {};
}

Status Staging::make(size_t bytes, Block* out) noexcept {
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
  Status status;
  for (size_t done = 0; done < bytes && status.ok(); done += kLargestBlock) {
    const size_t piece = std::min(kLargestBlock, bytes - done);
    status = copy_piece(stream, static_cast<char*>(device) + done, static_cast<const char*>(host) + done, piece);
  }
  return status;
}

Status Staging::copy_piece(cudaStream_t stream, void* device, const void* host, size_t bytes) noexcept {
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
