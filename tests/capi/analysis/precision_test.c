/* Numbers in formats of few digits: sums, properties, errors. tests/analysis has the arithmetic; here are the examples
 * of docs/precision-tools.md, the properties of every format, and what the calls refuse. */
#include <halftone/analysis.h>
#include <halftone/arithmetic.h>
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static double sum_in(htone_tensor* x, htone_format format, htone_sum_method method) {
  double sum = NAN;
  assert_ok(htone_sum_in(x, format, method, &sum));
  return sum;
}

typedef struct Sums {
  htone_format format;
  double sums[5]; /* by method */
} Sums;

static void check_sums(htone_tensor* x, const Sums* expected, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    for (int method = HTONE_SUM_NAIVE; method <= HTONE_SUM_EXACT; ++method) {
      const double sum = sum_in(x, expected[i].format, (htone_sum_method)method);
      if (sum != expected[i].sums[method - 1]) {
        fail_msg("format %d, method %d: %.17g, expected %.17g", expected[i].format, method, sum,
                 expected[i].sums[method - 1]);
      }
    }
  }
}

/* Computed with whole multiples of 2^-160, rounded after each operation. EXACT alone does not round 1e-4 to E4M3's 0.
 */
static void a_small_number_added_many_times_is_lost_in_small_formats(void** state) {
  (void)state;
  static const Sums kSums[] = {
      {HTONE_FORMAT_F64, {9.999999999990033, 10, 10, 10, 10}},
      {HTONE_FORMAT_F32, {10.00631046295166, 10, 10, 9.99999713897705, 10}},
      {HTONE_FORMAT_TF32, {0.25, 10, 10, 0.5, 10}},
      {HTONE_FORMAT_F16, {0.25, 10, 10, 0.5, 10}},
      {HTONE_FORMAT_BF16, {0.03125, 10, 8, 0.0625, 10}},
      {HTONE_FORMAT_E4M3, {0, 0, 0, 0, 10}},
      {HTONE_FORMAT_E5M2, {0.0009765625, 10, 0.0078125, 0.001953125, 10}},
  };
  const int64_t many = 100000;
  htone_tensor* x = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F64, 1, &many, 1e-4, &x));
  check_sums(keep_tensor(x), kSums, COUNT_OF(kSums));
}

static void ones_stop_where_the_next_number_is_two_away(void** state) {
  (void)state;
  const int64_t many = 10000;
  htone_tensor* x = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F16, 1, &many, 1, &x));
  keep_tensor(x);
  assert_true(sum_in(x, HTONE_FORMAT_F16, HTONE_SUM_NAIVE) == 2048);
  assert_true(sum_in(x, HTONE_FORMAT_BF16, HTONE_SUM_NAIVE) == 256);
  assert_true(sum_in(x, HTONE_FORMAT_E4M3, HTONE_SUM_NAIVE) == 16);
  assert_true(sum_in(x, HTONE_FORMAT_E5M2, HTONE_SUM_NAIVE) == 8);
  htone_tensor* near = make_tensor(HTONE_F32, (const double[]){16777214, 1, 1, 1, 1}, 1, 5);
  assert_true(sum_in(near, HTONE_FORMAT_F32, HTONE_SUM_NAIVE) == 16777216);
}

static void the_order_is_that_of_the_indices(void** state) {
  (void)state;
  static const Sums kSums[] = {{HTONE_FORMAT_F32, {1, 0, 1, 2, 2}}};
  check_sums(make_tensor(HTONE_F32, (const double[]){1e8, 1, -1e8, 1}, 2, 2, 2), kSums, 1);
  htone_tensor* columns = make_tensor(HTONE_F32, (const double[]){1e8, -1e8, 1, 1}, 2, 2, 2);
  check_sums(transpose_of(columns, 0, 1), kSums, 1);
  assert_true(sum_in(columns, HTONE_FORMAT_F32, HTONE_SUM_NAIVE) == 2);
}

typedef struct Properties {
  htone_format format;
  htone_format_info info;
} Properties;

