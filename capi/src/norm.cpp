#include "halftone/norm.h"

#include "arguments.h"
#include "guard.h"
#include "norm_arguments.h"
#include "ops/norm/norms.h"

using namespace halftone;
using namespace halftone::capi;

htone_status htone_layer_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape, htone_tensor* weight,
                              htone_tensor* bias, double epsilon, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Shape shape = checked_normalized_shape(ndim, normalized_shape);
    const Tensor scale = unwrap_optional(weight, "weight");
    const Tensor shift = unwrap_optional(bias, "bias");
    require_epsilon(epsilon, "epsilon", "epsilon");
    wrap(out, ops::layer_norm(x, shape, scale, shift, epsilon));
  });
}

htone_status htone_rms_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape, htone_tensor* weight,
                            double epsilon, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Shape shape = checked_normalized_shape(ndim, normalized_shape);
    const Tensor scale = unwrap_optional(weight, "weight");
    require_epsilon(epsilon, "epsilon", "epsilon");
    wrap(out, ops::rms_norm(x, shape, scale, epsilon));
  });
}

htone_status htone_group_norm(htone_tensor* input, int64_t groups, htone_tensor* weight, htone_tensor* bias,
                              double epsilon, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const Tensor scale = unwrap_optional(weight, "weight");
    const Tensor shift = unwrap_optional(bias, "bias");
    require_epsilon(epsilon, "epsilon", "epsilon");
    wrap(out, ops::group_norm(x, groups, scale, shift, epsilon));
  });
}

htone_status htone_batch_norm(htone_tensor* input, htone_tensor* running_mean, htone_tensor* running_var,
                              htone_tensor* weight, htone_tensor* bias, int32_t training, double momentum,
                              double epsilon, htone_tensor** out) {
  return guard([&] {
    const Tensor& x = unwrap(input, "input");
    const ops::RunningStatistics running = {unwrap_optional(running_mean, "running_mean"),
                                            unwrap_optional(running_var, "running_var")};
    const Tensor scale = unwrap_optional(weight, "weight");
    const Tensor shift = unwrap_optional(bias, "bias");
    require_finite(momentum, "momentum");
    require_epsilon(epsilon, "epsilon", "epsilon");
    require(out, "out");  // before running statistics are written
    wrap(out, ops::batch_norm(x, running, scale, shift,
                              {.training = training != 0, .momentum = momentum, .epsilon = epsilon}));
  });
}
