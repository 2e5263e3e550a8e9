/* The scale at the ends of its range, and a loss that is NaN: no Inf or NaN reaches a weight. Test names begin with
 * their rows of tests/faults.md. */
#include <math.h>

#include "test_optimizers.h"

typedef struct Trained {
  htone_module* module;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
} Trained;

static htone_grad_scaler_options bounded_options(void) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = 1;
  options.growth_interval = 1;
  options.min_scale = 1.0 / (1 << 14);
  options.max_scale = 1 << 24;
  return options;
}

static Trained make_trained(const htone_grad_scaler_options* options) {
  htone_module* module = make_linear(test_device(), 2, 1, 1);
  return (Trained){module, make_adamw(module, NULL), make_grad_scaler(options)};
}

/* Runs a whole step whose gradient is `input` and returns the status of the update. */
static htone_status train(Trained trained, double input) {
  htone_tensor* row = NULL;
  const int64_t shape[] = {1, 2};
  assert_ok(htone_optimizer_zero_grad(trained.optimizer));
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, input, &row));
  backward_scaled(trained.scaler, sum_of(forward(trained.module, keep_tensor(row))));
  assert_ok(htone_grad_scaler_step(trained.scaler, trained.optimizer));
  return htone_grad_scaler_update(trained.scaler);
}

static double weight_of(Trained trained) {
  return item_of(slice_of(slice_of(read_parameter(trained.module, 0, HTONE_F32), 1, 0, 1, 1), 0, 0, 1, 1));
}

static void n5_the_scale_holds_at_its_minimum_and_rises_again(void** state) {
  (void)state;
  htone_grad_scaler_options options = bounded_options();
  options.at_minimum = HTONE_AT_MINIMUM_HOLD;
  const Trained trained = make_trained(&options);
  const double before = weight_of(trained);
  for (int i = 0; i < 20; ++i) assert_ok(train(trained, INFINITY));
  assert_near(loss_scale_of(trained.scaler), options.min_scale, 0);
  assert_near(weight_of(trained), before, 0);
  assert_ok(train(trained, 1));
  assert_near(loss_scale_of(trained.scaler), 2 * options.min_scale, 0);
  assert_true(weight_of(trained) != before);
}

static void n5_a_scale_that_collapsed_is_told_where_asked(void** state) {
  (void)state;
  htone_grad_scaler_options options = bounded_options();
  options.at_minimum = HTONE_AT_MINIMUM_ERROR;
  const Trained trained = make_trained(&options);
  for (int i = 0; i < 14; ++i) assert_ok(train(trained, INFINITY));
  for (int i = 0; i < 2; ++i) assert_fails(train(trained, INFINITY), HTONE_ERROR_STATE, "scaler");
  assert_near(loss_scale_of(trained.scaler), options.min_scale, 0);
  assert_ok(train(trained, 1));
}

static void n5_the_scale_stops_at_its_maximum(void** state) {
  (void)state;
  const htone_grad_scaler_options options = bounded_options();
  const Trained trained = make_trained(&options);
  for (int i = 0; i < 30; ++i) assert_ok(train(trained, 1));
  assert_near(loss_scale_of(trained.scaler), options.max_scale, 0);
}

static void n4_a_loss_that_is_nan_changes_no_weight(void** state) {
  (void)state;
  const Trained trained = make_trained(NULL);
  const double before = weight_of(trained);
  const double scale = loss_scale_of(trained.scaler);
  assert_ok(htone_optimizer_zero_grad(trained.optimizer));
  htone_tensor* row = make_noise(HTONE_F32, 1, 2, 1, 2);
  htone_tensor* loss = apply2(htone_mul, sum_of(forward(trained.module, row)), make_scalar(HTONE_F32, NAN));
  assert_true(isnan(item_of(loss)));
  backward_scaled(trained.scaler, loss);
  assert_ok(htone_grad_scaler_step(trained.scaler, trained.optimizer));
  const htone_step_outcome outcome = outcome_of(trained.optimizer);
  assert_int_equal(outcome.skipped, 1);
  assert_int_equal(outcome.kind, HTONE_NOT_FINITE_NAN);
  assert_ok(htone_grad_scaler_update(trained.scaler));
  assert_near(loss_scale_of(trained.scaler), scale / 2, 0);
  assert_near(weight_of(trained), before, 0);
  assert_ok(train(trained, 1));
  assert_true(isfinite(weight_of(trained)) && weight_of(trained) != before);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(n4_a_loss_that_is_nan_changes_no_weight),
      cmocka_unit_test(n5_the_scale_holds_at_its_minimum_and_rises_again),
      cmocka_unit_test(n5_a_scale_that_collapsed_is_told_where_asked),
      cmocka_unit_test(n5_the_scale_stops_at_its_maximum),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
