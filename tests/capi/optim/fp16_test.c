/* FP16 needs a scaler: if the loss is so small that its gradients underflow in 16 bits, training stalls without a
 * scaler and works with one. Gradients of several backward runs accumulate scaled and are unscaled once. */
#include <math.h>
#include <stdlib.h>

#include "halftone/halftone.h"
#include "test_optimizers.h"

static htone_grad_scaler* make_scaler(int32_t enabled) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.enabled = enabled;
  return make_grad_scaler(&options);
}

static htone_autocast_policy* make_fp16(void) {
  htone_autocast_policy* policy = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_F16, &policy));
  return keep_policy(policy);
}

static htone_optimizer* make_half_sgd(htone_module* module, double lr) {
  htone_optimizer_options options = sgd_options(lr);
  options.compute_dtype = HTONE_F16;
  return make_sgd_with(module, &options);
}

/* Runs one backward of scaled(loss_factor * sum of outputs), computed in FP16. */
static void run_backward(htone_grad_scaler* scaler, htone_module* module, htone_tensor* input, double loss_factor) {
  htone_tensor *output = NULL, *loss = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_begin(make_fp16(), &scope));
  assert_ok(htone_module_forward(module, input, NULL, &output));
  keep_tensor(output);
  assert_int_equal(dtype_of(output), HTONE_F16);
  assert_ok(htone_rescale(sum_of(output), loss_factor, 0, &loss));
  keep_tensor(loss);
  assert_ok(htone_scope_end(scope));
  backward_scaled(scaler, loss);
}

/* The change of the first weight after one step with a loss of `loss_factor`, in units of that factor. */
static double change_of_weight(int32_t scaler_enabled, double loss_factor) {
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_optimizer* optimizer = make_half_sgd(module, 1 / loss_factor);
  htone_grad_scaler* scaler = make_scaler(scaler_enabled);
  const double ones[] = {1, 1};
  double before, after;
  double* values = values_of(read_parameter(module, 0, HTONE_F32));
  before = values[0];
  free(values);
  run_backward(scaler, module, make_tensor(HTONE_F32, ones, 2, 1, 2), loss_factor);
  assert_ok(htone_grad_scaler_step(scaler, optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  values = values_of(read_parameter(module, 0, HTONE_F32));
  after = values[0];
  free(values);
  return before - after;
}

/* 2^-26 is below half of FP16's smallest subnormal, 2^-24; multiplied by 65536 it is well inside the range. */
static void a_loss_that_vanishes_in_fp16_stalls_without_a_scaler_and_trains_with_one(void** state) {
  (void)state;
  const double tiny = 1.0 / (1 << 26);
  assert_true(change_of_weight(0, tiny) == 0);
  assert_near(change_of_weight(1, tiny), 1, 1e-6);
  assert_near(change_of_weight(0, 1), 1, 1e-6); /* shows that the small loss causes the stall, not the model */
}

static void accumulated_gradients_are_unscaled_once(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_optimizer* optimizer = make_half_sgd(module, 1);
  htone_grad_scaler* scaler = make_scaler(1);
  const double first[] = {1, 2}, second[] = {4, 8};
  assert_ok(htone_optimizer_zero_grad(optimizer));
  run_backward(scaler, module, make_tensor(HTONE_F32, first, 2, 1, 2), 0.5);
  run_backward(scaler, module, make_tensor(HTONE_F32, second, 2, 1, 2), 0.5);
  assert_values(grad_of(weights_of(module, 0)), 0, 2.5 * 65536, 5 * 65536);
  assert_ok(htone_grad_scaler_unscale(scaler, optimizer));
  assert_near(grad_norm_of(optimizer), sqrt(2.5 * 2.5 + 5 * 5), 1e-5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loss_that_vanishes_in_fp16_stalls_without_a_scaler_and_trains_with_one),
      cmocka_unit_test(accumulated_gradients_are_unscaled_once),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
