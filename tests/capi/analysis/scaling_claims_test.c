/* Loss scaling as docs/seed-claims.md compares it with the first texts: how the scale moves, where it settles, and
 * which shares of gradients FP16 loses. */
#include <halftone/analysis.h>
#include <math.h>
#include <stdlib.h>

#include "test_optimizers.h"

/* A layer of one weight. */
typedef struct Training {
  htone_grad_scaler* scaler;
  htone_module* module;
  htone_optimizer* optimizer;
} Training;

static Training make_training(const htone_grad_scaler_options* options) {
  htone_module* module = make_linear(test_device(), 1, 1, 0);
  htone_optimizer_options sgd = sgd_options(1e-6);
  sgd.compute_dtype = sgd.grad_dtype = HTONE_F16;
  return (Training){make_grad_scaler(options), module, make_sgd_with(module, &sgd)};
}

/* Runs steps whose gradient, without the scale, is `gradient`. Returns how many were skipped. */
static int train(Training training, double gradient, int steps) {
  int skipped = 0;
  for (int i = 0; i < steps; ++i) {
    htone_scope* handles = NULL;
    htone_tensor *input = NULL, *output = NULL, *loss = NULL, *scaled = NULL;
    const int64_t shape[] = {1, 1};
    assert_ok(htone_handles_begin(&handles));
    assert_ok(htone_optimizer_zero_grad(training.optimizer));
    assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, gradient, &input));
    assert_ok(htone_module_forward(training.module, input, NULL, &output));
    assert_ok(htone_sum(output, 0, NULL, 0, &loss));
    assert_ok(htone_grad_scaler_scale(training.scaler, loss, &scaled));
    assert_ok(htone_tensor_backward(scaled, NULL, 0));
    assert_ok(htone_grad_scaler_step(training.scaler, training.optimizer));
    skipped += outcome_of(training.optimizer).skipped;
    assert_ok(htone_grad_scaler_update(training.scaler));
    assert_ok(htone_scope_end(handles));
  }
  return skipped;
}

static void the_scale_doubles_in_the_2000th_step_and_halves_in_a_skipped_one(void** state) {
  (void)state;
  const Training training = make_training(NULL);
  assert_float_equal(loss_scale_of(training.scaler), 65536, 0);
  assert_int_equal(train(training, 1e-6, 1999), 0);
  assert_float_equal(loss_scale_of(training.scaler), 65536, 0);
  assert_int_equal(train(training, 1e-6, 1), 0);
  assert_float_equal(loss_scale_of(training.scaler), 131072, 0);
  assert_int_equal(train(training, 1e-6, 1500), 0);
  assert_int_equal(train(training, INFINITY, 1), 1);
  assert_float_equal(loss_scale_of(training.scaler), 65536, 0);
  /* The 1500 steps before it do not count. */
  assert_int_equal(train(training, 1e-6, 1999), 0);
  assert_float_equal(loss_scale_of(training.scaler), 65536, 0);
  assert_int_equal(train(training, 1e-6, 1), 0);
  assert_float_equal(loss_scale_of(training.scaler), 131072, 0);
}

/* The analyser's scale for a gradient of 1 is 2^15. The dynamic rule finds it and tries 2^16 after each interval. */
static void a_dynamic_scale_finds_the_largest_one_and_overflows_once_an_interval(void** state) {
  (void)state;
  enum { kInterval = 10 };
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  assert_ok(htone_analyze_rounding(make_scalar(HTONE_F32, 1), HTONE_FORMAT_F16, NULL, &errors));
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.growth_interval = kInterval;
  for (int exponent = 0; exponent <= 24; exponent += 8) {
    options.initial_scale = ldexp(1, exponent);
    const Training training = make_training(&options);
    train(training, 1, 200);
    while (train(training, 1, 1) == 0) continue;
    for (int i = 0; i < 5; ++i) {
      assert_float_equal(loss_scale_of(training.scaler), errors.loss_scale, 0);
      assert_int_equal(train(training, 1, kInterval), 0);
      assert_float_equal(loss_scale_of(training.scaler), 2 * errors.loss_scale, 0);
      assert_int_equal(train(training, 1, 1), 1);
    }
  }
}

