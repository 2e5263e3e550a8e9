/* Gradients that are not finite, without a gradient scaler: the guards of steps and of clipping. */
#include <math.h>
#include <string.h>

#include "test_optimizers.h"

static const double kGood[] = {3, 4}, kNan[] = {1, NAN}, kInfinite[] = {-INFINITY, 1};

typedef struct Guarded {
  htone_parameter* parameters[2];
  htone_tensor* weights[2];
  htone_optimizer* optimizer;
} Guarded;

/* Two parameters of two weights, all 0, under SGD with a learning rate of 1. */
static Guarded make_guarded(htone_gradient_guard guard) {
  static const double zeros[] = {0, 0};
  static const char* const names[] = {"first", "second"};
  const htone_optimizer_options options = sgd_options(1);
  Guarded made;
  htone_parameters* set = NULL;
  assert_ok(htone_parameters_create(&set));
  keep_parameters(set);
  for (int i = 0; i < 2; ++i) {
    made.weights[i] = make_tensor(HTONE_F32, zeros, 1, 2);
    made.parameters[i] = make_parameter(names[i], made.weights[i]);
    assert_ok(htone_parameters_add(set, made.parameters[i]));
  }
  made.optimizer = make_sgd_over(set, &options);
  assert_ok(htone_optimizer_set_gradient_guard(made.optimizer, guard));
  return made;
}

static void set_gradients(const Guarded* guarded, const double* first, const double* second) {
  assert_ok(htone_optimizer_zero_grad(guarded->optimizer));
  assert_ok(htone_parameter_accumulate_grad(guarded->parameters[0], make_tensor(HTONE_F32, first, 1, 2)));
  assert_ok(htone_parameter_accumulate_grad(guarded->parameters[1], make_tensor(HTONE_F32, second, 1, 2)));
}

static int64_t steps_of(const Guarded* guarded) {
  int64_t count = -1;
  assert_ok(htone_optimizer_step_count(guarded->optimizer, &count));
  return count;
}

static void without_a_guard_nan_reaches_the_weights(void** state) {
  (void)state;
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_NONE);
  set_gradients(&guarded, kGood, kNan);
  assert_ok(htone_optimizer_step(guarded.optimizer));
  assert_int_equal(outcome_of(guarded.optimizer).skipped, 0);
  assert_values(guarded.weights[1], 0, -1, NAN);
}

static void the_guard_skips_the_step_and_says_why(void** state) {
  (void)state;
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_SKIP);
  set_gradients(&guarded, kGood, kInfinite);
  assert_ok(htone_optimizer_step(guarded.optimizer));
  const htone_step_outcome skipped = outcome_of(guarded.optimizer);
  assert_int_equal(skipped.skipped, 1);
  assert_int_equal(skipped.kind, HTONE_NOT_FINITE_INFINITY);
  assert_string_equal(skipped.parameter, "second");
  assert_values(guarded.weights[0], 0, 0, 0);
  assert_int_equal(steps_of(&guarded), 0);
  set_gradients(&guarded, kGood, kGood);
  assert_ok(htone_optimizer_step(guarded.optimizer));
  assert_int_equal(outcome_of(guarded.optimizer).skipped, 0);
  assert_values(guarded.weights[1], 0, -3, -4);
}

static void the_guard_fails_the_step_and_changes_nothing(void** state) {
  (void)state;
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_ERROR);
  set_gradients(&guarded, kNan, kInfinite);
  assert_fails(htone_optimizer_step(guarded.optimizer), HTONE_ERROR_NOT_FINITE,
               "htone_optimizer_step: optimizer: the gradient of first holds NaN");
  assert_values(guarded.weights[0], 0, 0, 0);
  assert_int_equal(steps_of(&guarded), 0);
  set_gradients(&guarded, kGood, kGood);
  assert_ok(htone_optimizer_step(guarded.optimizer));
  assert_values(guarded.weights[0], 0, -3, -4);
}

/* The sum of their squares overflows FP32, and they are finite. */
static void large_finite_gradients_pass(void** state) {
  (void)state;
  static const double large[] = {1e30, -3e38};
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_ERROR);
  set_gradients(&guarded, large, kGood);
  assert_ok(htone_optimizer_step(guarded.optimizer));
  assert_values(guarded.weights[1], 0, -3, -4);
}

