/* Functions of elementwise.h: one value each, dtypes of gradients, autocast, refusals. */
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static double rsqrt_of(double x) { return 1 / sqrt(x); }
static double reciprocal_of(double x) { return 1 / x; }
static double negated(double x) { return -x; }
static double sigmoid_of(double x) { return 1 / (1 + exp(-x)); }
static double silu_of(double x) { return x / (1 + exp(-x)); }
static double softplus_of(double x) { return log1p(exp(x)); }

typedef struct Function {
  const char* name;
  UnaryFn apply;
  double (*reference)(double x);
  htone_autocast_class autocast_class;
  int keeps_integers;
} Function;

static const Function kFunctions[] = {
    {"exp", htone_exp, exp, HTONE_AUTOCAST_FP32, 0},
    {"log", htone_log, log, HTONE_AUTOCAST_FP32, 0},
    {"sqrt", htone_sqrt, sqrt, HTONE_AUTOCAST_AS_IS, 0},
    {"rsqrt", htone_rsqrt, rsqrt_of, HTONE_AUTOCAST_FP32, 0},
    {"reciprocal", htone_reciprocal, reciprocal_of, HTONE_AUTOCAST_FP32, 0},
    {"abs", htone_abs, fabs, HTONE_AUTOCAST_AS_IS, 1},
    {"neg", htone_neg, negated, HTONE_AUTOCAST_AS_IS, 1},
    {"sin", htone_sin, sin, HTONE_AUTOCAST_AS_IS, 0},
    {"cos", htone_cos, cos, HTONE_AUTOCAST_AS_IS, 0},
    {"sigmoid", htone_sigmoid, sigmoid_of, HTONE_AUTOCAST_AS_IS, 0},
    {"tanh", htone_tanh, tanh, HTONE_AUTOCAST_AS_IS, 0},
    {"silu", htone_silu, silu_of, HTONE_AUTOCAST_AS_IS, 0},
    {"softplus", htone_softplus, softplus_of, HTONE_AUTOCAST_FP32, 0},
};

static void gradients_take_the_dtype_of_their_input(void** state) {
  (void)state;
  for (size_t f = 0; f < COUNT_OF(kFunctions); ++f) {
    htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){0.5, 2}, 1, 2));
    backward(sum_of(apply1(kFunctions[f].apply, x)));
    assert_int_equal(dtype_of(grad_of(x)), HTONE_BF16);
  }
}

static void autocast_widens_what_pytorch_widens(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  for (size_t f = 0; f < COUNT_OF(kFunctions); ++f) {
    const Function* function = &kFunctions[f];
    htone_autocast_class autocast_class = 0;
    assert_ok(htone_autocast_policy_class(policy, function->name, &autocast_class));
    assert_int_equal(autocast_class, function->autocast_class);
    htone_tensor* x = leaf(make_tensor(HTONE_BF16, (const double[]){0.75}, 1, 1));
    htone_tensor* out = apply1(function->apply, x);
    const int is_wide = autocast_class == HTONE_AUTOCAST_FP32;
    assert_int_equal(dtype_of(out), is_wide ? HTONE_F32 : HTONE_BF16);
    assert_near(item_of(out), function->reference(0.75), is_wide ? 1e-6 : 1e-2);
    backward(sum_of(out));
    assert_int_equal(dtype_of(grad_of(x)), HTONE_BF16);
  }
  assert_ok(htone_scope_end(scope));
}

