/* Clipping by norm: how long the clip factor lasts, and the effect of a second call. */
#include <math.h>

#include "test_optimizers.h"

static const double kFirst[] = {300, 400}, kSecond[] = {3, 4}, kBroken[] = {NAN, 1};

typedef struct Clipped {
  htone_parameter* parameter;
  htone_tensor* weights;
  htone_optimizer* optimizer;
} Clipped;

/* Two weights of 0 under SGD with a learning rate of 1: a step subtracts the gradients as the optimizer reads them. */
static Clipped make_clipped(void) {
  static const double zeros[] = {0, 0};
  const htone_optimizer_options options = sgd_options(1);
  Clipped made = {NULL, make_tensor(HTONE_F32, zeros, 1, 2), NULL};
  made.parameter = make_parameter("weights", made.weights);
  made.optimizer = make_sgd_over(make_parameters(made.parameter), &options);
  return made;
}

static void add_gradient(const Clipped* clipped, const double* values) {
  assert_ok(htone_parameter_accumulate_grad(clipped->parameter, make_tensor(HTONE_F32, values, 1, 2)));
}

static double factor_of(const Clipped* clipped) {
  double factor = -1;
  assert_ok(htone_optimizer_grad_factor(clipped->optimizer, &factor));
  return factor;
}

static void zeroing_gradients_ends_their_clip(void** state) {
  (void)state;
  const double* const first[] = {kFirst, kBroken};
  for (int i = 0; i < 2; ++i) {
    const Clipped clipped = make_clipped();
    add_gradient(&clipped, first[i]);
    assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 1, 0));
    assert_true(factor_of(&clipped) != 1);
    assert_ok(htone_optimizer_zero_grad(clipped.optimizer));
    assert_near(factor_of(&clipped), 1, 0);
    add_gradient(&clipped, kSecond);
    assert_near(grad_norm_of(clipped.optimizer), 5, 1e-6);
    assert_ok(htone_optimizer_step(clipped.optimizer));
    assert_values(clipped.weights, 0, -3, -4);
  }
}

static void a_second_clip_only_lowers_what_the_first_has_left(void** state) {
  (void)state;
  const Clipped clipped = make_clipped();
  add_gradient(&clipped, kFirst);
  assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 1, 0));
  assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 100, 0));
  assert_near(grad_norm_of(clipped.optimizer), 1, 1e-5);
  assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 0.5, 0));
  assert_near(grad_norm_of(clipped.optimizer), 0.5, 1e-5);
  assert_ok(htone_optimizer_step(clipped.optimizer));
  assert_values(clipped.weights, 1e-5, -0.3, -0.4);
  assert_near(factor_of(&clipped), 1, 0);
}

static void gradients_added_after_a_clip_are_clipped_with_the_others_by_the_next(void** state) {
  (void)state;
  const Clipped clipped = make_clipped();
  add_gradient(&clipped, kSecond);
  assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 1, 0));
  add_gradient(&clipped, kFirst);
  assert_ok(htone_optimizer_clip_grad_norm(clipped.optimizer, 1, 0));
  assert_near(grad_norm_of(clipped.optimizer), 1, 1e-5);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zeroing_gradients_ends_their_clip),
      cmocka_unit_test(a_second_clip_only_lowers_what_the_first_has_left),
      cmocka_unit_test(gradients_added_after_a_clip_are_clipped_with_the_others_by_the_next),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
