/* Histograms of magnitudes. tests/cpu/statistics has the kernels; here are the numbers that the C API gives. */
#include <halftone/factory.h>
#include <halftone/histogram.h>
#include <math.h>
#include <string.h>

#include "test_tensors.h"

static htone_histogram histogram_of(htone_tensor* x) {
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  assert_ok(htone_histogram_of(x, &histogram));
  return histogram;
}

static void every_element_counts_once(void** state) {
  (void)state;
  const double values[] = {0, -0.0, INFINITY, NAN, 1, -1.5, 2, 0x1p-126, -0x1p-149, 3.4028234663852886e38};
  htone_histogram expected = HTONE_HISTOGRAM_INIT;
  const htone_histogram found = histogram_of(make_tensor(HTONE_F32, values, 2, 2, 5));
  expected.zeros = 2;
  expected.infinities = expected.nans = 1;
  expected.largest = 3.4028234663852886e38;
  expected.least = 0x1p-149;
  expected.exponents[0] = 1;
  expected.exponents[1] = 1;
  expected.exponents[127] = 2;
  expected.exponents[128] = 1;
  expected.exponents[254] = 1;
  assert_memory_equal(&found, &expected, sizeof found);
}

static void every_float_has_a_histogram(void** state) {
  (void)state;
  const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3, HTONE_F8E5M2};
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    const htone_histogram found = histogram_of(make_tensor(dtypes[i], (const double[]){0.5, -4, 0, 6}, 1, 4));
    assert_int_equal(found.dtype, dtypes[i]);
    assert_int_equal(found.zeros, 1);
    assert_int_equal(found.exponents[126], 1);
    assert_int_equal(found.exponents[129], 2);
    assert_true(found.largest == 6 && found.least == 0.5);
  }
}

static void numbers_of_f64_count_as_f32(void** state) {
  (void)state;
  const htone_histogram found =
      histogram_of(make_tensor(HTONE_F64, (const double[]){1e300, 1e-60, 0x1p10 - 1e-9}, 1, 3));
  assert_int_equal(found.infinities, 1);
  assert_int_equal(found.zeros, 1);
  assert_int_equal(found.exponents[137], 1); /* rounded up to 2^10 */
}

static void a_tensor_without_numbers_has_no_extremes(void** state) {
  (void)state;
  const int64_t none = 0;
  htone_tensor* empty = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 1, &none, 1, &empty));
  const htone_histogram expected = HTONE_HISTOGRAM_INIT;
  htone_histogram found = histogram_of(keep_tensor(empty));
  assert_memory_equal(&found, &expected, sizeof found);
  found = histogram_of(make_tensor(HTONE_F32, (const double[]){NAN, 0}, 1, 2));
  assert_true(found.largest == 0 && found.least == 0);
}

static void views_count_their_own_elements(void** state) {
  (void)state;
  htone_tensor* x = make_tensor(HTONE_F32, (const double[]){1, 2, 4, 8, 16, 32}, 2, 2, 3);
  const htone_histogram whole = histogram_of(x), columns = histogram_of(transpose_of(x, 0, 1));
  assert_memory_equal(&whole, &columns, sizeof whole);
  for (int e = 127; e < 133; ++e) assert_int_equal(whole.exponents[e], 1);
}

/* An older program's structure is shorter: what it does not know is not written. */
static void a_shorter_structure_gets_its_fields_alone(void** state) {
  (void)state;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  histogram.struct_size = (uint32_t)offsetof(htone_histogram, exponents);
  assert_ok(htone_histogram_of(make_tensor(HTONE_F32, (const double[]){1}, 1, 1), &histogram));
  assert_true(histogram.largest == 1);
  assert_int_equal(histogram.exponents[127], 0);
}

static void tensors_of_integers_are_refused(void** state) {
  (void)state;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  assert_fails(htone_histogram_of(make_ramp(HTONE_I32, 1, 3), &histogram), HTONE_ERROR_DTYPE_MISMATCH,
               "input is i32, expected a float");
  histogram.struct_size = 8;
  assert_fails(htone_histogram_of(make_ramp(HTONE_F32, 1, 3), &histogram), HTONE_ERROR_INVALID_ARGUMENT,
               "out_histogram.struct_size=8");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_element_counts_once),       cmocka_unit_test(every_float_has_a_histogram),
      cmocka_unit_test(numbers_of_f64_count_as_f32),     cmocka_unit_test(a_tensor_without_numbers_has_no_extremes),
      cmocka_unit_test(views_count_their_own_elements),  cmocka_unit_test(a_shorter_structure_gets_its_fields_alone),
      cmocka_unit_test(tensors_of_integers_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
