/* Modules for tests: layers made and composed by one call, their parameters by index. All results of these functions
 * are kept until the test ends. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_TEST_MODULES_H
#define HALFTONE_TESTS_CAPI_TEST_MODULES_H

#include "test_tensors.h"

htone_module* make_linear(htone_device* device, int64_t in_features, int64_t out_features, int32_t bias);
htone_module* make_sequential(size_t count, htone_module* const* modules);
htone_tensor* forward(htone_module* module, htone_tensor* input);
/* The first output; an input may be NULL. */
htone_tensor* forward_several(htone_module* module, size_t count, htone_tensor* const* inputs);

/* Larger weights than those of the initialisation, so that no part of a net hides behind a small factor; norms and
 * biases, too. */
void fill_parameters(htone_module* module);

htone_parameter* parameter_of(htone_module* module, size_t index);
/* The leaf over the master weights. */
htone_tensor* weights_of(htone_module* module, size_t index);
htone_tensor* read_parameter(htone_module* module, size_t index, htone_dtype dtype);

htone_state_dict* state_dict_of(htone_module* module);

/* Sets of a module's parameters: all of them, or those whose names match. */
htone_parameters* parameters_of_module(htone_module* module);
htone_parameters* parameters_matching(htone_module* module, const char* pattern);

#endif
