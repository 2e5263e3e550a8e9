// How a list of tensors is cut into pieces of work: by sizes alone, never by the number of threads, so that results do
// not depend on it. Pure host code with a test of its own; kernels take the plan as it is.
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

// The unit that norms, block-wise moments and shards are cut at.
inline constexpr int64_t kBlockSize = 256;
// What one thread takes at a time: 64 KiB of FP32.
inline constexpr int64_t kChunkSize = 64 * kBlockSize;

// Cuts tensors of `sizes` elements, in order, at multiples of kChunkSize. Empty tensors get no chunk.
std::vector<Chunk> plan_chunks(const std::vector<int64_t>& sizes);

}  // namespace halftone
