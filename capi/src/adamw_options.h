// The options of AdamW and Adam, which share the type, checked. Used by the sources that make the two.
#pragma once

#include "halftone/adamw.h"
#include "optim_options.h"

namespace halftone::capi {

inline htone_adamw_options default_adamw(double weight_decay) {
  htone_adamw_options options = {};
  options.struct_size = sizeof options;
  options.compute_dtype = HTONE_F32;
  options.lr = 1e-3;
  options.beta1 = 0.9;
  options.beta2 = 0.999;
  options.epsilon = 1e-8;
  options.weight_decay = weight_decay;
  options.grad_dtype = HTONE_F32;
  options.moment1_dtype = HTONE_F32;
  options.moment2_dtype = HTONE_F32;
  return options;
}

struct AdamwSettings {
  optim::Precision precision;
  AdamwGroup group;
};

inline DType checked_moment2_dtype(htone_dtype dtype) {
  require_dtype(dtype == HTONE_F32 || dtype == HTONE_U8, "moment2_dtype", dtype, "f32 or u8");
  return static_cast<DType>(dtype);
}

inline AdamwGroup checked_adamw_group(const htone_adamw_options& options) {
  require_not_negative("lr", options.lr);
  require_fraction("beta1", options.beta1);
  require_fraction("beta2", options.beta2);
  require_setting(std::isfinite(options.epsilon) && options.epsilon > 0.0, "epsilon", options.epsilon,
                  "a finite number above 0");
  require_not_negative("weight_decay", options.weight_decay);
  return {.lr = options.lr,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .weight_decay = options.weight_decay};
}

inline AdamwSettings checked_adamw(const htone_adamw_options* options, const htone_adamw_options& defaults) {
  const htone_adamw_options given = options_or_default(options, defaults);
  optim::Precision precision = checked_precision(given);
  precision.moment2_dtype = checked_moment2_dtype(given.moment2_dtype);
  return {.precision = precision, .group = checked_adamw_group(given)};
}

}  // namespace halftone::capi
