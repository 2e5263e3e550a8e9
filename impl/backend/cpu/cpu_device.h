// The CPU backend's device: memory from the host's table, one stream that runs work at once on the context's pool.
#pragma once

#include "backend/device.h"
#include "backend/thread_pool.h"

namespace halftone {

struct HostMemory;

}  // namespace halftone

namespace halftone::cpu {

// What a CPU kernel is given as its stream.
class CpuStream final : public Stream {
 public:
  explicit CpuStream(ThreadPool& pool) : pool_(pool) {}
  Status synchronize() noexcept override { return {}; }
  ThreadPool& pool() noexcept { return pool_; }

 private:
  ThreadPool& pool_;
};

// REQUIRES: the stream is one of a CPU device, as it always is in a CPU kernel.
inline ThreadPool& pool_of(Stream& stream) { return static_cast<CpuStream&>(stream).pool(); }

// `pool` and `memory` outlive the device. Throws OUT_OF_MEMORY.
Device* create_device(ThreadPool& pool, const HostMemory& memory);

}  // namespace halftone::cpu
