#include "backend/chunks.h"

#include <algorithm>
#include <cstddef>

namespace halftone {

std::vector<Chunk> plan_chunks(const std::vector<int64_t>& sizes) {
  std::vector<Chunk> chunks;
  for (size_t slot = 0; slot < sizes.size(); ++slot) {
    for (int64_t begin = 0; begin < sizes[slot]; begin += kChunkSize) {
      chunks.push_back({static_cast<int64_t>(slot), begin, std::min(begin + kChunkSize, sizes[slot])});
    }
  }
  return chunks;
}

}  // namespace halftone
