/* The guard on the norm of gradients, and the outcome of steps whose gradients are large. */
#include <math.h>
#include <string.h>

#include "test_optimizers.h"

typedef struct Guarded {
  htone_parameter* parameters[2];
  htone_tensor* weights[2];
  htone_parameters* set;
} Guarded;

/* Two parameters of one weight, both 0. */
static Guarded make_guarded(void) {
  static const double zero[] = {0};
  static const char* const names[] = {"first", "second"};
  Guarded made;
  assert_ok(htone_parameters_create(&made.set));
  keep_parameters(made.set);
  for (int i = 0; i < 2; ++i) {
    made.weights[i] = make_tensor(HTONE_F32, zero, 1, 1);
    made.parameters[i] = make_parameter(names[i], made.weights[i]);
    assert_ok(htone_parameters_add(made.set, made.parameters[i]));
  }
  return made;
}

static htone_optimizer* sgd_under(const Guarded* guarded, const htone_norm_guard_options* guard) {
  const htone_optimizer_options options = sgd_options(1);
  htone_optimizer* optimizer = make_sgd_over(guarded->set, &options);
  assert_ok(htone_optimizer_set_norm_guard(optimizer, guard));
  return optimizer;
}

static void set_gradients(const Guarded* guarded, htone_optimizer* optimizer, double first, double second) {
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_ok(htone_parameter_accumulate_grad(guarded->parameters[0], make_tensor(HTONE_F32, &first, 1, 1)));
  assert_ok(htone_parameter_accumulate_grad(guarded->parameters[1], make_tensor(HTONE_F32, &second, 1, 1)));
}

static htone_step_outcome step_with(const Guarded* guarded, htone_optimizer* optimizer, double first, double second) {
  set_gradients(guarded, optimizer, first, second);
  assert_ok(htone_optimizer_step(optimizer));
  return outcome_of(optimizer);
}

static void a_step_above_the_limit_is_skipped_and_says_why(void** state) {
  (void)state;
  const Guarded guarded = make_guarded();
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  guard.max_norm = 5;
  htone_optimizer* optimizer = sgd_under(&guarded, &guard);
  const htone_step_outcome skipped = step_with(&guarded, optimizer, 3, 4.5);
  assert_int_equal(skipped.skipped, 1);
  assert_int_equal(skipped.exceeded, 1);
  assert_int_equal(skipped.kind, HTONE_NOT_FINITE_NOTHING);
  assert_string_equal(skipped.parameter, "second");
  assert_near(skipped.grad_norm, sqrt(29.25), 1e-12);
  assert_near(skipped.norm_limit, 5, 0);
  assert_values(guarded.weights[1], 0, 0);
  const htone_step_outcome taken = step_with(&guarded, optimizer, 3, 4);
  assert_int_equal(taken.skipped + taken.exceeded, 0);
  assert_string_equal(taken.parameter, "");
  assert_near(taken.grad_norm, 5, 0);
  assert_values(guarded.weights[1], 0, -4);
}

static void the_guard_skips_gradients_that_are_not_finite(void** state) {
  (void)state;
  const Guarded guarded = make_guarded();
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  guard.max_norm_ratio = 2;
  htone_optimizer* optimizer = sgd_under(&guarded, &guard);
  const htone_step_outcome skipped = step_with(&guarded, optimizer, NAN, 1);
  assert_int_equal(skipped.skipped, 1);
  assert_int_equal(skipped.exceeded, 0);
  assert_int_equal(skipped.kind, HTONE_NOT_FINITE_NAN);
  assert_string_equal(skipped.parameter, "first");
  guard.report_only = 1;
  assert_ok(htone_optimizer_set_norm_guard(optimizer, &guard));
  assert_int_equal(step_with(&guarded, optimizer, NAN, 1).skipped, 0);
  assert_values(guarded.weights[0], 0, NAN);
}

static void a_report_changes_the_weights(void** state) {
  (void)state;
  const Guarded guarded = make_guarded();
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  guard.report_only = 1;
  guard.max_norm = 1;
  htone_optimizer* optimizer = sgd_under(&guarded, &guard);
  const htone_step_outcome outcome = step_with(&guarded, optimizer, -8, 6);
  assert_int_equal(outcome.skipped, 0);
  assert_int_equal(outcome.exceeded, 1);
  assert_string_equal(outcome.parameter, "first");
  assert_values(guarded.weights[0], 0, 8);
}

