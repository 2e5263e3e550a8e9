// The reference of the normalisations: groups of elements that share statistics. Used from one thread.
#pragma once

#include <functional>

#include "ops/op_case.h"

namespace halftone {

// Maps the index of an input element to its group and its channel.
struct Grouping {
  std::function<int64_t(const Shape& index)> group;
  std::function<int64_t(const Shape& index)> channel;
  int64_t groups;
};

struct Statistics {
  std::vector<double> mean, variance;  // one per group; the biased variance
  std::vector<double> count;
};
Statistics statistics_of(const Array& x, const Grouping& grouping);
// The mean square as the variance, and 0 as the mean.
Statistics mean_squares_of(const Array& x, const Grouping& grouping);

inline constexpr double kNormEpsilon = 1e-3;
// A slope is factor (1 - 1 / n - normalized x^2 / n), where the factor is about 1 / deviation.
inline constexpr double kNormSlopeTerms = 4;

// (x - mean) / sqrt(variance + kNormEpsilon) weight + bias; weight and bias may be null.
Array normalized(const Array& x, const Grouping& grouping, const Statistics& statistics, const Array* weight,
                 const Array* bias);

}  // namespace halftone
