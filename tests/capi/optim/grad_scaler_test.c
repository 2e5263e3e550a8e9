/* The gradient scaler: skipped steps change nothing, the fields of an outcome, bounds, saved states. */
#include <math.h>
#include <string.h>

#include "halftone/halftone.h"
#include "test_optimizers.h"

static htone_grad_scaler* make_scaler(double scale) {
  htone_grad_scaler_options options;
  htone_grad_scaler* scaler = NULL;
  assert_ok(htone_grad_scaler_options_init(&options));
  options.initial_scale = scale;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &scaler));
  return keep_grad_scaler(scaler);
}

static double scale_of(htone_grad_scaler* scaler) {
  double scale = 0;
  assert_ok(htone_grad_scaler_current_scale(scaler, &scale));
  return scale;
}

static htone_step_outcome outcome_of(htone_optimizer* optimizer) {
  htone_step_outcome outcome = HTONE_STEP_OUTCOME_INIT;
  assert_ok(htone_optimizer_outcome(optimizer, &outcome));
  return outcome;
}

/* A linear layer of two inputs and one output, with an optimizer. */
typedef struct Trained {
  htone_module* module;
  htone_optimizer* optimizer;
} Trained;

static Trained make_trained(void) {
  Trained trained = {NULL, NULL};
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.lr = 0.1;
  assert_ok(htone_module_create_linear(test_device(), 2, 1, NULL, &trained.module));
  keep_module(trained.module);
  assert_ok(htone_optimizer_create(trained.module, &options, &trained.optimizer));
  keep_optimizer(trained.optimizer);
  return trained;
}

/* A scaler that is not enabled returns each loss as it is. */
static htone_grad_scaler* make_idle_scaler(void) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  htone_grad_scaler* scaler = NULL;
  options.enabled = 0;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &scaler));
  return keep_grad_scaler(scaler);
}

/* Runs backward of the scaled sum of outputs for one row of inputs. */
static void run_backward(htone_grad_scaler* scaler, Trained trained, double input) {
  htone_tensor *row = NULL, *scaled = NULL;
  const int64_t shape[] = {1, 2};
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, input, &row));
  keep_tensor(row);
  assert_ok(htone_grad_scaler_scale(scaler, sum_of(forward(trained.module, row)), &scaled));
  keep_tensor(scaled);
  assert_ok(htone_optimizer_zero_grad(trained.optimizer));
  assert_ok(htone_tensor_backward(scaled, NULL, 0));
}

static void read_weights(Trained trained, float out[2]) {
  htone_tensor* weight = NULL;
  assert_ok(htone_parameter_read(parameter_of(trained.module, 0), HTONE_F32, &weight));
  keep_tensor(weight);
  assert_ok(htone_tensor_read(weight, HTONE_F32, out, 2 * sizeof(float)));
}