static htone_rounding_errors errors_of(htone_format format, htone_tensor* numbers) {
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  assert_ok(htone_analyze_rounding(numbers, format, NULL, &errors));
  return errors;
}

static void half_holds_gradients_of_early_and_late_training(void** state) {
  (void)state;
  htone_tensor* gradients = make_tensor(HTONE_F64, (const double[]){0.1, 10, 1e-4, 1e-2}, 1, 4);
  for (int format = HTONE_FORMAT_F16; format <= HTONE_FORMAT_BF16; ++format) {
    const htone_rounding_errors errors = errors_of((htone_format)format, gradients);
    assert_true(errors.underflow_share == 0 && errors.subnormal_share == 0 && errors.overflow_share == 0);
    assert_true(errors.max_error <= (format == HTONE_FORMAT_F16 ? 0x1p-11 : 0x1p-8));
  }
}

/* Numbers whose logarithms have equal distances, as the first texts' analyser makes them. */
static htone_tensor* make_decades(double first, double last) {
  double numbers[1000];
  for (int i = 0; i < 1000; ++i) numbers[i] = pow(10, first + (last - first) * i / 999);
  return make_tensor(HTONE_F64, numbers, 1, 1000);
}

static void decades_of_gradients_are_lost_below_2_to_the_minus_25_and_above_65520(void** state) {
  (void)state;
  assert_near(errors_of(HTONE_FORMAT_F16, make_decades(-10, -1)).underflow_share, 0.275, 1e-9);
  assert_near(errors_of(HTONE_FORMAT_F16, make_decades(1, 6)).overflow_share, 0.237, 1e-9);
  assert_true(errors_of(HTONE_FORMAT_BF16, make_decades(-10, -1)).underflow_share == 0);
  assert_true(errors_of(HTONE_FORMAT_BF16, make_decades(1, 6)).overflow_share == 0);
}

/* The range between the smallest and the largest of the numbers that are left of 10^-10 to 10^10. */
static double probed_range_db(htone_format format) {
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  htone_tensor* rounded = NULL;
  double least = INFINITY, most = 0;
  options.overflow = HTONE_OVERFLOW_NON_FINITE;
  assert_ok(htone_round_to(make_decades(-10, 10), format, &options, &rounded));
  double* numbers = values_of(keep_tensor(rounded));
  for (int i = 0; i < 1000; ++i) {
    if (numbers[i] == 0 || !isfinite(numbers[i])) continue;
    least = fmin(least, numbers[i]);
    most = fmax(most, numbers[i]);
  }
  free(numbers);
  return 20 * log10(most / least);
}

static double range_db(htone_format format) {
  htone_format_info info = HTONE_FORMAT_INFO_INIT;
  assert_ok(htone_format_describe(format, NULL, &info));
  return info.range_db;
}

static void probes_of_twenty_decades_find_the_range_of_half_alone(void** state) {
  (void)state;
  assert_near(probed_range_db(HTONE_FORMAT_F16), range_db(HTONE_FORMAT_F16), 0.1);
  assert_near(probed_range_db(HTONE_FORMAT_F32), 400, 0.1);
  assert_near(probed_range_db(HTONE_FORMAT_BF16), 400, 0.1);
  assert_true(range_db(HTONE_FORMAT_BF16) > 1500);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_scale_doubles_in_the_2000th_step_and_halves_in_a_skipped_one),
      cmocka_unit_test(a_dynamic_scale_finds_the_largest_one_and_overflows_once_an_interval),
      cmocka_unit_test(half_holds_gradients_of_early_and_late_training),
      cmocka_unit_test(decades_of_gradients_are_lost_below_2_to_the_minus_25_and_above_65520),
      cmocka_unit_test(probes_of_twenty_decades_find_the_range_of_half_alone),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
