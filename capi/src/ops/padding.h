// The padding of a tensor from the lists of C, which count pairs from the last dimension on.
#pragma once

#include "base/arguments.h"
#include "core/error.h"
#include "ops/shape/shape.h"

namespace halftone::capi {

inline ops::Padding checked_padding(const Tensor& input, int32_t pair_count, const int64_t* padding) {
  const int rank = input.rank();
  if (pair_count < 0 || pair_count > rank) {
    fail(Code::kInvalidArgument, "pair_count", "pair_count=%d is outside [0, %d], the dimensions of input", pair_count,
         rank);
  }
  if (pair_count > 0) require(padding, "padding");
  ops::Padding result;
  for (int i = 0; i < rank; ++i) {
    const int pair = rank - 1 - i;
    result.before.push_back(pair < pair_count ? padding[2 * pair] : 0);
    result.after.push_back(pair < pair_count ? padding[2 * pair + 1] : 0);
  }
  return result;
}

}  // namespace halftone::capi
