// The CPU backend's device. Memory comes from the context's allocator functions; its streams run work at once, on the
// device's pool of threads.
#pragma once

#include <atomic>

#include "backend/device.h"
#include "cpu/threads/thread_pool.h"

namespace halftone {

struct HostMemory;

}  // namespace halftone

namespace halftone::cpu {

// DeviceOption, for those that the CPU has.
struct CpuOptions {
  std::atomic<bool> rounds_to_tf32{false};
};

// CPU kernels get the pool and the options through their stream argument. The options outlive the stream; null counts
// as none set.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool, const CpuOptions* options = nullptr) : pool_(pool), options_(options) {}
  void destroy() noexcept override { delete this; }
  Status synchronize() noexcept override { return {}; }
  ThreadPool& pool() noexcept { return pool_; }
  bool rounds_to_tf32() const noexcept {
    return options_ != nullptr && options_->rounds_to_tf32.load(std::memory_order_relaxed);
  }

 private:
  ThreadPool& pool_;
  const CpuOptions* options_;
};

// REQUIRES: a stream of a CPU device; CPU kernels get no other.
inline ThreadPool& pool_of(Stream& stream) { return static_cast<CpuStream&>(stream).pool(); }
inline bool rounds_to_tf32(Stream& stream) { return static_cast<CpuStream&>(stream).rounds_to_tf32(); }

// `num_threads` counts the caller of a kernel; `memory` outlives the device. Throws OUT_OF_MEMORY.
Device* create_device(int num_threads, const HostMemory& memory);

}  // namespace halftone::cpu
