/* The smallest layer to train: one weight and one bias, whose gradients the test chooses. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_ONE_BY_ONE_H
#define HALFTONE_TESTS_CAPI_ONE_BY_ONE_H

#include "test_optimizers.h"

/* Weight and bias are `value`. The module is kept until the test ends. */
htone_module* one_by_one(double value);
double value_of(htone_module* module, size_t index);
/* Runs a backward that adds to the existing gradient. */
void give_gradient(htone_module* module, size_t index, double gradient);
/* Both parameters get this gradient. */
void train_one_step(htone_optimizer* optimizer, htone_module* module, double gradient);

#endif
