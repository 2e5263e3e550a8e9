// The caching allocator of one device: size classes below 4 KiB, pages above, best fit with split and merge. Released
// blocks stay reserved for the next request. `current` and `peak` count requested bytes, `reserved` counts bytes taken
// from the device. Safe from any thread.
//
// Blocks belong to the device's default stream. A released block may still be used by work in that stream: the next use
// runs behind it. Other streams have no such order, so a block that they use returns only when they have finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/device.h"
#include "runtime/allocation.h"
#include "runtime/stream_uses.h"

namespace halftone {

struct MemoryStats {
  int64_t current = 0;                            // requested bytes not released yet
  int64_t peak = 0;                               // the highest `current` since creation or reset_peak
  int64_t reserved = 0;                           // bytes taken from the device, in use or cached
  int64_t limit = 0;                              // upper bound of `reserved`; 0: no limit
  int64_t allocations = 0;                        // requests served since creation
  int64_t device_allocations = 0;                 // requests that needed memory from the device
  int64_t by_category[kCategoryCount] = {};       // `current` by category
  int64_t peak_by_category[kCategoryCount] = {};  // `by_category` when `current` was at its peak
};

struct MemoryPool;

class CachingAllocator {
 public:
  explicit CachingAllocator(Device& device);
  ~CachingAllocator();  // REQUIRES: every allocation was released
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Returns 64-byte aligned memory with unspecified content. Throws OUT_OF_MEMORY with the requested, current, reserved
  // and free bytes if the device has no memory or the limit would be passed, and emptying the cache did not help.
  Allocation allocate(size_t bytes, Category category);
  // `uses` are the other streams that have used the memory. REQUIRES: these streams still exist.
  void release(const Allocation& allocation, StreamUses uses = {}) noexcept;
  // Counts the memory in another category from here on.
  void set_category(Allocation& allocation, Category category) noexcept;
  // For recorded work, which uses its memory again at each run. Until end_recording, this thread's requests are served
  // from a pool of their own, which serves no others. Memory that exists now, and is released before the pool is, stays
  // reserved until then. Nothing is returned to the device meanwhile, so the cache is emptied first. Throws STATE if a
  // thread records already, and OUT_OF_MEMORY. REQUIRES: the pool is released.
  MemoryPool* begin_recording();
  void end_recording() noexcept;
  // The recorded work runs no more. Memory of the pool that is still allocated stays valid; all else serves every
  // request from here on.
  void release_pool(MemoryPool* pool) noexcept;

  // Adds a stream to `uses`, which threads may share.
  void add_use(StreamUses& uses, Stream& stream);

  MemoryStats stats() const noexcept;
  void reset_peak() noexcept;
  void set_limit(int64_t bytes) noexcept;
  // Returns all cached memory that is not in use to the device.
  void release_cached() noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halftone
