// The hooks that average the gradients of a bucket over the ranks. Used by Replicate and Sharded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

// flat / ranks in another dtype: the sum over the ranks does not overflow.
Tensor divided(const Tensor& flat, int32_t ranks, DType dtype);

// The average in the dtype of the gradients.
Ref<ReductionHook> average();

// The average in f16 or bf16, as a sum of divided() gradients.
Ref<ReductionHook> narrow_average(DType dtype);

// The caller's: `reduce` replaces a bucket, 1-D, by its average, with any operations of the group, and waits for them.
// It is called in backward when the bucket is whole.
using BucketFunction = std::function<void(const Tensor& bucket, size_t index)>;
Ref<ReductionHook> callers_average(BucketFunction reduce);

}  // namespace halftone::parallel
