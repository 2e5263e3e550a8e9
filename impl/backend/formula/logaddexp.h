// ln(e^a + e^b) without overflow, and its slopes, one element at a time; pure functions, safe from any thread.
// The larger number is taken out: a + ln(1 + e^(b - a)) for a >= b.
// Cases: NaN gives NaN; two equal infinities give that infinity, and slopes of NaN as in PyTorch.
#pragma once

#include <cmath>

#include "backend/formula/sigmoid.h"
#include "core/host_device.h"

namespace halftone {

HALFTONE_HOST_DEVICE inline double logaddexp(double a, double b) {
  if (a == b) return a + std::log(2.0);
  return (a > b ? a : b) + std::log1p(std::exp(-std::fabs(a - b)));
}

// The slope by a; for the slope by b pass b before a.
HALFTONE_HOST_DEVICE inline double logaddexp_slope(double a, double b) { return sigmoid(a - b); }

}  // namespace halftone
