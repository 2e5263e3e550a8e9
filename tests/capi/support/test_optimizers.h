/* Optimizers and gradient scalers for tests, and parameters that belong to no module, each made by one call. All
 * results of these functions except options are kept until the test ends. Main thread only. */
#ifndef HALFTONE_TESTS_CAPI_TEST_OPTIMIZERS_H
#define HALFTONE_TESTS_CAPI_TEST_OPTIMIZERS_H

#include "test_modules.h"

htone_parameter* make_parameter(const char* name, htone_tensor* weights);
/* A set of one parameter. */
htone_parameters* make_parameters(htone_parameter* parameter);
/* The leaf over a parameter's weights, and the weights read in a dtype. */
htone_tensor* tensor_of(htone_parameter* parameter);
htone_tensor* read_as(htone_parameter* parameter, htone_dtype dtype);

/* Plain gradient descent: at a rate of 1 a step subtracts the gradient. */
htone_optimizer_options sgd_options(double lr);
htone_optimizer* make_sgd(htone_module* module, double lr);
/* NULL options mean the defaults. */
htone_optimizer* make_sgd_with(htone_module* module, const htone_optimizer_options* options);
htone_optimizer* make_sgd_over(htone_parameters* parameters, const htone_optimizer_options* options);
htone_optimizer* make_adamw(htone_module* module, const htone_optimizer_options* options);

/* The norm of all gradients. */
double grad_norm_of(htone_optimizer* optimizer);
htone_step_outcome outcome_of(htone_optimizer* optimizer);

/* NULL options mean the defaults. */
htone_grad_scaler* make_grad_scaler(const htone_grad_scaler_options* options);
double loss_scale_of(htone_grad_scaler* scaler);
void backward_scaled(htone_grad_scaler* scaler, htone_tensor* loss);

#endif
