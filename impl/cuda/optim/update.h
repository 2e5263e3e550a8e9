// The update pass of the optimizers that go over their parameters once: load, formula, store, a tile at a time. A rule
// is a struct of static functions with
//   Group, Factors            the settings, and what all elements of a group share in one step
//   kHasThird                 true if there may be a third moment
//   factors(group, state, updates)     `updates` counts those of the parameter
//   decay1(factors), decay3(factors)   the factors by which the formula multiplies the first and the third moment
//   update(factors, slot, tile)        the formula
#pragma once

#include "cuda/optim/weights.h"

namespace halftone::cuda {

// The arguments of a formula; those of moments that the optimizer does not have are not used.
struct UpdateTile {
  float grad[kTile];
  float master[kTile];
  float moment1[kTile];
  float moment2[kTile];
  float moment3[kTile];
};

// Which moments are rounded stochastically.
struct MomentRule {
  bool is_random1;
  bool is_random2;
  bool is_random3;
};

template <class Rule>
HALFTONE_DEVICE inline MomentRule moment_rule(const UpdateSlot& slot, const typename Rule::Factors& factors) {
  MomentRule rule = {rounds_stochastically(slot.moment1.dtype, Rule::decay1(factors)),
                     rounds_stochastically(slot.moment2.dtype, 1.0f), false};
  if constexpr (Rule::kHasThird) rule.is_random3 = rounds_stochastically(slot.moment3.dtype, Rule::decay3(factors));
  return rule;
}

template <class Rule>
HALFTONE_DEVICE inline void store_moments(const UpdateSlot& slot, const Part& part, const UpdateTile& tile,
                                          const MomentRule& rule, PhiloxKey key) {
  Words words = {};
  if (rule.is_random1 || rule.is_random2 || rule.is_random3) {
    words = draw_words(key, slot.first_block + part.tile_begin / kBlockSize);
  }
  const Words first = rule.is_random1 ? words_of_first_moment(words) : words;
  store_moment(part, tile.moment1, rule.is_random1, first, slot.moment1);
  store_moment(part, tile.moment2, rule.is_random2, words, slot.moment2);
  if constexpr (Rule::kHasThird) {
    const Words third = rule.is_random3 ? words_of_third_moment(words) : words;
    store_moment(part, tile.moment3, rule.is_random3, third, slot.moment3);
  }
}

template <class Rule>
HALFTONE_DEVICE inline void update_tile(const UpdateSlot& slot, const Part& part, const typename Rule::Factors& factors,
                                        int64_t step) {
  UpdateTile tile;
  load_part(slot.grad, slot.grad_dtype, part, tile.grad);
  load_weights(slot, part, tile.master);
  load_moment(slot.moment1, part, tile.moment1);
  load_moment(slot.moment2, part, tile.moment2);
  if constexpr (Rule::kHasThird) load_moment(slot.moment3, part, tile.moment3);
  Rule::update(factors, slot, tile);
  store_moments<Rule>(slot, part, tile, moment_rule<Rule>(slot, factors),
                      rounding_key(slot.seed, slot.parameter, step, Rounded::kMoment));
  store_weights(slot, part, tile.master, rounding_key(slot.seed, slot.parameter, step, Rounded::kWeight));
}

// One thread computes the factors, whose powers are in double.
template <class Rule>
HALFTONE_KERNEL update_kernel(MultiTensor<UpdateSlot> tensors, const typename Rule::Group* groups,
                              const OptimizerState* state) {
  if (state->found_inf != 0.0f) return;
  __shared__ typename Rule::Factors factors;
  for_each_chunk_part(tensors, [&](const Chunk& chunk, int64_t first, int64_t last) {
    const UpdateSlot& slot = tensors.slots[chunk.slot];
    __syncthreads();
    if (threadIdx.x == 0) factors = Rule::factors(groups[slot.group], *state, updates_of(slot, *state));
    __syncthreads();
    for_each_tile(chunk, first, last, [&](const Part& part) { update_tile<Rule>(slot, part, factors, state->step); });
  });
}

template <class Rule>
Status update(Stream& stream, const MultiTensor<UpdateSlot>& tensors, const typename Rule::Group* groups,
              const OptimizerState* state) noexcept {
  return launch(stream, grid_for_parts(tensors), update_kernel<Rule>, tensors, groups, state);
}

}  // namespace halftone::cuda
