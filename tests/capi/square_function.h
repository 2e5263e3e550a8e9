/* x^2 as a function of the caller's own, whose backward a test may count, fail or replace. Main thread only.
 */
#ifndef HALFTONE_TESTS_CAPI_SQUARE_FUNCTION_H
#define HALFTONE_TESTS_CAPI_SQUARE_FUNCTION_H

#include "test_tensors.h"

typedef struct Square {
  htone_function* function;
  int calls;
  int destroyed;
  htone_status answer;                                                      /* of the next backward */
  htone_status (*instead)(const htone_backward_call* call, struct Square*); /* optional */
} Square;

/* Sets everything to the beginning; the function is kept until the test ends, so that `square` must be static. */
void make_square(Square* square);
/* Kept. */
htone_tensor* squared(Square* square, htone_tensor* x);

/* What both are made of: the callbacks, the gradient, and a recorded square that is the caller's. */
htone_status square_backward(const htone_backward_call* call, void* user);
void square_destroy(void* user);
htone_status square_gradient(const htone_backward_call* call, htone_tensor** out);
htone_status record_square(htone_function* function, htone_tensor* x, htone_tensor** out);

/* 0, 1, 2: a leaf. */
htone_tensor* ramp_leaf(void);

#endif
