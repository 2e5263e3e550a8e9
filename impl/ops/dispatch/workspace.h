// Scratch memory of one kernel call. Work on one stream runs in order, so the block may serve the next request of the
// allocator while the kernel is still queued.
#pragma once

#include <cstddef>

#include "runtime/allocator.h"
#include "runtime/stream_scope.h"
#include "tensor/storage.h"

namespace halftone {

class Workspace {
 public:
  // Throws OUT_OF_MEMORY.
  Workspace(ContextDevice& device, size_t bytes) : allocator_(*device.allocator) {
    if (StreamScope::innermost(device) != nullptr) {
      storage_ = Storage::allocate(device, bytes, Category::kWorkspace);
    } else {
      allocation_ = allocator_.allocate(bytes, Category::kWorkspace);
    }
  }
  ~Workspace() { allocator_.release(allocation_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  void* data() const noexcept { return storage_ ? storage_->data() : allocation_.data; }

 private:
  CachingAllocator& allocator_;
  Allocation allocation_;
  Ref<Storage> storage_;  // within a stream scope, whose memory needs care
};

}  // namespace halftone
