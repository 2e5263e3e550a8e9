/* The arrays of a caller that computes gradients itself: weights, and gradients in any dtype, passed to the library as
 * tensors over them. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_HOST_ARRAYS_H
#define HALFTONE_TESTS_CAPI_HOST_ARRAYS_H

#include "test_optimizers.h"

enum { kSize = 4 };

typedef struct Host {
  float weights[kSize];
  float gradient[kSize];
  uint16_t half_gradient[kSize];
  int deletions;
} Host;

/* A vector of kSize elements over `data`. */
htone_tensor* over(htone_dtype dtype, void* data);
/* A tensor over host->gradient; its deleter increments `deletions`. The caller releases it. */
htone_tensor* lend_gradient(Host* host);
/* A parameter named "lent" over the weights. */
htone_parameter* host_parameter(Host* host);
/* Plain gradient descent with rate 1 over one parameter: a step subtracts the gradient. */
htone_optimizer* descend(htone_parameter* parameter);

void assert_floats(const float* actual, float a, float b, float c, float d);

#endif
