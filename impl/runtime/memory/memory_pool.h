// The memory of one purpose in the caching allocator: its own pages and slabs. The allocator has a common pool, and one
// for each recording of work. Not thread-safe: the allocator holds its lock.
#pragma once

#include <cstdint>

#include "runtime/memory/page_heap.h"
#include "runtime/memory/slab.h"

namespace halftone {

struct MemoryPool {
  // Returns empty slabs to the pages.
  void drop_empty_slabs() noexcept {
    for (SlabList& list : slabs) {
      for (Slab* slab = list.first(); slab != nullptr;) {
        Slab* following = SlabList::after(slab);
        if (slab->is_empty()) drop(slab);
        slab = following;
      }
    }
  }
  void drop(Slab* slab) noexcept {
    slabs[slab->cell_class()].remove(slab);
    pages.give(slab->block());
    delete slab;
  }

  PageHeap pages;
  SlabList slabs[kCellClassCount];
  int64_t live = 0;         // allocations
  uint32_t number = 0;      // of the recording that owns the pool, counted from 1
  bool is_retired = false;  // the recording's work will not run again
  uint32_t last_user = 0;   // once nothing is allocated: the last recording that may have used this memory
};

}  // namespace halftone
