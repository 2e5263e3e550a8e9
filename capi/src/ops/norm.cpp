#include "halftone/norm.h"

#include "base/call.h"
#include "nn/norm_arguments.h"
#include "ops/norm/norms.h"
#include "tensor/handles.h"
#include "tensor/results.h"

using namespace halftone;
using namespace halftone::capi;

namespace {

// Also writes the running statistics.
Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, int32_t training, double momentum, double epsilon) {
  return ops::batch_norm(input, {running_mean, running_var}, weight, bias,
                         {.training = training != 0, .momentum = momentum, .epsilon = epsilon});
}

}  // namespace

htone_status htone_layer_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape, htone_tensor* weight,
                              htone_tensor* bias, double epsilon, htone_tensor** out) {
  return Pure(ops::layer_norm, input, as<normalized_dims>(ndim, normalized_shape), optional(weight), optional(bias),
              as<checked_epsilon>(epsilon), out);
}

htone_status htone_rms_norm(htone_tensor* input, int32_t ndim, const int64_t* normalized_shape, htone_tensor* weight,
                            double epsilon, htone_tensor** out) {
  return Pure(ops::rms_norm, input, as<normalized_dims>(ndim, normalized_shape), optional(weight),
              as<checked_epsilon>(epsilon), out);
}

htone_status htone_add_layer_norm(htone_tensor* input, htone_tensor* residual, int32_t ndim,
                                  const int64_t* normalized_shape, htone_tensor* weight, htone_tensor* bias,
                                  double epsilon, htone_tensor** out_sum, htone_tensor** out) {
  return Pure(ops::add_layer_norm, input, residual, as<normalized_dims>(ndim, normalized_shape), optional(weight),
              optional(bias), as<checked_epsilon>(epsilon), tensor_pair(out_sum, out));
}

htone_status htone_add_rms_norm(htone_tensor* input, htone_tensor* residual, int32_t ndim,
                                const int64_t* normalized_shape, htone_tensor* weight, double epsilon,
                                htone_tensor** out_sum, htone_tensor** out) {
  return Pure(ops::add_rms_norm, input, residual, as<normalized_dims>(ndim, normalized_shape), optional(weight),
              as<checked_epsilon>(epsilon), tensor_pair(out_sum, out));
}

htone_status htone_group_norm(htone_tensor* input, int64_t groups, htone_tensor* weight, htone_tensor* bias,
                              double epsilon, htone_tensor** out) {
  return Pure(ops::group_norm, input, groups, optional(weight), optional(bias), as<checked_epsilon>(epsilon), out);
}

htone_status htone_instance_norm(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, double epsilon,
                                 htone_tensor** out) {
  return Pure(ops::instance_norm, input, optional(weight), optional(bias), as<checked_epsilon>(epsilon), out);
}

htone_status htone_batch_norm(htone_tensor* input, htone_tensor* running_mean, htone_tensor* running_var,
                              htone_tensor* weight, htone_tensor* bias, int32_t training, double momentum,
                              double epsilon, htone_tensor** out) {
  return Call(batch_norm, input, optional(running_mean), optional(running_var), optional(weight), optional(bias),
              training, as<finite_number>(momentum), as<checked_epsilon>(epsilon), out);
}
