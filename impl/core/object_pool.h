// Keeps the memory of small objects that come and go in every step of training: tensors, storages, nodes of graphs.
// A released block waits for the next object of its size, so a step that repeats allocates nothing from the heap. Every
// block is one of operator new, and at most kMostKept bytes of each shard are kept. Safe from any thread, and no call
// waits for another thread.
#pragma once

#include <cstddef>

#include "core/fork_hook.h"

namespace halftone {

class ObjectPool {
 public:
  // Throws std::bad_alloc.
  static void* allocate(size_t bytes);
  // Null if there is no memory.
  static void* try_allocate(size_t bytes) noexcept;
  // `bytes` as they were allocated.
  static void release(void* memory, size_t bytes) noexcept;

  // The pool keeps blocks while one of these lives, and the last one frees them: a context has one.
  class User {
   public:
    // A user that `keeps` nothing is for programs that look for errors of memory, since kept blocks hide them.
    explicit User(bool keeps);
    ~User();
    User(const User&) = delete;
    User& operator=(const User&) = delete;

   private:
    const bool keeps_;
    ForkHook hook_;
  };
};

}  // namespace halftone
