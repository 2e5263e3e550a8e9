/* The gradient scaler: skipped steps change nothing, the fields of an outcome, bounds, saved states. */
#include <math.h>

#include "test_optimizers.h"

static htone_grad_scaler* make_scaler(double scale) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = scale;
  return make_grad_scaler(&options);
}

/* A linear layer of two inputs and one output, with an optimizer. */
typedef struct Trained {
  htone_module* module;
  htone_optimizer* optimizer;
} Trained;

static Trained make_trained(void) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.lr = 0.1;
  htone_module* module = make_linear(test_device(), 2, 1, 1);
  return (Trained){module, make_adamw(module, &options)};
}

/* A scaler that is not enabled returns each loss as it is. */
static htone_grad_scaler* make_idle_scaler(double initial_scale) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.enabled = 0;
  options.initial_scale = initial_scale;
  return make_grad_scaler(&options);
}

/* Runs backward of the scaled sum of outputs for one row of inputs. */
static void run_backward(htone_grad_scaler* scaler, Trained trained, double input) {
  assert_ok(htone_optimizer_zero_grad(trained.optimizer));
  backward_scaled(scaler,
                  sum_of(forward(trained.module, make_tensor(HTONE_F32, (const double[]){input, input}, 2, 1, 2))));
}

static void read_weights(Trained trained, float out[2]) {
  assert_ok(htone_tensor_read(weights_of(trained.module, 0), HTONE_F32, out, 2 * sizeof(float)));
}

static void scaled_gradients_are_stored_and_unscaled_in_the_update(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(1024);
  Trained with = make_trained(), without = make_trained();
  float a[2], b[2];
  double factor = 0;
  /* Both modules get equal weights. */
  read_weights(with, a);
  assert_ok(htone_tensor_write(weights_of(without.module, 0), HTONE_F32, a, sizeof a));
  run_backward(scaler, with, 3);
  assert_values(grad_of(weights_of(with.module, 0)), 0, 3 * 1024, 3 * 1024);
  assert_ok(htone_grad_scaler_unscale(scaler, with.optimizer));
  assert_ok(htone_optimizer_grad_factor(with.optimizer, &factor));
  assert_float_equal(factor, 1.0 / 1024, 0);
  assert_near(grad_norm_of(with.optimizer), sqrt(3 * 3 * 2 + 1), 1e-5); /* two weights and a bias */
  assert_ok(htone_grad_scaler_step(scaler, with.optimizer));
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_optimizer_grad_factor(with.optimizer, &factor));
  assert_float_equal(factor, 1, 0);
  run_backward(make_idle_scaler(2), without, 3);
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
  assert_float_equal(loss_scale_of(scaler), 32768, 0);
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

/* A18 */
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
  assert_float_equal(loss_scale_of(scaler), 8, 0);
}

static void a_scaler_that_is_not_enabled_passes_everything_through(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_idle_scaler(512);
  Trained trained = make_trained();
  int64_t steps = 0;
  assert_float_equal(loss_scale_of(scaler), 1, 0);
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
  htone_scaler_state saved = {.struct_size = sizeof saved};
  htone_grad_scaler* passive = make_idle_scaler(512);
  assert_ok(htone_grad_scaler_state(passive, &saved));
  assert_float_equal(saved.scale, 512, 0);
  assert_float_equal(loss_scale_of(passive), 1, 0);
  htone_grad_scaler* active = make_scaler(4);
  assert_ok(htone_grad_scaler_set_state(active, &saved));
  assert_float_equal(loss_scale_of(active), 512, 0);
  saved.scale = 64;
  assert_ok(htone_grad_scaler_set_state(passive, &saved));
  assert_ok(htone_grad_scaler_state(passive, &saved));
  assert_float_equal(saved.scale, 64, 0);
  assert_float_equal(loss_scale_of(passive), 1, 0);
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
  saved.growth_tracker = 1;
  saved.scale = 1e-40; /* its reciprocal is infinite in FP32 */
  assert_fails(htone_grad_scaler_set_state(scaler, &saved), HTONE_ERROR_INVALID_ARGUMENT, "scale");
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = 1e-46; /* 0 in FP32 */
  assert_fails(htone_grad_scaler_create(test_device(), &options, &scaler), HTONE_ERROR_INVALID_ARGUMENT,
               "initial_scale");
}

static void a_full_growth_tracker_grows_instead_of_overflowing(void** state) {
  (void)state;
  htone_grad_scaler* scaler = make_scaler(4);
  const Trained trained = make_trained();
  htone_scaler_state saved = {
      .struct_size = sizeof saved, .hysteresis_left = 1, .scale = 2, .growth_tracker = INT64_C(1) << 62};
  assert_ok(htone_grad_scaler_set_state(scaler, &saved));
  run_backward(scaler, trained, 1);
  assert_ok(htone_grad_scaler_step(scaler, trained.optimizer));
  assert_fails(htone_grad_scaler_set_state(scaler, &saved), HTONE_ERROR_STATE, "scaler");
  assert_ok(htone_grad_scaler_update(scaler));
  assert_ok(htone_grad_scaler_state(scaler, &saved));
  assert_true(saved.scale == 4 && saved.growth_tracker == 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scaled_gradients_are_stored_and_unscaled_in_the_update),
      cmocka_unit_test(a_skipped_step_leaves_everything_and_names_the_offender),
      cmocka_unit_test(a_nan_is_told_from_an_infinity),
      cmocka_unit_test(two_optimizers_have_stages_of_their_own_and_share_the_verdict),
      cmocka_unit_test(a_scaler_that_is_not_enabled_passes_everything_through),
      cmocka_unit_test(the_state_of_a_scaler_that_is_not_enabled_begins_an_enabled_one),
      cmocka_unit_test(a_full_growth_tracker_grows_instead_of_overflowing),
      cmocka_unit_test(an_outcome_is_of_the_last_step_whatever_is_looked_at_since),
      cmocka_unit_test(a_state_that_no_checkpoint_could_bring_back_is_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
