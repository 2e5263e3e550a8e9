/* Calls of a training loop in a wrong order. Each is refused with the call that is missing, or does what its header
 * says. */
#include <math.h>

#include "one_by_one.h"

/* A layer of two classes with its optimizer, and a batch. */
typedef struct Training {
  htone_module* module;
  htone_optimizer* optimizer;
  htone_tensor *input, *targets;
} Training;

static Training make_training(void) {
  htone_module* module = make_linear(test_device(), 3, 2, 1);
  return (Training){module, make_adamw(module, NULL), make_ramp(HTONE_F32, 2, 2, 3),
                    make_tensor(HTONE_I64, (const double[]){0, 1}, 1, 2)};
}

static htone_tensor* loss_of(Training training) {
  htone_tensor* loss = NULL;
  assert_ok(htone_cross_entropy(forward(training.module, training.input), training.targets, NULL, &loss));
  return keep_tensor(loss);
}

/* A17 */
static void a_step_needs_gradients(void** state) {
  (void)state;
  const Training training = make_training();
  htone_optimizer* second = NULL;
  const char* missing = "optimizer: no parameter has a gradient; run backward first";
  const double before = item_of(sum_of(weights_of(training.module, 0)));
  assert_fails(htone_optimizer_step(training.optimizer), HTONE_ERROR_STATE, missing);
  assert_near(item_of(sum_of(weights_of(training.module, 0))), before, 0);
  backward(loss_of(training));
  assert_ok(htone_optimizer_step(training.optimizer));
  assert_ok(htone_optimizer_zero_grad(training.optimizer));
  assert_fails(htone_optimizer_step(training.optimizer), HTONE_ERROR_STATE, missing);
  assert_fails(htone_optimizer_create(training.module, NULL, &second), HTONE_ERROR_STATE,
               "parameter weight belongs to an optimizer already");
}

/* The library cannot tell this from a caller that writes its own gradients into the same memory for each step. */
static void a_second_step_uses_the_gradient_again(void** state) {
  (void)state;
  htone_module* module = one_by_one(1);
  htone_optimizer* optimizer = make_sgd(module, 0.25);
  train_one_step(optimizer, module, 1);
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(value_of(module, 0), 0.5, 0);
}

static void backward_needs_a_recorded_scalar_and_runs_once(void** state) {
  (void)state;
  const Training training = make_training();
  htone_tensor *out = NULL, *loss = loss_of(training);
  assert_fails(htone_tensor_backward(forward(training.module, training.input), NULL, 0), HTONE_ERROR_STATE,
               "gradient is missing and tensor [2, 2] is not a scalar");
  backward(loss);
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE,
               "backward ran through cross_entropy before and let its saved tensors go; pass retain_graph");
  assert_fails(htone_tensor_backward(training.input, NULL, 0), HTONE_ERROR_STATE,
               "tensor was not recorded: no input required a gradient, or recording was off");
  assert_fails(htone_tensor_grad(training.input, &out), HTONE_ERROR_STATE,
               "tensor is no leaf that requires a gradient");
  assert_fails(htone_tensor_item(training.input, &(double){0}), HTONE_ERROR_SHAPE_MISMATCH,
               "tensor [2, 3] has 6 elements, expected 1");
}

static void backward_under_no_grad_says_that_recording_was_off(void** state) {
  (void)state;
  const Training training = make_training();
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  assert_fails(htone_tensor_backward(loss_of(training), NULL, 0), HTONE_ERROR_STATE, "or recording was off");
  assert_ok(htone_scope_end(scope));
}

static void weights_written_before_backward_name_operation_and_parameter(void** state) {
  (void)state;
  const Training training = make_training();
  htone_module* inner[] = {training.module, make_linear(test_device(), 2, 2, 1)};
  htone_tensor* out = forward(make_sequential(2, inner), training.input);
  assert_ok(htone_tensor_fill(weights_of(inner[1], 0), 0.5));
  assert_fails(htone_tensor_backward(sum_of(out), NULL, 0), HTONE_ERROR_STATE,
               "backward of linear needs weight [2, 2], which was written after the forward operation that used it; "
               "write it after backward");
  htone_tensor *input = leaf(make_ramp(HTONE_F32, 1, 3)), *factor = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* product = apply2(htone_mul, input, factor);
  assert_ok(htone_tensor_fill(factor, 2));
  assert_fails(htone_tensor_backward(sum_of(product), NULL, 0), HTONE_ERROR_STATE,
               "backward of mul needs a tensor of shape [3], which was written");
}

static void backward_of_scaled_loss(htone_grad_scaler* scaler, Training training) {
  assert_ok(htone_optimizer_zero_grad(training.optimizer));
  backward_scaled(scaler, loss_of(training));
}

static void calls_of_a_scaler_come_in_order(void** state) {
  (void)state;
  const Training training = make_training();
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  assert_fails(htone_grad_scaler_update(scaler), HTONE_ERROR_STATE, "no optimizer was unscaled or stepped");
  backward_of_scaled_loss(scaler, training);
  assert_ok(htone_grad_scaler_unscale(scaler, training.optimizer));
  assert_fails(htone_grad_scaler_unscale(scaler, training.optimizer), HTONE_ERROR_STATE,
               "optimizer was unscaled already since the last update");
  assert_ok(htone_grad_scaler_step(scaler, training.optimizer));
  assert_fails(htone_grad_scaler_step(scaler, training.optimizer), HTONE_ERROR_STATE,
               "optimizer was stepped already since the last update; update the scaler first");
  assert_ok(htone_grad_scaler_update(scaler));
}

