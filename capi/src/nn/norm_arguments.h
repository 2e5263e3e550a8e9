// Arguments that the normalisation operations and their layers have in common.
#pragma once

#include <cmath>

#include "base/arguments.h"

namespace halftone::capi {

inline Shape normalized_dims(int32_t ndim, const int64_t* normalized_shape) {
  if (ndim < 1 || ndim > kMaxRank) {
    fail(Code::kInvalidArgument, "ndim", "ndim=%d is outside [1, %d]", ndim, kMaxRank);
  }
  return checked_shape(&require(normalized_shape, "normalized_shape"), ndim, "normalized_shape");
}

// `shown` names the value in the message, "options.epsilon" for a field.
inline void require_epsilon(double epsilon, const char* argument, const char* shown) {
  if (std::isfinite(epsilon) && epsilon >= 0.0) return;
  fail(Code::kInvalidArgument, argument, "%s=%g, expected a finite number of at least 0", shown, epsilon);
}
inline double checked_epsilon(double epsilon) {
  require_epsilon(epsilon, "epsilon", "epsilon");
  return epsilon;
}

}  // namespace halftone::capi
