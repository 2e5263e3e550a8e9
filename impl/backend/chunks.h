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

// A range of a parameter, in elements: what one process updates.
struct ChunkRange {
  int64_t size = 0;
  int64_t first_block = 0;     // where the range begins in the parameter, in blocks of kBlockSize
  bool ends_parameter = true;  // false if another range of the parameter follows
};

// Norms, block-wise moments and shards are cut at multiples of this.
inline constexpr int64_t kBlockSize = 256;
// The elements that one thread takes at a time: 64 KiB of FP32.
inline constexpr int64_t kChunkSize = 64 * kBlockSize;

// Cuts ranges, in order, at multiples of kChunkSize in their parameters. An empty range gets no chunk. Next to a cut
// between two ranges, chunks are nodes of the norm's tree (formula/norm_tree.h), so that the tree is the same wherever
// a parameter is cut.
std::vector<Chunk> plan_chunks(const std::vector<ChunkRange>& ranges);
// As above, for whole tensors of `sizes` elements.
std::vector<Chunk> plan_chunks(const std::vector<int64_t>& sizes);

}  // namespace halftone