static void clipping_fails_where_it_is_asked_to(void** state) {
  (void)state;
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_NONE);
  set_gradients(&guarded, kGood, kNan);
  assert_fails(htone_optimizer_clip_grad_norm(guarded.optimizer, 1, 1), HTONE_ERROR_NOT_FINITE,
               "the gradient of second holds NaN");
  double factor = 0;
  assert_ok(htone_optimizer_grad_factor(guarded.optimizer, &factor));
  assert_near(factor, 1, 0);
  set_gradients(&guarded, kGood, kGood);
  assert_ok(htone_optimizer_clip_grad_norm(guarded.optimizer, 1, 1));
  assert_near(grad_norm_of(guarded.optimizer), 1, 1e-5);
}

static void a_scaler_skips_whatever_the_guard_is(void** state) {
  (void)state;
  const Guarded guarded = make_guarded(HTONE_GRADIENT_GUARD_ERROR);
  htone_grad_scaler* scaler = make_grad_scaler(NULL);
  set_gradients(&guarded, kGood, kInfinite);
  assert_ok(htone_grad_scaler_step(scaler, guarded.optimizer));
  assert_int_equal(outcome_of(guarded.optimizer).skipped, 1);
  assert_ok(htone_grad_scaler_update(scaler));
}

static void parameters_of_the_library_take_every_master(void** state) {
  (void)state;
  static const htone_master_storage masters[] = {HTONE_MASTER_FULL, HTONE_MASTER_SPLIT, HTONE_MASTER_NONE};
  static const int64_t shape[] = {3, 2};
  for (size_t i = 0; i < COUNT_OF(masters); ++i) {
    htone_parameter* position = NULL;
    htone_tensor* weights = NULL;
    assert_ok(htone_parameter_create_new(test_device(), "position", HTONE_F32, 2, shape, &position));
    keep_parameter(position);
    assert_ok(htone_parameter_tensor(position, &weights));
    assert_values(weights, 0, 0, 0, 0, 0, 0, 0);
    assert_ok(htone_init_uniform(weights, 1, 2));
    assert_ok(htone_tensor_release(weights));
    htone_optimizer_options options = sgd_options(1);
    options.compute_dtype = HTONE_BF16;
    options.master_storage = masters[i];
    htone_optimizer* optimizer = make_sgd_over(make_parameters(position), &options);
    static const double ones[] = {1, 1, 1, 1, 1, 1};
    const double before = item_of(sum_of(read_as(position, HTONE_F32)));
    assert_ok(htone_parameter_accumulate_grad(position, make_tensor(HTONE_F32, ones, 2, 3, 2)));
    assert_ok(htone_optimizer_step(optimizer));
    assert_near(before - item_of(sum_of(read_as(position, HTONE_F32))), 6, 0.05);
  }
}

static void memory_of_a_new_parameter_counts_as_parameters(void** state) {
  (void)state;
  htone_memory_stats before = HTONE_MEMORY_STATS_INIT, after = HTONE_MEMORY_STATS_INIT;
  static const int64_t shape[] = {1024};
  htone_parameter* parameter = NULL;
  assert_ok(htone_device_memory_stats(test_device(), &before));
  assert_ok(htone_parameter_create_new(test_device(), "bias", HTONE_BF16, 1, shape, &parameter));
  keep_parameter(parameter);
  assert_ok(htone_device_memory_stats(test_device(), &after));
  assert_int_equal(after.by_category[HTONE_MEMORY_PARAMETERS] - before.by_category[HTONE_MEMORY_PARAMETERS], 2048);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_a_guard_nan_reaches_the_weights),
      cmocka_unit_test(the_guard_skips_the_step_and_says_why),
      cmocka_unit_test(the_guard_fails_the_step_and_changes_nothing),
      cmocka_unit_test(large_finite_gradients_pass),
      cmocka_unit_test(clipping_fails_where_it_is_asked_to),
      cmocka_unit_test(a_scaler_skips_whatever_the_guard_is),
      cmocka_unit_test(parameters_of_the_library_take_every_master),
      cmocka_unit_test(memory_of_a_new_parameter_counts_as_parameters),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
