// The elementwise ends of softmax, log-softmax and cross entropy; the sums over rows are each backend's own. C is the
// compute type. Pure functions, safe from any thread.
#pragma once

#include "core/host_device.h"

namespace halftone {

// `dot` is the row's sum of grad * result.
template <class C>
HALFTONE_HOST_DEVICE inline C softmax_gradient(C grad, C result, C dot) {
  return (grad - dot) * result;
}

// `grad_sum` is the row's sum of grad; `probability` is exp(result).
template <class C>
HALFTONE_HOST_DEVICE inline C log_softmax_gradient(C grad, C probability, C grad_sum) {
  return grad - probability * grad_sum;
}

// -log(probability of the target) for a row whose largest logit is `largest` and whose sum of exp(logit - largest) is
// `sum`. The difference of the two logits is taken first: both may be large, and it is exact where they are close.
template <class C>
HALFTONE_HOST_DEVICE inline C cross_entropy_loss(C largest, C log_of_sum, C target_logit) {
  return (largest - target_logit) + log_of_sum;
}

}  // namespace halftone
