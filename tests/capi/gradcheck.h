/* Gradients against central differences in f64. Each case runs on leaves as they are and on leaves that the operation
 * sees through a transposed, strided view; write odd and broadcast shapes. A program of cases is a list and
 * run_grad_cases. Main thread only.
 */
#ifndef HALFTONE_TESTS_CAPI_GRADCHECK_H
#define HALFTONE_TESTS_CAPI_GRADCHECK_H

#include "test_tensors.h"

enum { kMaxGradInputs = 3 };

typedef struct GradCase {
  const char* name;
  /* Of the inputs in their order; inputs are f64, with elements in (-1, 1) that are no nearer to 0 than 0.01. Must
   * answer the same for the same inputs. */
  htone_status (*forward)(htone_tensor* const* inputs, htone_tensor** out);
  int input_count;
  struct {
    int ndim;
    int64_t shape[4];
  } inputs[kMaxGradInputs];
} GradCase;

/* Runs every case as a test of its name; answers main's result. */
int run_grad_cases(int argc, char** argv, const GradCase* cases, size_t count);

#endif
