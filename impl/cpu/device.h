// The CPU backend's device. Memory comes from the context's allocator functions; its streams run work at once, on the
// device's pool of threads.
#pragma once

#include "backend/device.h"
#include "cpu/threads/thread_pool.h"

namespace halftone {

struct HostMemory;

}  // namespace halftone

namespace halftone::cpu {

// CPU kernels get the pool through their stream argument.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool) : pool_(pool) {}
  void destroy() noexcept override { delete this; }
  Status synchronize() noexcept override { return {}; }
  ThreadPool& pool() noexcept { return pool_; }

 private:
  ThreadPool& pool_;
};

// REQUIRES: a stream of a CPU device; CPU kernels get no other.
inline ThreadPool& pool_of(Stream& stream) { return static_cast<CpuStream&>(stream).pool(); }

// `num_threads` counts the caller of a kernel; `memory` outlives the device. Throws OUT_OF_MEMORY.
Device* create_device(int num_threads, const HostMemory& memory);

}  // namespace halftone::cpu