static void scaled_gradients_are_stored_and_unscaled_in_the_update(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(1024);
  Trained with = make_trained(), without = make_trained();
  float a[2], b[2];
  double factor = 0, norm = 0;
  /* Both modules get equal weights. */
  read_weights(with, a);
  htone_tensor* leaf = NULL;
  assert_ok(htone_parameter_tensor(parameter_of(without.module, 0), &leaf));
  keep_tensor(leaf);
  assert_ok(htone_tensor_write(leaf, HTONE_F32, a, sizeof a));
  run_backward(scaler, with, 3);
  htone_tensor *grad = NULL, *weight = NULL;
  assert_ok(htone_parameter_tensor(parameter_of(with.module, 0), &weight));
  keep_tensor(weight);
  assert_ok(htone_tensor_grad(weight, &grad));
  keep_tensor(grad);
  assert_ok(htone_tensor_read(grad, HTONE_F32, a, sizeof a));
  assert_float_equal(a[0], 3 * 1024, 0);
  assert_ok(htone_grad_scaler_unscale(scaler, with.optimizer));
  assert_ok(htone_optimizer_grad_factor(with.optimizer, &factor));
  assert_float_equal(factor, 1.0 / 1024, 0);
  assert_ok(htone_optimizer_grad_norm(with.optimizer, &norm));
  assert_float_equal(norm, sqrt(3 * 3 * 2 + 1), 1e-5); /* two weights and a bias */
  assert_ok(htone_grad_scaler_step(scaler, with.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_optimizer_grad_factor(with.optimizer, &factor));
  assert_float_equal(factor, 1, 0);
  run_backward(make_idle_scaler(), without, 3);
  assert_ok(htone_optimizer_step(without.optimizer));
  read_weights(with, a);
  read_weights(without, b);
  assert_memory_equal(a, b, sizeof a); /* a scale that is a power of two causes no rounding */
}

/* N1 */
static void a_skipped_step_leaves_everything_and_names_the_offender(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(65536);
  Trained trained = make_trained();
  htone_schedule* cosine = NULL;
  float before[2], after[2];
  double lr_before = 0, lr_after = 0;
  int64_t steps = -1;
  assert_ok(htone_schedule_create_cosine(10, 0, &cosine));
  assert_ok(htone_optimizer_set_schedule(trained.optimizer, keep_schedule(cosine)));
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_int_equal(outcome_of(trained.optimizer).skipped, 0);
  assert_string_equal(outcome_of(trained.optimizer).parameter, "");
  read_weights(trained, before);
  assert_ok(htone_optimizer_lr(trained.optimizer, &lr_before));
  run_backward(scaler, trained, 1e38); /* exceeds FP32 after multiplication by 65536 */
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  const htone_step_outcome outcome = outcome_of(trained.optimizer);
  assert_int_equal(outcome.skipped, 1);
  assert_int_equal(outcome.kind, HTONE_NOT_FINITE_INFINITY);
  assert_int_equal(outcome.rank, -1); /* no ranks averaged */
  assert_string_equal(outcome.parameter, "weight");
  assert_ok(htone_grad_scaler_update(scaler));
  assert_float_equal(scale_of(scaler), 32768, 0);
  read_weights(trained, after);
  assert_memory_equal(before, after, sizeof before);
  assert_ok(htone_optimizer_lr(trained.optimizer, &lr_after));
  assert_float_equal(lr_after, lr_before, 0);
  assert_ok(htone_optimizer_step_count(trained.optimizer, &steps));
  assert_int_equal(steps, 1);
  /* The moments are unchanged, too: from here on the run equals one that never overflowed. */
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_int_equal(outcome_of(trained.optimizer).skipped, 0);
}

/* N2 */
static void a_nan_is_told_from_an_infinity(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(2);
  Trained trained = make_trained();
  run_backward(scaler, trained, NAN);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_int_equal(outcome_of(trained.optimizer).kind, HTONE_NOT_FINITE_NAN);
}

static void two_optimizers_have_stages_of_their_own_and_share_the_verdict(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(16);
  Trained first = make_trained(), second = make_trained();
  float before[2], after[2];
  run_backward(scaler, first, INFINITY);
  run_backward(scaler, second, 1);
  read_weights(second, before);
  assert_ok(htone_grad_scaler_unscale(scaler, first.optimizer));
  assert_ok(htone_grad_scaler_step(scaler, second.optimizer));
  assert_fails(htone_grad_scaler_unscale(scaler, first.optimizer), HTONE_ERROR_STATE, "optimizer");
  assert_ok(htone_grad_scaler_step(scaler, first.optimizer));
  assert_fails(htone_grad_scaler_step(scaler, second.optimizer), HTONE_ERROR_STATE, "optimizer");
  assert_int_equal(outcome_of(first.optimizer).skipped, 1);
  assert_int_equal(outcome_of(second.optimizer).skipped, 0);
  read_weights(second, after);
  assert_memory_not_equal(before, after, sizeof before);
  assert_ok(htone_grad_scaler_update(scaler));
  assert_float_equal(scale_of(scaler), 8, 0);
}

static void an_update_without_a_step_leaves_no_factor_behind(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(16);
  Trained trained = make_trained();
  double factor = 0;
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_unscale(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_optimizer_grad_factor(trained.optimizer, &factor));
  assert_float_equal(factor, 1, 0);
}

static void clipping_by_norm_comes_between_unscale_and_step(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(16);
  Trained trained = make_trained();
  double norm = 0;
  run_backward(scaler, trained, 100);
  assert_ok(htone_grad_scaler_unscale(scaler, trained.optimizer));
  assert_ok(htone_optimizer_clip_grad_norm(trained.optimizer, 0.5, 0));
  assert_ok(htone_optimizer_grad_norm(trained.optimizer, &norm));
  assert_float_equal(norm, 0.5, 1e-5);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
}

static void a_scaler_that_is_not_enabled_passes_everything_through(void** state) {
  (void)state;
  htone_grad_scaler_options options;
  htone_grad_scaler* scaler = NULL;
  Trained trained = make_trained();
  int64_t steps = 0;
  assert_ok(htone_grad_scaler_options_init(&options));
  options.enabled = 0;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &scaler));
  keep_grad_scaler(scaler);
  assert_float_equal(scale_of(scaler), 1, 0);
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_unscale(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_unscale(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_optimizer_step_count(trained.optimizer, &steps));
  assert_int_equal(steps, 2);
}

