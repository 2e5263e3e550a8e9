// The checked options of a gradient scaler. Used by the sources that make scalers.
#pragma once

#include <limits>

#include "backend/formula/grad_scaler.h"
#include "halftone/grad_scaler.h"

namespace halftone::capi {

inline constexpr double kLargestFloat = std::numeric_limits<float>::max();

struct NewScaler {
  ScalerSettings settings;
  float initial_scale;
  bool enabled;
};

// Throws INVALID_ARGUMENT naming the field. NULL means the defaults.
NewScaler scaler_options(const htone_grad_scaler_options* options);

}  // namespace halftone::capi
