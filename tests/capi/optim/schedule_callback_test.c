/* A caller's schedule may change parameters, gradients and the gradient scaler while an optimizer calls it. Test names
 * begin with their rows of tests/faults.md. */
#include <math.h>
#include <stdlib.h>

#include "test_optimizers.h"

enum { kLength = 300, kOptimizers = 9 };

typedef struct Trained {
  htone_parameter* parameter;
  htone_optimizer* optimizer;
} Trained;

static struct {
  void (*act)(void); /* the body of the callback */
  Trained trained;
  Trained others[kOptimizers];
  htone_grad_scaler* scaler;
  int times;
} host;

static htone_status ask_host(int64_t position, double* out_factor, void* user) {
  (void)position, (void)user;
  *out_factor = 1;
  ++host.times;
  if (host.act != NULL) host.act();
  return HTONE_OK;
}

static htone_tensor* make_full(double value) {
  htone_tensor* full = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, (const int64_t[]){kLength}, value, &full));
  return keep_tensor(full);
}

/* Weights of 1 and a gradient, under SGD with a learning rate of 1. */
static Trained make_trained(double gradient) {
  const htone_optimizer_options options = sgd_options(1);
  Trained made = {make_parameter("weights", make_full(1)), NULL};
  made.optimizer = make_sgd_over(make_parameters(made.parameter), &options);
  assert_ok(htone_parameter_accumulate_grad(made.parameter, make_full(gradient)));
  return made;
}

static void begin(double gradient, void (*act)(void)) {
  htone_schedule* schedule = NULL;
  host.act = act;
  host.times = 0;
  host.trained = make_trained(gradient);
  host.scaler = make_grad_scaler(NULL);
  assert_ok(htone_schedule_create_callback(ask_host, NULL, NULL, &schedule));
  assert_ok(htone_optimizer_set_schedule(host.trained.optimizer, keep_schedule(schedule)));
}

static void assert_weights(double expected) {
  double* values = values_of(read_as(host.trained.parameter, HTONE_F32));
  for (int i = 0; i < kLength; ++i) assert_true(values[i] == expected);
  free(values);
}

static void freeze(void) { assert_ok(htone_parameter_set_frozen(host.trained.parameter, 1)); }

static void zero(void) { assert_ok(htone_optimizer_zero_grad(host.trained.optimizer)); }

static void bring(void) { assert_ok(htone_parameter_set_grad(host.trained.parameter, make_full(5))); }

static void a21_parameters_that_a_schedule_freezes_or_zeroes_stay(void** state) {
  (void)state;
  void (*const acts[])(void) = {freeze, zero};
  for (size_t i = 0; i < COUNT_OF(acts); ++i) {
    int64_t steps = -1;
    begin(2, acts[i]);
    assert_fails(htone_optimizer_step(host.trained.optimizer), HTONE_ERROR_STATE, "gradient");
    assert_ok(htone_optimizer_step_count(host.trained.optimizer, &steps));
    assert_true(steps == 0 && host.times == 1);
    assert_weights(1);
  }
}

static void a21_a_step_takes_the_gradient_that_its_schedule_brings(void** state) {
  (void)state;
  begin(2, bring);
  assert_ok(htone_optimizer_step(host.trained.optimizer));
  assert_weights(-4);
}

static void a_schedule_is_not_asked_where_there_is_nothing_to_step(void** state) {
  (void)state;
  begin(2, NULL);
  assert_ok(htone_optimizer_zero_grad(host.trained.optimizer));
  assert_fails(htone_optimizer_step(host.trained.optimizer), HTONE_ERROR_STATE, "gradient");
  assert_int_equal(host.times, 0);
}

static void unscale_others(void) {
  for (int i = 0; i < kOptimizers; ++i) {
    assert_ok(htone_grad_scaler_unscale(host.scaler, host.others[i].optimizer));
  }
}

static void a21_a_schedule_may_unscale_other_optimizers(void** state) {
  (void)state;
  begin(65536, unscale_others);
  for (int i = 0; i < kOptimizers; ++i) host.others[i] = make_trained(65536);
  assert_ok(htone_grad_scaler_step(host.scaler, host.trained.optimizer));
  assert_weights(0);
  for (int i = 0; i < kOptimizers; ++i) {
    assert_ok(htone_grad_scaler_step(host.scaler, host.others[i].optimizer));
  }
  assert_fails(htone_grad_scaler_step(host.scaler, host.trained.optimizer), HTONE_ERROR_STATE, "stepped already");
  assert_ok(htone_grad_scaler_update(host.scaler));
}

static htone_status updated;

static void update_scaler(void) { updated = htone_grad_scaler_update(host.scaler); }

/* The callback runs before the step, and before the step uses the result of a previous unscale. */
static void a21_a_schedule_that_updates_the_scaler_takes_no_verdict_from_the_step(void** state) {
  (void)state;
  for (int unscaled = 0; unscaled < 2; ++unscaled) {
    begin(65536, update_scaler);
    if (unscaled) assert_ok(htone_grad_scaler_unscale(host.scaler, host.trained.optimizer));
    assert_ok(htone_grad_scaler_step(host.scaler, host.trained.optimizer));
    assert_int_equal(updated, unscaled ? HTONE_OK : HTONE_ERROR_STATE);
    assert_weights(0);
    assert_ok(htone_grad_scaler_update(host.scaler));
    begin(INFINITY, update_scaler);
    assert_ok(htone_grad_scaler_step(host.scaler, host.trained.optimizer));
    assert_weights(1);
    assert_ok(htone_grad_scaler_update(host.scaler));
  }
}

static void zero_and_accumulate(void) {
  zero();
  assert_ok(htone_parameter_accumulate_grad(host.trained.parameter, make_full(65536)));
}

static void a21_a_schedule_that_brings_new_gradients_has_them_looked_at(void** state) {
  (void)state;
  begin(INFINITY, zero_and_accumulate);
  assert_ok(htone_grad_scaler_step(host.scaler, host.trained.optimizer));
  assert_weights(0);
  assert_ok(htone_grad_scaler_update(host.scaler));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a21_parameters_that_a_schedule_freezes_or_zeroes_stay),
      cmocka_unit_test(a21_a_step_takes_the_gradient_that_its_schedule_brings),
      cmocka_unit_test(a_schedule_is_not_asked_where_there_is_nothing_to_step),
      cmocka_unit_test(a21_a_schedule_may_unscale_other_optimizers),
      cmocka_unit_test(a21_a_schedule_that_updates_the_scaler_takes_no_verdict_from_the_step),
      cmocka_unit_test(a21_a_schedule_that_brings_new_gradients_has_them_looked_at),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