/* Training starts without a scaler and continues with one. */
static void the_state_of_a_scaler_that_is_not_enabled_begins_an_enabled_one(void** state) {
  (void)state;
  htone_grad_scaler_options options;
  htone_scaler_state saved = {.struct_size = sizeof saved};
  htone_grad_scaler* passive = NULL;
  assert_ok(htone_grad_scaler_options_init(&options));
  options.enabled = 0;
  options.initial_scale = 512;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &passive));
  keep_grad_scaler(passive);
  assert_ok(htone_grad_scaler_state(passive, &saved));
  assert_float_equal(saved.scale, 512, 0);
  assert_float_equal(scale_of(passive), 1, 0);
  htone_grad_scaler* active = make_scaler(4);
  assert_ok(htone_grad_scaler_set_state(active, &saved));
  assert_float_equal(scale_of(active), 512, 0);
  saved.scale = 64;
  assert_ok(htone_grad_scaler_set_state(passive, &saved));
  assert_ok(htone_grad_scaler_state(passive, &saved));
  assert_float_equal(saved.scale, 64, 0);
  assert_float_equal(scale_of(passive), 1, 0);
}

static void an_error_at_the_minimum_is_reported_by_update(void** state) {
  (void)state;
  htone_grad_scaler_options options;
  htone_grad_scaler* scaler = NULL;
  Trained trained = make_trained();
  assert_ok(htone_grad_scaler_options_preset(HTONE_SCALER_DEEPSPEED, &options));
  options.hysteresis = 1;
  options.initial_scale = 1;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &scaler));
  keep_grad_scaler(scaler);
  run_backward(scaler, trained, NAN);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_fails(htone_grad_scaler_update(scaler), HTONE_ERROR_STATE, "scaler");
  assert_float_equal(scale_of(scaler), 1, 0);
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
}

/* The scale after each of `count` finite steps. */
static void read_scales(const htone_grad_scaler_options* options, int count, double* scales) {
  htone_grad_scaler* scaler = NULL;
  Trained trained = make_trained();
  assert_ok(htone_grad_scaler_create(test_device(), options, &scaler));
  keep_grad_scaler(scaler);
  for (int i = 0; i < count; ++i) {
    run_backward(scaler, trained, 1);
    assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
    assert_ok(htone_grad_scaler_update(scaler));
    scales[i] = scale_of(scaler);
  }
}

static void the_deepspeed_preset_grows_in_the_step_after_its_window(void** state) {
  (void)state;
  htone_grad_scaler_options options;
  const double expected[] = {8, 8, 8, 16, 16, 16, 32};
  double scales[COUNT_OF(expected)];
  assert_ok(htone_grad_scaler_options_preset(HTONE_SCALER_DEEPSPEED, &options));
  options.growth_interval = 3;
  options.initial_scale = 8;
  read_scales(&options, COUNT_OF(expected), scales);
  assert_memory_equal(scales, expected, sizeof expected);
}

/* 3 * 0.3f rounds to 0x1.cccccep-1; the product with the double 0.3 rounds to 0x1.ccccccp-1. */
static void the_megatron_preset_multiplies_by_fp32_factors(void** state) {
  (void)state;
  htone_grad_scaler_options options;
  htone_grad_scaler* scaler = NULL;
  Trained trained = make_trained();
  assert_ok(htone_grad_scaler_options_preset(HTONE_SCALER_MEGATRON, &options));
  options.initial_scale = 3;
  options.min_scale = 0.5;
  options.backoff_factor = 0.3;
  options.hysteresis = 1;
  assert_ok(htone_grad_scaler_create(test_device(), &options, &scaler));
  keep_grad_scaler(scaler);
  run_backward(scaler, trained, NAN);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_true(scale_of(scaler) == 0x1.cccccep-1); /* assert_float_equal takes numbers this near for equal */
}