/* Its gradients are 65536 times too large. */
static void a_plain_step_after_a_scaled_loss_is_refused(void** state) {
  (void)state;
  const Training training = make_training();
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  const double before = item_of(sum_of(weights_of(training.module, 0)));
  backward_of_scaled_loss(scaler, training);
  const char* message = "the gradient of weight is that of a scaled loss; step with htone_grad_scaler_step";
  assert_fails(htone_optimizer_step(training.optimizer), HTONE_ERROR_STATE, message);
  assert_near(item_of(sum_of(weights_of(training.module, 0))), before, 0);
  assert_ok(htone_grad_scaler_step(scaler, training.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_fails(htone_optimizer_step(training.optimizer), HTONE_ERROR_STATE,
               message); /* the gradients are still there */
  assert_ok(htone_optimizer_zero_grad(training.optimizer));
  backward(loss_of(training));
  assert_ok(htone_optimizer_step(training.optimizer));
}

static void an_unscaled_gradient_may_be_stepped_and_clipped_plainly(void** state) {
  (void)state;
  const Training training = make_training();
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  backward_of_scaled_loss(scaler, training);
  assert_ok(htone_grad_scaler_unscale(scaler, training.optimizer));
  assert_ok(htone_optimizer_clip_grad_norm(training.optimizer, 1, 0));
  assert_ok(htone_optimizer_step(training.optimizer));
}

static void clipping_before_unscaling_is_refused(void** state) {
  (void)state;
  const Training training = make_training();
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  double factor = 0;
  backward_of_scaled_loss(scaler, training);
  assert_fails(htone_optimizer_clip_grad_norm(training.optimizer, 1, 0), HTONE_ERROR_STATE,
               "the gradient of weight is that of a scaled loss; call htone_grad_scaler_unscale first");
  assert_ok(htone_optimizer_grad_factor(training.optimizer, &factor));
  assert_near(factor, 1, 0);
}

/* A gradient of the caller's own takes the place of a scaled one. */
static void a_gradient_that_is_set_is_not_a_scaled_one(void** state) {
  (void)state;
  const Training training = make_training();
  backward_of_scaled_loss(make_grad_scaler(NULL), training);
  assert_ok(htone_parameter_set_grad(parameter_of(training.module, 0), make_ramp(HTONE_F32, 2, 2, 3)));
  assert_fails(htone_optimizer_step(training.optimizer), HTONE_ERROR_STATE, "the gradient of bias is that of a scaled");
  assert_ok(htone_parameter_set_grad(parameter_of(training.module, 1), make_ramp(HTONE_F32, 1, 2)));
  assert_ok(htone_optimizer_step(training.optimizer));
}

static void a_scaler_that_is_not_enabled_marks_nothing(void** state) {
  (void)state;
  const Training training = make_training();
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.enabled = 0;
  backward_of_scaled_loss(make_grad_scaler(&options), training);
  assert_ok(htone_optimizer_clip_grad_norm(training.optimizer, 1, 0));
  assert_ok(htone_optimizer_step(training.optimizer));
}

/* The true gradient, -10922.7, fits f16; the scale 65536 does not. */
static void the_first_scale_fits_a_loss_of_f16_logits(void** state) {
  (void)state;
  for (int power = 15; power <= 17; ++power) {
    htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
    htone_tensor *loss = NULL, *logits = leaf(make_tensor(HTONE_F16, (const double[12]){0}, 2, 4, 3));
    options.initial_scale = ldexp(1, power);
    htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 1, 2, 0}, 1, 4);
    assert_ok(htone_cross_entropy(logits, targets, NULL, &loss));
    backward_scaled(make_grad_scaler(&options), keep_tensor(loss));
    const double part = options.initial_scale / 12, tolerance = 1e-3 * part;
    assert_values(grad_of(logits), tolerance, -2 * part, part, part, part, -2 * part, part, part, part, -2 * part,
                  -2 * part, part, part);
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_needs_gradients),
      cmocka_unit_test(a_second_step_uses_the_gradient_again),
      cmocka_unit_test(backward_needs_a_recorded_scalar_and_runs_once),
      cmocka_unit_test(backward_under_no_grad_says_that_recording_was_off),
      cmocka_unit_test(weights_written_before_backward_name_operation_and_parameter),
      cmocka_unit_test(calls_of_a_scaler_come_in_order),
      cmocka_unit_test(a_plain_step_after_a_scaled_loss_is_refused),
      cmocka_unit_test(an_unscaled_gradient_may_be_stepped_and_clipped_plainly),
      cmocka_unit_test(clipping_before_unscaling_is_refused),
      cmocka_unit_test(a_gradient_that_is_set_is_not_a_scaled_one),
      cmocka_unit_test(a_scaler_that_is_not_enabled_marks_nothing),
      cmocka_unit_test(the_first_scale_fits_a_loss_of_f16_logits),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