/* The default guards nothing; a guard that ends forgets its mean. */
static void defaults_end_the_guard_and_its_mean(void** state) {
  (void)state;
  const Guarded guarded = make_guarded();
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  guard.max_norm_ratio = 2;
  guard.warmup_steps = 1;
  htone_optimizer* optimizer = sgd_under(&guarded, &guard);
  step_with(&guarded, optimizer, 1, 0);
  assert_ok(htone_optimizer_set_norm_guard(optimizer, &guard));
  assert_int_equal(step_with(&guarded, optimizer, 5, 0).exceeded, 1);
  assert_ok(htone_optimizer_set_norm_guard(optimizer, NULL));
  const htone_step_outcome plain = step_with(&guarded, optimizer, 5, 0);
  assert_int_equal(plain.skipped, 0);
  assert_near(plain.grad_norm + plain.norm_limit, 0, 0);
  assert_ok(htone_optimizer_set_norm_guard(optimizer, &guard));
  assert_near(step_with(&guarded, optimizer, 5, 0).norm_limit, 0, 0);
  assert_near(step_with(&guarded, optimizer, 5, 0).norm_limit, 10, 0);
}

/* The norm is that before clipping and without the scale, and a large norm is not the scale's fault. */
static void the_norm_is_unscaled_and_before_clipping(void** state) {
  (void)state;
  const Guarded guarded = make_guarded();
  htone_norm_guard_options guard = HTONE_NORM_GUARD_OPTIONS_INIT;
  double scale = 0;
  guard.max_norm = 5;
  htone_optimizer* optimizer = sgd_under(&guarded, &guard);
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  for (int large = 0; large < 2; ++large) {
    set_gradients(&guarded, optimizer, 3 * 65536.0, (large ? 8 : 4) * 65536.0);
    assert_ok(htone_grad_scaler_unscale(scaler, optimizer));
    assert_ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
    assert_ok(htone_grad_scaler_step(scaler, optimizer));
    const htone_step_outcome outcome = outcome_of(optimizer);
    assert_int_equal(outcome.skipped, large);
    assert_int_equal(outcome.exceeded, large);
    assert_near(outcome.grad_norm, large ? sqrt(73) : 5, 1e-12);
    assert_ok(htone_grad_scaler_update(scaler));
    assert_ok(htone_grad_scaler_current_scale(scaler, &scale));
    assert_near(scale, 65536, 0);
  }
  set_gradients(&guarded, optimizer, 3, 8);
  assert_ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
  assert_ok(htone_optimizer_step(optimizer));
  assert_int_equal(outcome_of(optimizer).exceeded, 1);
}

static htone_step_outcome large_step(htone_gradient_guard guard, int squares, double limit) {
  const Guarded guarded = make_guarded();
  const htone_optimizer_options sgd = sgd_options(1);
  htone_optimizer* optimizer = NULL;
  if (squares) {
    assert_ok(htone_optimizer_create_over(guarded.set, NULL, &optimizer));
    keep_optimizer(optimizer);
  } else {
    optimizer = make_sgd_over(guarded.set, &sgd);
  }
  assert_ok(htone_optimizer_set_gradient_guard(optimizer, guard));
  assert_ok(htone_optimizer_set_grad_value_limit(optimizer, limit));
  return step_with(&guarded, optimizer, 1, 1e25);
}

static void n3_a_checked_step_reports_gradients_that_were_bounded(void** state) {
  (void)state;
  const htone_step_outcome bounded = large_step(HTONE_GRADIENT_GUARD_SKIP, 1, INFINITY);
  assert_int_equal(bounded.skipped, 0);
  assert_int_equal(bounded.bounded, 1);
  assert_string_equal(bounded.parameter, "second");
  assert_near(bounded.grad_norm, 1e25, 1e18);
  assert_int_equal(large_step(HTONE_GRADIENT_GUARD_SKIP, 0, INFINITY).bounded, 0);
  assert_int_equal(large_step(HTONE_GRADIENT_GUARD_SKIP, 1, 1).bounded, 0);
  assert_int_equal(large_step(HTONE_GRADIENT_GUARD_NONE, 1, INFINITY).bounded, 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_step_above_the_limit_is_skipped_and_says_why),
      cmocka_unit_test(the_guard_skips_gradients_that_are_not_finite),
      cmocka_unit_test(a_report_changes_the_weights),
      cmocka_unit_test(defaults_end_the_guard_and_its_mean),
      cmocka_unit_test(the_norm_is_unscaled_and_before_clipping),
      cmocka_unit_test(n3_a_checked_step_reports_gradients_that_were_bounded),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
