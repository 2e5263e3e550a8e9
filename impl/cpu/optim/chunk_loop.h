// Runs the chunks of a multi-tensor list on the pool. Used by the optimizer kernels; safe from any thread.
#pragma once

#include "backend/chunks.h"
#include "backend/kernels/optim.h"
#include "cpu/threads/thread_pool.h"

namespace halftone::cpu {

// Updating at most this many elements takes about 5 us or less: not worth a second thread.
inline constexpr int64_t kInlineElements = kChunkSize;

template <class Slot>
int64_t elements_of(const MultiTensor<Slot>& tensors) noexcept {
  int64_t elements = 0;
  for (int64_t i = 0; i < tensors.slot_count; ++i) elements += tensors.slots[i].size;
  return elements;
}

// Calls f(slot, chunk, index) for every chunk. A list of few elements stays on the caller's thread.
template <class Slot, class F>
void for_each_chunk(ThreadPool& pool, const MultiTensor<Slot>& tensors, F&& f) noexcept {
  const auto run = [&](int64_t index, int) {
    const Chunk& chunk = tensors.chunks[index];
    f(tensors.slots[chunk.slot], chunk, index);
  };
  if (elements_of(tensors) > kInlineElements) return pool.parallel_for(tensors.chunk_count, run);
  for (int64_t i = 0; i < tensors.chunk_count; ++i) run(i, 0);
}

}  // namespace halftone::cpu
