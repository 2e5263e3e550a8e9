// Cuts a list of tensors into pieces of work by their sizes alone, never by the number of threads, so that results do
// not depend on it. Pure host code with its own test; kernels take the plan as it is.
#pragma once

#include <cstdint>
#include <vector>

namespace halftone {

// A range of one tensor of the list.
struct Chunk {
  int64_t slot;
  int64_t begin;
  int64_t end;
};

// Norms, block-wise moments and shards are cut at multiples of this.
inline constexpr int64_t kBlockSize = 256;
// The elements that one thread takes at a time: 64 KiB of FP32.
inline constexpr int64_t kChunkSize = 64 * kBlockSize;

// Cuts tensors of `sizes` elements, in order, at multiples of kChunkSize. An empty tensor gets no chunk.
std::vector<Chunk> plan_chunks(const std::vector<int64_t>& sizes);

}  // namespace halftone
