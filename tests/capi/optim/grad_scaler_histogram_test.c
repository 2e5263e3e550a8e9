/* The gradient scaler that derives its scale from a histogram of the gradients. */
#include <math.h>
#include <stdlib.h>

#include "test_optimizers.h"

enum { kInterval = 4 };

typedef struct Training {
  htone_grad_scaler* scaler;
  htone_module* module;
  htone_optimizer* optimizer;
} Training;

static htone_grad_scaler_options options_of(htone_scaler_preset preset) {
  htone_grad_scaler_options options;
  assert_ok(htone_grad_scaler_options_preset(preset, &options));
  options.growth_interval = kInterval;
  options.initial_scale = 1;
  return options;
}

/* A layer of two weights whose gradients are stored in f16. */
static Training make_training(const htone_grad_scaler_options* options) {
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_optimizer_options sgd = sgd_options(0.01);
  sgd.compute_dtype = sgd.grad_dtype = HTONE_F16;
  return (Training){make_grad_scaler(options), module, make_sgd_with(module, &sgd)};
}

/* Runs one step whose unscaled gradients are the two inputs. */
static void train(Training t, double first, double second) {
  htone_tensor* row = make_tensor(HTONE_F32, (const double[]){first, second}, 2, 1, 2);
  assert_ok(htone_optimizer_zero_grad(t.optimizer));
  backward_scaled(t.scaler, sum_of(forward(t.module, row)));
  assert_ok(htone_grad_scaler_step(t.scaler, t.optimizer));
  assert_ok(htone_grad_scaler_update(t.scaler));
}

static htone_scaler_state state_of(htone_grad_scaler* scaler) {
  htone_scaler_state moving = {.struct_size = sizeof moving};
  assert_ok(htone_grad_scaler_state(scaler, &moving));
  return moving;
}

static double second_gradient(Training t) {
  double* values = values_of(grad_of(weights_of(t.module, 0)));
  const double second = values[1];
  free(values);
  return second;
}

static void gradients_that_vanish_in_f16_are_lifted_within_one_interval(void** state) {
  (void)state;
  htone_grad_scaler_options options = options_of(HTONE_SCALER_HISTOGRAM);
  const Training t = make_training(&options);
  for (int i = 0; i < kInterval; ++i) {
    assert_float_equal(state_of(t.scaler).scale, 1, 0);
    train(t, 0x1p-20, 0x1p-30);
    assert_float_equal(second_gradient(t), 0, 0);
  }
  assert_float_equal(state_of(t.scaler).scale, 0x1p30, 0);
  train(t, 0x1p-20, 0x1p-30);
  assert_float_equal(second_gradient(t), 1, 0);
}

static void both_optimizers_count(void** state) {
  (void)state;
  htone_grad_scaler_options options = options_of(HTONE_SCALER_HISTOGRAM);
  options.growth_interval = 1;
  const Training t = make_training(&options);
  Training other = make_training(&options);
  other.scaler = t.scaler;
  htone_tensor* row = make_tensor(HTONE_F32, (const double[]){0x1p-10, 0}, 2, 1, 2);
  backward(sum_of(forward(other.module, row)));
  assert_ok(htone_grad_scaler_unscale(other.scaler, other.optimizer));
  train(t, 0x1p-20, 0x1p-20);
  /* the larger gradient decides, and it was only unscaled, not stepped */
  assert_float_equal(state_of(t.scaler).scale, 0x1p20, 0);
  train(t, 0x1p-20, 0x1p-20);
  assert_float_equal(state_of(t.scaler).scale, 0x1p30, 0); /* the previous histogram is not used any more */
}

/* A caller that was built before the state had a ceiling. */
static void a_shorter_state_has_no_ceiling(void** state) {
  (void)state;
  htone_grad_scaler_options options = options_of(HTONE_SCALER_HISTOGRAM);
  const Training t = make_training(&options);
  htone_scaler_state moving = {
      .struct_size = offsetof(htone_scaler_state, ceiling), .hysteresis_left = 1, .scale = 4, .ceiling = NAN};
  assert_ok(htone_grad_scaler_set_state(t.scaler, &moving));
  assert_ok(htone_grad_scaler_state(t.scaler, &moving));
  assert_true(isnan(moving.ceiling));
  assert_float_equal(state_of(t.scaler).ceiling, 0, 0);
  assert_float_equal(state_of(t.scaler).scale, 4, 0);
}

static void a_scaler_that_is_not_enabled_counts_nothing(void** state) {
  (void)state;
  htone_grad_scaler_options options = options_of(HTONE_SCALER_HISTOGRAM);
  options.enabled = 0;
  options.growth_interval = 1;
  const Training t = make_training(&options);
  train(t, 0x1p-10, 0x1p-10);
  assert_float_equal(state_of(t.scaler).scale, 1, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_that_vanish_in_f16_are_lifted_within_one_interval),
      cmocka_unit_test(both_optimizers_count),
      cmocka_unit_test(a_shorter_state_has_no_ceiling),
      cmocka_unit_test(a_scaler_that_is_not_enabled_counts_nothing),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
