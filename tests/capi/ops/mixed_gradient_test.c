/* Gradients of f32 and 16-bit operands beside an f64 one: computed in double and rounded once, as ops.h says. Names
 * carry the row of the fault catalogue.
 */
#include <float.h>
#include <math.h>

#include "halftone/halftone.h"
#include "test_tensors.h"

static htone_status where_true(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  htone_tensor* condition = make_tensor(HTONE_BOOL, (const double[]){1}, 1, 1);
  return htone_where(condition, a, b, out);
}
static htone_status mse(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_mse_loss(a, b, HTONE_REDUCTION_NONE, out);
}
static htone_status l1(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_l1_loss(a, b, HTONE_REDUCTION_NONE, out);
}
static htone_status smooth_l1(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_smooth_l1_loss(a, b, 1, HTONE_REDUCTION_NONE, out);
}
static htone_status kl(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_kl_div(a, b, 0, HTONE_REDUCTION_NONE, out);
}
static htone_status kl_of_logs(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_kl_div(a, b, 1, HTONE_REDUCTION_NONE, out);
}
static htone_status bce(htone_tensor* a, htone_tensor* b, htone_tensor** out) {
  return htone_bce_with_logits(a, b, NULL, HTONE_REDUCTION_NONE, out);
}

/* One call and the gradient of its narrow operand, whose other factors are beyond FP32 or differ by less than its step.
 */
typedef struct MixedCase {
  const char* name;
  BinaryFn function;
  double wide;
  double narrow;
  int narrow_first;
  double gradient; /* of the result */
  double expected; /* gradient of the narrow operand, before it is rounded */
} MixedCase;

static const MixedCase kCases[] = {
    {"mul", htone_mul, 1e39, 2, 0, 1e-3, 1e36},
    {"mul", htone_mul, 1e39, 2, 1, 1e-3, 1e36},
    {"div", htone_div, 1e39, 2, 0, 1e-3, -2.5e35},
    {"div", htone_div, 1e-39, 2, 1, 1e-3, 1e36},
    {"add", htone_add, 1e39, 2, 0, 1e-3, 1e-3},
    {"sub", htone_sub, 1e39, 2, 0, 1e-3, -1e-3},
    {"pow, exponent", htone_pow, 1e39, 2, 0, 1e-77, 898.00818626848},
    {"pow, base", htone_pow, 100, 4, 1, 1e-60, 100 * 0.401734511064748},
    {"maximum", htone_maximum, 1 + 1e-12, 1, 0, 1, 0},
    {"maximum", htone_maximum, 1 - 1e-12, 1, 1, 1, 1},
    {"minimum", htone_minimum, 1 + 1e-12, 1, 0, 1, 1},
    {"minimum", htone_minimum, 1 - 1e-12, 1, 1, 1, 0},
    {"where", where_true, 1, 2, 1, 1e-3, 1e-3},
    {"mse, target", mse, 1e39, 2, 0, 1e-3, -2e36},
    {"mse, input", mse, 1e39, 2, 1, 1e-3, -2e36},
    {"l1, target", l1, 1 + 1e-12, 1, 0, 1, -1},
    {"l1, input", l1, 1 + 1e-12, 1, 1, 1, -1},
    {"smooth_l1, target", smooth_l1, 1 + 1e-6, 1, 0, 1, -1e-6},
    {"smooth_l1, input", smooth_l1, 1 + 1e-6, 1, 1, 1, -1e-6},
    {"kl, target", kl, 1e39, 1, 0, 1e-3, -1e36},
    {"kl, input", kl, 1e39, 1, 1, 1e-3, -1e36},
    {"kl of logs, target", kl_of_logs, 1e39, 0, 0, 1e-3, -1e36},
    {"kl of logs, input", kl_of_logs, 100, 0, 1, 1e-40, -2688.11714181613},
    {"bce, target", bce, 1e39, 1, 0, 1e-3, -1e36},
    {"bce, logits", bce, 1e39, 0, 1, 1e-3, -1e36},
};

static htone_tensor* gradient_of_narrow(const MixedCase* given, htone_dtype dtype) {
  htone_tensor* wide = make_tensor(HTONE_F64, &given->wide, 1, 1);
  htone_tensor* narrow = leaf(make_tensor(dtype, &given->narrow, 1, 1));
  htone_tensor* result =
      apply2(given->function, given->narrow_first ? narrow : wide, given->narrow_first ? wide : narrow);
  assert_int_equal(dtype_of(result), HTONE_F64);
  assert_ok(htone_tensor_backward(result, make_tensor(HTONE_F64, &given->gradient, 1, 1), 0));
  assert_int_equal(dtype_of(grad_of(narrow)), dtype);
  return grad_of(narrow);
}

static void n13_a_gradient_beside_f64_is_computed_in_double(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F32, HTONE_BF16};
  static const double steps[] = {FLT_EPSILON, 1.0 / 256};
  for (size_t d = 0; d < COUNT_OF(dtypes); ++d) {
    for (size_t i = 0; i < COUNT_OF(kCases); ++i) {
      const double actual = item_of(gradient_of_narrow(&kCases[i], dtypes[d]));
      const double expected = kCases[i].expected;
      if (!(fabs(actual - expected) <= steps[d] * fabs(expected))) {
        fail_msg("%s to %s: %g instead of %g", kCases[i].name, d == 0 ? "f32" : "bf16", actual, expected);
      }
    }
  }
}

/* 1 + 2^-11 + 2^-40 lies just above the middle of two f16 numbers, and in the middle once it was rounded to FP32. */
static void n13_a_gradient_beside_f64_is_rounded_once(void** state) {
  (void)state;
  const double above_the_middle = 1 + 0x1p-11 + 0x1p-40;
  const MixedCase given = {"mul", htone_mul, above_the_middle, 1, 0, 1, 0};
  assert_values(gradient_of_narrow(&given, HTONE_F16), 0, 1 + 0x1p-10);
  const MixedCase squared = {"mse", mse, 0.5 * above_the_middle, 0, 0, -1, 0};
  assert_values(gradient_of_narrow(&squared, HTONE_F16), 0, 1 + 0x1p-10);
}

/* The terms are beyond FP32, their sum is not. */
static void n13_gradients_of_an_operand_that_repeats_add_up_in_double(void** state) {
  (void)state;
  static const BinaryFn functions[] = {htone_add, htone_mul, htone_pow, htone_maximum, where_true};
  htone_tensor* wide = make_tensor(HTONE_F64, (const double[]){1, 1, 1}, 1, 3);
  htone_tensor* gradient = make_tensor(HTONE_F64, (const double[]){1e45, 3e30, -1e45}, 1, 3);
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    htone_tensor* narrow = leaf(make_tensor(HTONE_F32, (const double[]){i == 3 ? 2 : 1}, 1, 1));
    assert_ok(htone_tensor_backward(apply2(functions[i], narrow, wide), gradient, 0));
    assert_near(item_of(grad_of(narrow)), 3e30, 4e29); /* doubles near 1e45 are 1.6e29 apart */
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(n13_a_gradient_beside_f64_is_computed_in_double),
      cmocka_unit_test(n13_a_gradient_beside_f64_is_rounded_once),
      cmocka_unit_test(n13_gradients_of_an_operand_that_repeats_add_up_in_double),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
