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

/* A layer whose gradients are stored in f16. */
static Training make_training_of(int weights, const htone_grad_scaler_options* options) {
  htone_module* module = make_linear(test_device(), weights, 1, 0);
  htone_optimizer_options sgd = sgd_options(0.01);
  sgd.compute_dtype = sgd.grad_dtype = HTONE_F16;
  return (Training){make_grad_scaler(options), module, make_sgd_with(module, &sgd)};
}

static Training make_training(const htone_grad_scaler_options* options) { return make_training_of(2, options); }

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

enum { kDriftWeights = 32, kDriftSteps = 3000, kSegment = 300, kSeeds = 5 };

typedef struct Losses {
  int skipped;
  int64_t underflows; /* gradients that became 0 */
} Losses;

/* A number in [0, 1), by an LCG of 32 bits (Numerical Recipes). */
static double next_number(uint32_t* numbers) {
  *numbers = *numbers * 1664525u + 1013904223u;
  return *numbers / 4294967296.0;
}

/* Runs one step with these gradients, and adds what it loses. `weights` is the tensor of the module's. */
static void add_losses(Training t, htone_tensor* weights, const float* gradients, Losses* losses) {
  const int64_t shape[] = {1, kDriftWeights};
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  double stored[kDriftWeights];
  htone_scope* turn;
  htone_tensor *row, *loss, *grad;
  assert_ok(htone_handles_begin(&turn));
  assert_ok(htone_optimizer_zero_grad(t.optimizer));
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F32, 2, shape, gradients, &row));
  assert_ok(htone_module_forward(t.module, row, NULL, &loss));
  assert_ok(htone_sum(loss, 0, NULL, 0, &loss));
  assert_ok(htone_grad_scaler_scale(t.scaler, loss, &loss));
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_ok(htone_tensor_grad(weights, &grad));
  assert_ok(htone_tensor_read(grad, HTONE_F64, stored, sizeof stored));
  assert_ok(htone_grad_scaler_step(t.scaler, t.optimizer));
  assert_ok(htone_grad_scaler_update(t.scaler));
  assert_ok(htone_optimizer_outcome(t.optimizer, &outcome));
  for (int i = 0; i < kDriftWeights; ++i) losses->underflows += stored[i] == 0;
  losses->skipped += outcome.skipped;
  assert_ok(htone_scope_end(turn));
}

/* Gradients spread over 12 powers of two, whose largest drifts between 2^-44 and 2^6: each segment of steps has a rate
 * of its own, of at most 7 powers of two in 100 steps. */
static Losses losses_of_drift(htone_grad_scaler_options options, uint32_t seed) {
  uint32_t numbers = seed;
  double spread[kDriftWeights], exponent = -20, rate = 0;
  float gradients[kDriftWeights];
  Losses losses = {0, 0};
  options.growth_interval = 100;
  options.initial_scale = 65536;
  const Training t = make_training_of(kDriftWeights, &options);
  htone_tensor* weights = weights_of(t.module, 0);
  for (int i = 0; i < kDriftWeights; ++i) spread[i] = exp2(-12 * next_number(&numbers));
  for (int step = 0; step < kDriftSteps; ++step) {
    if (step % kSegment == 0) rate = 0.14 * (next_number(&numbers) - 0.5);
    exponent += rate;
    if (exponent > 6 || exponent < -44) rate = -rate;
    for (int i = 0; i < kDriftWeights; ++i) gradients[i] = (float)(exp2(exponent) * spread[i]);
    add_losses(t, weights, gradients, &losses);
  }
  return losses;
}

static void gradients_that_drift_cost_fewer_steps_than_by_the_dynamic_rule(void** state) {
  (void)state;
  const htone_grad_scaler_options dynamic = options_of(HTONE_SCALER_TORCH), trend = options_of(HTONE_SCALER_HISTOGRAM);
  htone_grad_scaler_options plain = trend;
  int64_t underflows_by_dynamic = 0, underflows = 0;
  int skipped_by_dynamic = 0, without_trend = 0, with_trend = 0;
  plain.histogram_trend = 0;
  for (uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const Losses by_dynamic = losses_of_drift(dynamic, seed), by_histogram = losses_of_drift(plain, seed);
    const Losses by_trend = losses_of_drift(trend, seed);
    print_message("seed %u: dynamic %d skipped, %lld underflows; histogram %d, %lld; with trend %d, %lld\n", seed,
                  by_dynamic.skipped, (long long)by_dynamic.underflows, by_histogram.skipped,
                  (long long)by_histogram.underflows, by_trend.skipped, (long long)by_trend.underflows);
    assert_true(by_trend.underflows <= by_dynamic.underflows);
    skipped_by_dynamic += by_dynamic.skipped;
    underflows_by_dynamic += by_dynamic.underflows;
    underflows += by_trend.underflows;
    without_trend += by_histogram.skipped;
    with_trend += by_trend.skipped;
  }
  assert_true(with_trend < without_trend && with_trend < skipped_by_dynamic);
  assert_true(underflows < underflows_by_dynamic);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_that_vanish_in_f16_are_lifted_within_one_interval),
      cmocka_unit_test(both_optimizers_count),
      cmocka_unit_test(a_shorter_state_has_no_ceiling),
      cmocka_unit_test(a_scaler_that_is_not_enabled_counts_nothing),
      cmocka_unit_test(gradients_that_drift_cost_fewer_steps_than_by_the_dynamic_rule),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
