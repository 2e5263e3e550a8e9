// Errors of roundings as the C API has them.
#pragma once

#include "analysis/rounding_errors.h"
#include "halftone/analysis.h"

namespace halftone::capi {

inline htone_rounding_errors errors_of(const analysis::RoundingErrors& found) {
  return {.struct_size = sizeof(htone_rounding_errors),
          .reserved = 0,
          .nonzero = found.nonzero,
          .zeros = found.zeros,
          .non_finite = found.non_finite,
          .mean_error = found.mean,
          .p95_error = found.p95,
          .p99_error = found.p99,
          .max_error = found.max,
          .rms_error = found.rms,
          .snr_db = found.snr_db,
          .underflow_share = found.underflow_share,
          .subnormal_share = found.subnormal_share,
          .overflow_share = found.overflow_share,
          .largest = found.largest,
          .loss_scale = found.loss_scale};
}

}  // namespace halftone::capi
