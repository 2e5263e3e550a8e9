// Sums as the arithmetic of a format computes them, by several methods. capi/include/halftone/analysis.h documents the
// methods. Pure functions on host memory, safe from any thread.
#pragma once

#include <span>

#include "core/number/number_format.h"

namespace halftone::analysis {

// Must match htone_sum_method.
enum class SumMethod : int32_t { kNaive = 1, kPairwise = 2, kKahan = 3, kNeumaier = 4, kExact = 5 };

// REQUIRES: `format` is binary64, or has at most 24 digits, with the leading one, and numbers that are doubles.
double sum_in(std::span<const double> values, const FormatBits& format, SumMethod method);

}  // namespace halftone::analysis