static void storage_formats_are_refused(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  for (size_t f = 0; f < COUNT_OF(kFunctions); ++f) {
    assert_fails(kFunctions[f].apply(make_ramp(HTONE_F8E4M3, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH, "f8e4m3");
  }
  assert_fails(htone_neg(make_ramp(HTONE_BOOL, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH, "bool");
  assert_null(out);
}

static void ties_share_the_gradient(void** state) {
  (void)state;
  static const BinaryFn functions[] = {htone_maximum, htone_minimum};
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    htone_tensor* a = leaf(make_tensor(HTONE_F32, (const double[]){1, 4, 2}, 1, 3));
    htone_tensor* b = leaf(make_tensor(HTONE_F32, (const double[]){3, 0, 2}, 1, 3));
    htone_tensor* result = apply2(functions[i], a, b);
    assert_values(result, 0, i == 0 ? 3 : 1, i == 0 ? 4 : 0, 2);
    backward(sum_of(result));
    assert_values(grad_of(a), 0, (double)i, 1 - (double)i, 0.5);
    assert_values(grad_of(b), 0, 1 - (double)i, (double)i, 0.5);
  }
}

static htone_tensor* clamped(htone_tensor* input, double low, double high) {
  htone_tensor* out = NULL;
  assert_ok(htone_clamp(input, low, high, &out));
  return keep_tensor(out);
}

static void clamp_bounds_from_both_sides(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){-2, 0, 5}, 1, 3));
  htone_tensor *result = clamped(x, -1, 2), *out = NULL;
  assert_values(result, 0, -1, 0, 2);
  backward(sum_of(result));
  assert_values(grad_of(x), 0, 0, 1, 0);
  assert_fails(htone_clamp(make_ramp(HTONE_I32, 1, 3), 0, 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_null(out);
}

static htone_tensor* raised(htone_tensor* input, double exponent) {
  htone_tensor* out = NULL;
  assert_ok(htone_pow_scalar(input, exponent, &out));
  return keep_tensor(out);
}

static void pow_raises_to_a_tensor_or_a_number(void** state) {
  (void)state;
  htone_tensor* base = leaf(make_tensor(HTONE_F32, (const double[]){0, 0, 2}, 1, 3));
  htone_tensor* exponent = leaf(make_tensor(HTONE_F32, (const double[]){0, 3, 1}, 1, 3));
  assert_values(raised(base, 3), 0, 0, 0, 8);
  htone_tensor* result = apply2(htone_pow, base, exponent);
  assert_values(result, 0, 1, 0, 2);
  backward(sum_of(result));
  assert_values(grad_of(base), 0, 0, 0, 1);
  assert_values(grad_of(exponent), 1e-6, 0, 0, 2 * log(2));
}

static void pow_names_its_operands(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  assert_fails(htone_pow(make_ramp(HTONE_F8E5M2, 1, 2), make_ramp(HTONE_F32, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "base");
  assert_fails(htone_pow(make_ramp(HTONE_F32, 1, 2), make_ramp(HTONE_F8E5M2, 1, 2), &out), HTONE_ERROR_DTYPE_MISMATCH,
               "exponent");
  assert_fails(htone_pow(make_ramp(HTONE_F32, 1, 2), make_ramp(HTONE_F32, 1, 3), &out), HTONE_ERROR_SHAPE_MISMATCH,
               "[3]");
  assert_null(out);
}

static void functions_of_two_follow_autocast(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  htone_tensor* narrow = make_ramp(HTONE_BF16, 1, 2);
  assert_int_equal(dtype_of(apply2(htone_pow, narrow, narrow)), HTONE_F32);
  assert_int_equal(dtype_of(raised(narrow, 3)), HTONE_F32);
  assert_int_equal(dtype_of(clamped(narrow, 0, 1)), HTONE_BF16);
  assert_int_equal(dtype_of(apply2(htone_maximum, narrow, make_scalar(HTONE_F32, 1))), HTONE_F32);
  assert_int_equal(dtype_of(apply2(htone_minimum, narrow, narrow)), HTONE_BF16);
  assert_ok(htone_scope_end(scope));
}

/* A15 */
static void a_write_between_forward_and_backward_is_noticed(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, (const double[]){1, 2}, 1, 2));
  htone_tensor* out = apply1(htone_exp, x);
  htone_tensor* loss = sum_of(out);
  htone_tensor* same = NULL;
  assert_ok(htone_tensor_detach(out, &same));
  assert_ok(htone_tensor_fill(keep_tensor(same), 0));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gradients_take_the_dtype_of_their_input),
      cmocka_unit_test(autocast_widens_what_pytorch_widens),
      cmocka_unit_test(storage_formats_are_refused),
      cmocka_unit_test(ties_share_the_gradient),
      cmocka_unit_test(clamp_bounds_from_both_sides),
      cmocka_unit_test(pow_raises_to_a_tensor_or_a_number),
      cmocka_unit_test(pow_names_its_operands),
      cmocka_unit_test(functions_of_two_follow_autocast),
      cmocka_unit_test(a_write_between_forward_and_backward_is_noticed),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