/* As finfo of numpy and ml_dtypes 0.6 has them; neither has TF32, whose numbers follow from its bits. */
static void each_format_has_its_properties(void** state) {
  (void)state;
  static const Properties kProperties[] = {
      {HTONE_FORMAT_F64,
       {0, 64, 11, 52, 1023, 15, 1, 1, 0x1.fffffffffffffp1023, 0x1p-1022, 0x1p-1074, 0x1p-52, 12631.22, 12318.15}},
      {HTONE_FORMAT_F32, {0, 32, 8, 23, 127, 6, 1, 1, 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p-23, 1667.71, 1529.23}},
      {HTONE_FORMAT_TF32, {0, 19, 8, 10, 127, 3, 1, 1, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-10, 1589.43, 1529.23}},
      {HTONE_FORMAT_F16, {0, 16, 5, 10, 15, 3, 1, 1, 65504, 0x1p-14, 0x1p-24, 0x1p-10, 240.82, 180.61}},
      {HTONE_FORMAT_BF16, {0, 16, 8, 7, 127, 2, 1, 1, 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-7, 1571.34, 1529.2}},
      {HTONE_FORMAT_E4M3, {0, 8, 4, 3, 7, 0, 0, 1, 448, 0x1p-6, 0x1p-9, 0x1p-3, 107.21, 89.15}},
      {HTONE_FORMAT_E5M2, {0, 8, 5, 2, 15, 0, 1, 1, 57344, 0x1p-14, 0x1p-16, 0x1p-2, 191.5, 179.46}},
      {HTONE_FORMAT_E2M1, {0, 4, 2, 1, 1, 0, 0, 0, 6, 1, 0.5, 0.5, 21.58, 15.56}}};
  for (size_t i = 0; i < COUNT_OF(kProperties); ++i) {
    htone_format_info info = HTONE_FORMAT_INFO_INIT;
    htone_format_info expected = kProperties[i].info;
    assert_ok(htone_format_describe(kProperties[i].format, NULL, &info));
    assert_near(info.range_db, expected.range_db, 0.006);
    assert_near(info.normal_range_db, expected.normal_range_db, 0.05);
    expected.struct_size = sizeof info;
    expected.range_db = info.range_db;
    expected.normal_range_db = info.normal_range_db;
    assert_memory_equal(&info, &expected, sizeof info);
  }
}

static void a_format_of_ones_own_has_properties(void** state) {
  (void)state;
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  htone_format_info half = HTONE_FORMAT_INFO_INIT, own = HTONE_FORMAT_INFO_INIT;
  options.exponent_bits = 5;
  options.mantissa_bits = 10;
  assert_ok(htone_format_describe(HTONE_FORMAT_F16, NULL, &half));
  assert_ok(htone_format_describe(HTONE_FORMAT_CUSTOM, &options, &own));
  assert_memory_equal(&half, &own, sizeof half);
}

/* htone_round_to rounds the elements with equal random words, too. */
static void errors_are_those_of_the_rounding(void** state) {
  (void)state;
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  options.seed = 3;
  for (int rounding = HTONE_ROUNDING_NEAREST_EVEN; rounding <= HTONE_ROUNDING_STOCHASTIC; ++rounding) {
    htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
    htone_tensor *x = make_noise(HTONE_F32, 5, 1, 1000), *rounded = NULL;
    double squares = 0, most = 0;
    options.rounding = (htone_rounding)rounding;
    assert_ok(htone_round_to(x, HTONE_FORMAT_E4M3, &options, &rounded));
    assert_ok(htone_analyze_rounding(x, HTONE_FORMAT_E4M3, &options, &errors));
    double *before = values_of(x), *after = values_of(keep_tensor(rounded));
    for (int i = 0; i < 1000; ++i) {
      const double error = fabs(after[i] - before[i]);
      squares += error * error;
      most = fmax(most, error / fabs(before[i]));
    }
    free(before);
    free(after);
    assert_int_equal(errors.nonzero, 1000);
    assert_near(errors.rms_error, sqrt(squares / 1000), 1e-12);
    assert_true(errors.max_error == most);
  }
}

static htone_rounding_errors errors_in(htone_format format, const double* values, int count) {
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  assert_ok(htone_analyze_rounding(make_tensor(HTONE_F64, values, 1, count), format, NULL, &errors));
  return errors;
}

/* The claims of docs/seed-claims.md that no other test measures. */
static void half_loses_what_is_below_half_its_smallest_number(void** state) {
  (void)state;
  htone_tensor* pair = make_tensor(HTONE_F32, (const double[]){0.1, 1e-4}, 1, 2);
  assert_true(sum_in(pair, HTONE_FORMAT_F16, HTONE_SUM_NAIVE) == 0.10009765625);
  const int64_t thousand = 1000;
  htone_tensor* many = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F64, 1, &thousand, 1e-4, &many));
  assert_true(sum_in(keep_tensor(many), HTONE_FORMAT_F16, HTONE_SUM_NAIVE) == 0.1058349609375);
  const htone_rounding_errors small = errors_in(HTONE_FORMAT_F16, (const double[]){6e-5, 5e-8, 3e-8, 2.9e-8}, 4);
  assert_true(small.underflow_share == 0.25 && small.subnormal_share == 0.75);
  const htone_rounding_errors scaled = errors_in(HTONE_FORMAT_F16, (const double[]){65536e-7, 65536e-3}, 2);
  assert_true(scaled.underflow_share == 0 && scaled.subnormal_share == 0 && scaled.overflow_share == 0);
  const double large[] = {65504, 65519.9, 65520, 70000};
  assert_true(errors_in(HTONE_FORMAT_F16, large, 4).overflow_share == 0.5);
  assert_true(errors_in(HTONE_FORMAT_BF16, large, 4).overflow_share == 0);
}

