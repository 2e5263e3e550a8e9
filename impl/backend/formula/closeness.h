// The test of torch.isclose for two numbers; a pure function, safe from any thread.
// Cases: equal infinities are close, and an infinity is close to nothing else; NaN is close to nothing, or to NaN alone
// with `equal_nan`.
#pragma once

#include <cmath>

#include "core/host_device.h"

namespace halftone {

// a and b are close where |a - b| <= absolute + relative * |b|.
struct Closeness {
  double relative;
  double absolute;
  bool equal_nan;
};

HALFTONE_HOST_DEVICE inline bool are_close(double a, double b, const Closeness& closeness) {
  if (a == b) return true;
  if (a != a || b != b) return closeness.equal_nan && a != a && b != b;
  const double difference = std::fabs(a - b);
  return !std::isinf(difference) && difference <= closeness.absolute + closeness.relative * std::fabs(b);
}

}  // namespace halftone
