// The handles that a scope of htone_handles_begin owns. Used by the thread of the scope.
#pragma once

#include <cstddef>
#include <unordered_map>
#include <vector>

#include "core/thread.h"

namespace halftone::capi {

// Handles that calls of one thread gave out while a scope of htone_handles_begin was the innermost of its kind. A
// handle that was released meanwhile stays in the list: its value never becomes that of another handle.
class GivenHandles {
 public:
  // The innermost of this thread, which notes the handles; null where none is open.
  static GivenHandles* innermost() noexcept { return thread().given_handles; }

  GivenHandles() noexcept : outer_(innermost()) { thread().given_handles = this; }
  // Releases the handles, the last one first. On the thread of the scope that is the innermost list there.
  ~GivenHandles();
  GivenHandles(const GivenHandles&) = delete;
  GivenHandles& operator=(const GivenHandles&) = delete;

  // Makes place for more handles, so that noting them cannot fail. Throws std::bad_alloc.
  void reserve(size_t count);
  void note(void* handle) noexcept { handles_.push_back(handle); }
  // Moves a handle to the list around this one, or to the caller where there is none. Does nothing if it is not here.
  void keep(void* handle);

 private:
  GivenHandles* const outer_;
  // Returns the place of a handle in the list, or its size if it is not there.
  size_t find(void* handle);

  std::vector<void*> handles_;  // null for a handle that was kept
  // The places of the first indexed_ handles. Made only when a handle far from the end is kept, so that noting a handle
  // stays a store and keeping all handles of a list, in any order, takes time in proportion to their number.
  std::unordered_map<void*, size_t> places_;
  size_t indexed_ = 0;
};

}  // namespace halftone::capi
