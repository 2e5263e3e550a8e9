// Averages that send matrices as products of two thin ones. A gradient M [n, m] becomes P Q^T with P [n, rank] and
// Q [m, rank] by one step of a power iteration from the Q of the step before; the part of M that is lost is added to
// the next gradient. Source: Vogels, Karimireddy, Jaggi, "PowerSGD", 2019.
#pragma once

#include <cstdint>

#include "parallel/rounds/reduction.h"

namespace halftone::parallel {

struct PowerSgdOptions {
  int64_t rank = 1;
  // A gradient is compressed if that divides its elements by more than this.
  double min_compression_rate = 2.0;
  // Backwards that average without compression first: early gradients change too fast for the iteration.
  uint64_t start_step = 1000;
  bool has_error_feedback = true;
  bool has_warm_start = true;
};

// Throws INVALID_ARGUMENT for a rank below 1 or a rate that is not positive.
Ref<ReductionHook> power_sgd(const PowerSgdOptions& options);

}  // namespace halftone::parallel