/* Sums of a tensor are not rounded after each addition. */
static void a_sum_of_halves_is_rounded_once(void** state) {
  (void)state;
  const int64_t many = 100000;
  htone_tensor* x = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F16, 1, &many, 1e-4, &x));
  assert_true(item_of(sum_of(keep_tensor(x))) == 10);
}

/* The mean of the relative errors and the largest. */
static void measure_rounding(htone_tensor* x, htone_rounding rounding, double* out_mean, double* out_most) {
  htone_round_options options = HTONE_ROUND_OPTIONS_INIT;
  htone_tensor* rounded = NULL;
  options.rounding = rounding;
  assert_ok(htone_round_to(x, HTONE_FORMAT_BF16, &options, &rounded));
  double *before = values_of(x), *after = values_of(keep_tensor(rounded));
  *out_mean = *out_most = 0;
  for (int i = 0; i < 10000; ++i) {
    const double error = after[i] / before[i] - 1;
    *out_mean += error / 10000;
    *out_most = fmax(*out_most, fabs(error));
  }
  free(before);
  free(after);
}

/* A cast to BF16 rounds to nearest. Its bits without the lower 16 of FP32 are those of rounding toward zero. */
static void dropping_bits_makes_numbers_of_bf16_too_small(void** state) {
  (void)state;
  double mean = 0, most = 0;
  htone_tensor *x = make_noise(HTONE_F32, 9, 1, 10000), *nearest = NULL;
  measure_rounding(x, HTONE_ROUNDING_TOWARD_ZERO, &mean, &most);
  assert_true(most > 0x1.fp-8 && most < 0x1p-7);
  assert_near(mean, -0.0027, 0.0001);
  measure_rounding(x, HTONE_ROUNDING_NEAREST_EVEN, &mean, &most);
  assert_true(most > 0x1.fp-9 && most < 0x1p-8);
  assert_near(mean, 0, 0.0001);
  assert_ok(htone_round_to(x, HTONE_FORMAT_BF16, NULL, &nearest));
  assert_tensors_near(cast_of(cast_of(x, HTONE_BF16), HTONE_F32), keep_tensor(nearest), 0);
}

/* How many of the 128 numbers from 1 to 2 become smaller in BF16 when they are multiplied. */
static int count_that_fall(double factor) {
  double numbers[128], products[128];
  htone_tensor* rounded = NULL;
  int fall = 0;
  for (int i = 0; i < 128; ++i) products[i] = factor * (numbers[i] = 1 + i / 128.0);
  assert_ok(htone_round_to(make_tensor(HTONE_F32, products, 1, 128), HTONE_FORMAT_BF16, NULL, &rounded));
  double* after = values_of(keep_tensor(rounded));
  for (int i = 0; i < 128; ++i) fall += after[i] < numbers[i];
  free(after);
  return fall;
}

/* Moments while gradients are 0: with the usual betas 0.9 and 0.999. */
static void a_second_moment_in_bf16_does_not_fall(void** state) {
  (void)state;
  assert_int_equal(count_that_fall(0.9), 128);
  assert_int_equal(count_that_fall(0.999), 0);
}

static void wrong_arguments_are_refused(void** state) {
  (void)state;
  double sum = 7;
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  htone_tensor* x = make_ramp(HTONE_F32, 1, 3);
  assert_fails(htone_sum_in(x, HTONE_FORMAT_CUSTOM, HTONE_SUM_NAIVE, &sum), HTONE_ERROR_INVALID_ARGUMENT,
               "expected a format with a name");
  assert_fails(htone_sum_in(x, HTONE_FORMAT_F16, (htone_sum_method)6, &sum), HTONE_ERROR_INVALID_ARGUMENT, "method=6");
  assert_fails(htone_sum_in(make_ramp(HTONE_I32, 1, 3), HTONE_FORMAT_F16, HTONE_SUM_NAIVE, &sum),
               HTONE_ERROR_DTYPE_MISMATCH, "input is i32");
  assert_true(sum == 7);
  assert_fails(htone_analyze_rounding(make_ramp(HTONE_I32, 1, 3), HTONE_FORMAT_F16, NULL, &errors),
               HTONE_ERROR_DTYPE_MISMATCH, "input is i32");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_small_number_added_many_times_is_lost_in_small_formats),
      cmocka_unit_test(ones_stop_where_the_next_number_is_two_away),
      cmocka_unit_test(the_order_is_that_of_the_indices),
      cmocka_unit_test(each_format_has_its_properties),
      cmocka_unit_test(a_format_of_ones_own_has_properties),
      cmocka_unit_test(errors_are_those_of_the_rounding),
      cmocka_unit_test(half_loses_what_is_below_half_its_smallest_number),
      cmocka_unit_test(a_sum_of_halves_is_rounded_once),
      cmocka_unit_test(dropping_bits_makes_numbers_of_bf16_too_small),
      cmocka_unit_test(a_second_moment_in_bf16_does_not_fall),
      cmocka_unit_test(wrong_arguments_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
