// The random words for stochastic rounding: element i of a block gets the lower (i even) or upper half of word i / 2 of
// the block's Philox sequence, so a lane's 8 elements have one Philox block. Device code.
#pragma once

#include "backend/formula/moment_rounding.h"
#include "backend/formula/rounding_key.h"
#include "core/philox.h"
#include "cuda/optim/tile.h"

namespace halftone::cuda {

struct Words {
  uint32_t pairs[kTile / 2];
  HALFTONE_DEVICE uint16_t of(int k) const { return static_cast<uint16_t>(pairs[k / 2] >> (k % 2 * 16)); }
};

// The words of the lane's elements. `block` is the tile's number in the parameter.
HALFTONE_DEVICE inline Words draw_words(PhiloxKey key, int64_t block) {
  constexpr int64_t kCounters = kBlockSize / kTile;
  const PhiloxBlock drawn = philox(key, static_cast<uint64_t>(block * kCounters + lane_of_thread()));
  return {{drawn[0], drawn[1], drawn[2], drawn[3]}};
}

// The words of lane `lane`. All lanes call it.
HALFTONE_DEVICE inline Words words_of_lane(const Words& own, int lane) {
  Words words;
#pragma unroll
  for (int i = 0; i < kTile / 2; ++i) words.pairs[i] = __shfl_sync(kAllLanes, own.pairs[i], lane);
  return words;
}

// The words that round the first and the third moment of the lane's elements, from those of the elements themselves.
HALFTONE_DEVICE inline Words words_of_first_moment(const Words& own) {
  return words_of_lane(own, static_cast<int>(first_moment_word(lane_of_thread() * kTile) / kTile));
}
HALFTONE_DEVICE inline Words words_of_third_moment(const Words& own) {
  return words_of_lane(own, static_cast<int>(third_moment_word(lane_of_thread() * kTile) / kTile));
}

}  // namespace halftone::cuda
