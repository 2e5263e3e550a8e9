// Memory of the emulated CUDA runtime.
#include <cstdlib>
#include <iterator>

#include "world.h"

namespace emulation {
namespace {

constexpr size_t kAlignment = 256;
constexpr int kUnset = 0xff;  // NaN in every float, and no valid index

cudaError_t allocate(void** out, size_t bytes, cudaMemoryType type) {
  const auto counted = static_cast<int64_t>(type == cudaMemoryTypeDevice ? bytes : 0);
  const std::lock_guard lock(world().mutex);
  if (world().device_bytes + counted > memory_limit) return result(cudaErrorMemoryAllocation);
  if (posix_memalign(out, kAlignment, bytes > 0 ? bytes : 1) != 0) return result(cudaErrorMemoryAllocation);
  std::memset(*out, kUnset, bytes);
  world().device_bytes += counted;
  world().memory[static_cast<const char*>(*out)] = {bytes, type};
  return cudaSuccess;
}

void release(void* memory) {
  if (memory == nullptr) return;
  const std::lock_guard lock(world().mutex);
  const auto found = world().memory.find(static_cast<const char*>(memory));
  if (found == world().memory.end()) std::abort();  // freed twice, or never allocated
  if (found->second.type == cudaMemoryTypeDevice) {
    world().device_bytes -= static_cast<int64_t>(found->second.bytes);
  }
  std::memset(memory, kUnset, found->second.bytes);
  world().memory.erase(found);
  std::free(memory);
}

cudaMemoryType type_of(const void* memory) {
  const auto* byte = static_cast<const char*>(memory);
  const std::lock_guard lock(world().mutex);
  const auto after = world().memory.upper_bound(byte);
  if (after == world().memory.begin()) return cudaMemoryTypeUnregistered;
  const auto& [first, block] = *std::prev(after);
  return byte < first + block.bytes ? block.type : cudaMemoryTypeUnregistered;
}

}  // namespace
}  // namespace emulation

using namespace emulation;

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(world().mutex);
  *total = static_cast<size_t>(memory_limit);
  *free = static_cast<size_t>(std::max<int64_t>(memory_limit - world().device_bytes, 0));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** out, size_t bytes) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeDevice);
}
cudaError_t cudaMallocManaged(void** out, size_t bytes, unsigned) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeManaged);
}
// Advice is for managed memory alone.
cudaError_t cudaMemAdvise(const void* memory, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return type_of(memory) == cudaMemoryTypeManaged ? cudaSuccess : result(cudaErrorInvalidValue);
}
cudaError_t cudaMemPrefetchAsync(const void* memory, size_t, cudaMemLocation, unsigned, cudaStream_t stream) {
  if (type_of(memory) != cudaMemoryTypeManaged) return result(cudaErrorInvalidValue);
  ++counts.prefetches;
  return enqueue(stream, [] {});
}
// Both wait for the device.
cudaError_t cudaFree(void* memory) {
  if (const cudaError_t error = refuse_in_capture(false); error != cudaSuccess) return error;
  run_everything(current_machine());
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaHostAlloc(void** out, size_t bytes, unsigned) {
  if (const cudaError_t error = refuse_in_capture(true); error != cudaSuccess) return error;
  return allocate(out, bytes, cudaMemoryTypeHost);
}
cudaError_t cudaFreeHost(void* memory) {
  if (const cudaError_t error = refuse_in_capture(false); error != cudaSuccess) return error;
  run_everything(current_machine());
  release(memory);
  return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  attributes->type = type_of(memory);
  return cudaSuccess;
}

// Memory that is not pinned is read at once, after a wait for the stream, which counts; and written after one.
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  const bool is_direct = type_of(kind == cudaMemcpyHostToDevice ? from : to) != cudaMemoryTypeUnregistered;
  if (stream->capture != nullptr && kind != cudaMemcpyDeviceToDevice && !is_direct) {
    return refuse(*stream->capture, cudaErrorStreamCaptureUnsupported);
  }
  const cudaError_t error = enqueue(stream, [=] { std::memcpy(to, from, bytes); });
  if (error != cudaSuccess || kind == cudaMemcpyDeviceToDevice || is_direct) return error;
  return cudaStreamSynchronize(stream);
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return enqueue(stream, [=] { std::memset(to, value, bytes); });
}

// Device memory for `bytes` more than is allocated now; a negative number lifts the limit.
HALFTONE_TEST_EXPORT void cuda_emulation_leave_memory(int64_t bytes) {
  const std::lock_guard lock(world().mutex);
  memory_limit = bytes < 0 ? kDeviceMemory : world().device_bytes + bytes;
}
