#include "backend/chunks.h"

#include <algorithm>
#include <bit>
#include <cstddef>

namespace halftone {
namespace {

constexpr int64_t kChunkBlocks = kChunkSize / kBlockSize;

// The blocks of the largest node of the tree that begins at block `first` and ends at block `end` or before.
int64_t node_at(int64_t first, int64_t end) {
  const auto fits = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(end - first)));
  const int64_t aligned = first == 0 ? kChunkBlocks : first & -first;
  return std::min({fits, aligned, kChunkBlocks});
}

// A chunk at the parameter's end is a node whose missing blocks count as zeros. Other incomplete chunks are not nodes,
// and are cut into nodes.
int64_t blocks_of_chunk(int64_t first, int64_t end, bool ends_parameter) {
  const bool is_last = end - first <= kChunkBlocks;
  if (first % kChunkBlocks == 0 && (!is_last || ends_parameter)) return std::min(kChunkBlocks, end - first);
  return node_at(first, end);
}

void append_chunks(int64_t slot, const ChunkRange& range, std::vector<Chunk>& chunks) {
  const int64_t end = range.first_block + (range.size + kBlockSize - 1) / kBlockSize;
  for (int64_t first = range.first_block; first < end;) {
    const int64_t blocks = blocks_of_chunk(first, end, range.ends_parameter);
    const int64_t begin = (first - range.first_block) * kBlockSize;
    chunks.push_back({slot, begin, std::min(begin + blocks * kBlockSize, range.size)});
    first += blocks;
  }
}

}  // namespace

std::vector<Chunk> plan_chunks(const std::vector<ChunkRange>& ranges) {
  std::vector<Chunk> chunks;
  for (size_t slot = 0; slot < ranges.size(); ++slot) append_chunks(static_cast<int64_t>(slot), ranges[slot], chunks);
  return chunks;
}

std::vector<Chunk> plan_chunks(const std::vector<int64_t>& sizes) {
  std::vector<ChunkRange> ranges;
  ranges.reserve(sizes.size());
  for (const int64_t size : sizes) ranges.push_back({.size = size});
  return plan_chunks(ranges);
}

}  // namespace halftone
