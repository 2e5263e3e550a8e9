// The inverse of the standard normal distribution function. Pure functions, any thread.
#pragma once

namespace halftone::nn {

// The number that a standard normal number is below with this probability, to a relative 1e-15. -infinity for 0,
// infinity for 1. Small probabilities keep their accuracy. REQUIRES: 0 <= probability <= 1.
double normal_quantile(double probability);

}  // namespace halftone::nn
