// Scratch memory of one kernel call. Work on one stream runs in order, so the block may serve the next request of the
// allocator while the kernel is still queued.
#pragma once

#include <cstddef>

#include "runtime/context.h"

namespace halftone {

class Workspace {
 public:
  // Throws OUT_OF_MEMORY.
  Workspace(ContextDevice& device, size_t bytes)
      : allocator_(*device.allocator), allocation_(allocator_.allocate(bytes, Category::kWorkspace)) {}
  ~Workspace() { allocator_.release(allocation_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const noexcept { return allocation_.data; }

 private:
  CachingAllocator& allocator_;
  const Allocation allocation_;
};

}  // namespace halftone