static void a_saved_state_one_step_before_growth_grows_on_the_next(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(4);
  Trained trained = make_trained();
  htone_scaler_state saved = {.struct_size = sizeof saved, .hysteresis_left = 1, .scale = 64, .growth_tracker = 1999};
  assert_ok(htone_grad_scaler_set_state(scaler, &saved));
  assert_float_equal(scale_of(scaler), 64, 0);
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_fails(htone_grad_scaler_set_state(scaler, &saved), HTONE_ERROR_STATE, "scaler");
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_grad_scaler_state(scaler, &saved));
  assert_float_equal(saved.scale, 128, 0);
  assert_int_equal(saved.growth_tracker, 0);
}

/* N1: between the skipped step and the next one, a clip or the scaler reads other gradients. */
static void an_outcome_is_of_the_last_step_whatever_is_looked_at_since(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(65536);
  Trained trained = make_trained();
  run_backward(scaler, trained, 1e38);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  run_backward(scaler, trained, 1);
  for (int clips = 0; clips <= 1; ++clips) {
    assert_ok(clips ? htone_optimizer_clip_grad_norm(trained.optimizer, 1, 0)
                    : htone_grad_scaler_unscale(scaler, trained.optimizer));
    const htone_step_outcome outcome = outcome_of(trained.optimizer);
    assert_true(outcome.skipped == 1 && outcome.kind == HTONE_NOT_FINITE_INFINITY);
    assert_string_equal(outcome.parameter, "weight");
  }
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_int_equal(outcome_of(trained.optimizer).skipped, 0);
}

static void a_state_that_no_checkpoint_could_bring_back_is_refused(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(2);
  htone_scaler_state saved = {.struct_size = sizeof saved, .hysteresis_left = 1, .scale = 8};
  saved.growth_tracker = (INT64_C(1) << 62) + 1;
  assert_fails(htone_grad_scaler_set_state(scaler, &saved), HTONE_ERROR_INVALID_ARGUMENT, "growth_tracker");
  saved.growth_tracker = INT64_C(1) << 62;
  assert_ok(htone_grad_scaler_set_state(scaler, &saved));
}

static void a_bound_on_values_holds_in_every_step(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 1, 1);
  htone_optimizer* optimizer = make_sgd(module, 1);
  float before[2], after[2];
  assert_ok(htone_optimizer_set_grad_value_limit(optimizer, 0.25));
  const Trained trained = {module, optimizer};
  read_weights(trained, before);
  run_backward(make_idle_scaler(), trained, -7);
  assert_ok(htone_optimizer_step(optimizer));
  read_weights(trained, after);
  assert_float_equal(after[0], before[0] + 0.25f, 1e-7);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scaled_gradients_are_stored_and_unscaled_in_the_update),
      cmocka_unit_test(a_skipped_step_leaves_everything_and_names_the_offender),
      cmocka_unit_test(a_nan_is_told_from_an_infinity),
      cmocka_unit_test(two_optimizers_have_stages_of_their_own_and_share_the_verdict),
      cmocka_unit_test(an_update_without_a_step_leaves_no_factor_behind),
      cmocka_unit_test(clipping_by_norm_comes_between_unscale_and_step),
      cmocka_unit_test(a_scaler_that_is_not_enabled_passes_everything_through),
      cmocka_unit_test(the_state_of_a_scaler_that_is_not_enabled_begins_an_enabled_one),
      cmocka_unit_test(an_error_at_the_minimum_is_reported_by_update),
      cmocka_unit_test(the_deepspeed_preset_grows_in_the_step_after_its_window),
      cmocka_unit_test(the_megatron_preset_multiplies_by_fp32_factors),
      cmocka_unit_test(a_saved_state_one_step_before_growth_grows_on_the_next),
      cmocka_unit_test(an_outcome_is_of_the_last_step_whatever_is_looked_at_since),
      cmocka_unit_test(a_state_that_no_checkpoint_could_bring_back_is_refused),
      cmocka_unit_test(a_bound_on_values_holds_in_every_step),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
