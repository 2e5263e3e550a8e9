// Checks of the numbers that losses and distances have.
#pragma once

#include <cmath>

#include "base/arguments.h"
#include "core/error.h"
#include "halftone/loss.h"
#include "ops/loss/loss.h"

namespace halftone::capi {

inline LossReduction reduction_up_to(htone_reduction last, htone_reduction reduction, ArgumentName name) {
  if (reduction < HTONE_REDUCTION_MEAN || reduction > last) {
    fail(Code::kInvalidArgument, name.text(), "reduction=%d is outside [%d, %d]", reduction, HTONE_REDUCTION_MEAN,
         last);
  }
  return static_cast<LossReduction>(reduction);
}
inline LossReduction loss_reduction(htone_reduction reduction, ArgumentName name) {
  return reduction_up_to(HTONE_REDUCTION_NONE, reduction, name);
}

// Finite, and at least 0 or above it.
inline double not_negative(double value, ArgumentName name) {
  if (finite_number(value, name) < 0)
    fail(Code::kInvalidArgument, name.text(), "%s=%g is negative", name.text(), value);
  return value;
}
inline double positive_number(double value, ArgumentName name) {
  if (finite_number(value, name) > 0) return value;
  fail(Code::kInvalidArgument, name.text(), "%s=%g, expected a number above 0", name.text(), value);
}

// The p of a norm.
inline double norm_exponent(double p, ArgumentName name) {
  if (std::isnan(p)) fail(Code::kInvalidArgument, name.text(), "p is NaN, expected a number or an infinity");
  return p;
}

}  // namespace halftone::capi
