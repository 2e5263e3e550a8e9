/* x^2 as a custom function. Tests may count its backward calls, let them fail, or replace them. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_SQUARE_FUNCTION_H
#define HALFTONE_TESTS_CAPI_SQUARE_FUNCTION_H

#include "test_tensors.h"

typedef struct Square {
  htone_function* function;
  int calls;
  int destroyed;
  htone_status answer;                                                      /* status of the next backward */
  htone_status (*instead)(const htone_backward_call* call, struct Square*); /* optional replacement of the backward */
} Square;

/* Initialises `square`. The function is kept until the test ends, so `square` must be static. */
void make_square(Square* square);
/* The result is kept until the test ends. */
htone_tensor* squared(Square* square, htone_tensor* x);

/* The parts of the two functions above: the callbacks, the gradient, and a recorded square that the caller releases. */
htone_status square_backward(const htone_backward_call* call, void* user);
void square_destroy(void* user);
htone_status square_gradient(const htone_backward_call* call, htone_tensor** out);
htone_status record_square(htone_function* function, htone_tensor* x, htone_tensor** out);

/* A leaf with the elements 0, 1, 2. */
htone_tensor* ramp_leaf(void);

#endif
