/* Tensors of given content: constants in every dtype, exact whole numbers, random numbers, refusals. */
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static const htone_dtype kDtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3, HTONE_F8E5M2,
                                      HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8,   HTONE_U8,     HTONE_BOOL};

static void constants_fill_every_dtype(void** state) {
  (void)state;
  const int64_t shape[] = {2, 2};
  for (size_t i = 0; i < COUNT_OF(kDtypes); ++i) {
    htone_tensor *zeros = NULL, *ones = NULL, *scalar = NULL;
    assert_ok(htone_tensor_create_zeros(test_device(), kDtypes[i], 2, shape, &zeros));
    assert_ok(htone_tensor_create_ones(test_device(), kDtypes[i], 2, shape, &ones));
    assert_ok(htone_tensor_create_ones(test_device(), kDtypes[i], 0, NULL, &scalar));
    assert_shape(keep_tensor(zeros), 2, 2);
    assert_values(zeros, 0, 0, 0, 0, 0);
    assert_int_equal(dtype_of(keep_tensor(ones)), kDtypes[i]);
    assert_values(ones, 0, 1, 1, 1, 1);
    assert_scalar(keep_tensor(scalar));
  }
}

static void tensors_like_another_have_its_shape_and_dtype(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kDtypes); ++i) {
    htone_tensor* turned = transpose_of(make_ramp(kDtypes[i], 2, 1, 3), 0, 1);
    htone_tensor* full = NULL;
    assert_shape(apply1(htone_tensor_zeros_like, turned), 3, 1);
    assert_values(apply1(htone_tensor_zeros_like, turned), 0, 0, 0, 0);
    assert_values(apply1(htone_tensor_ones_like, turned), 0, 1, 1, 1);
    assert_int_equal(dtype_of(apply1(htone_tensor_ones_like, turned)), kDtypes[i]);
    assert_ok(htone_tensor_full_like(turned, 3, &full));
    const double three = kDtypes[i] == HTONE_BOOL ? 1 : 3;
    assert_values(keep_tensor(full), 0, three, three, three);
  }
  assert_int_equal(requires_grad(apply1(htone_tensor_ones_like, leaf(make_ramp(HTONE_F32, 1, 2)))), 0);
}

static void indices_outside_and_of_other_dtypes_are_refused(void** state) {
  (void)state;
  assert_refuses(htone_one_hot(make_ramp(HTONE_I64, 1, 4), 3, &out), INVALID_ARGUMENT, "indices[3]=3 is outside");
  assert_refuses(htone_one_hot(make_tensor(HTONE_I64, (const double[]){-1}, 1, 1), 3, &out), INVALID_ARGUMENT,
                 "indices[0]=-1 is outside");
  assert_refuses(htone_one_hot(make_ramp(HTONE_F32, 1, 2), 3, &out), DTYPE_MISMATCH, "indices is f32");
  assert_refuses(htone_one_hot(make_ramp(HTONE_I64, 8, 1, 1, 1, 1, 1, 1, 1, 1), 3, &out), INVALID_ARGUMENT,
                 "expected at most 7");
}

static htone_tensor* arange(htone_dtype dtype, double start, double end, double step) {
  htone_tensor* out = NULL;
  assert_ok(htone_arange(test_device(), dtype, start, end, step, &out));
  return keep_tensor(out);
}

static void large_whole_numbers_are_exact(void** state) {
  (void)state;
  const double large = 4503599627370496; /* 2^52 */
  int64_t elements[3] = {0};
  htone_tensor* numbers = arange(HTONE_I64, large - 5, large, 2);
  assert_ok(htone_tensor_read(numbers, HTONE_I64, elements, sizeof elements));
  for (int i = 0; i < 3; ++i) assert_true(elements[i] == INT64_C(4503599627370491) + 2 * i);
}

static void ranges_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_device* device = test_device();
  assert_refuses(htone_arange(device, HTONE_F32, 0, 1, -1, &out), INVALID_ARGUMENT, "step=-1 leads from start=0");
  assert_refuses(htone_arange(device, HTONE_F64, -1e308, 1e308, 1, &out), INVALID_ARGUMENT, "more than memory");
  assert_refuses(htone_arange(device, HTONE_F64, 0, 1e30, 1, &out), INVALID_ARGUMENT, "end=1e+30");
  assert_refuses(htone_arange(device, HTONE_I32, 0.5, 3, 1, &out), INVALID_ARGUMENT, "start=0.5, expected a whole");
  assert_refuses(htone_arange(device, HTONE_I64, 0, 1e17, 1e16, &out), INVALID_ARGUMENT, "end=1e+17, expected");
  assert_refuses(htone_arange(device, HTONE_U8, -1, 3, 1, &out), INVALID_ARGUMENT, "start=-1 makes -1 an element");
  assert_refuses(htone_arange(device, HTONE_I8, 0, 130, 1, &out), INVALID_ARGUMENT, "end=130 makes 129 an element");
}

static void lines_and_identities_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_device* device = test_device();
  assert_refuses(htone_linspace(device, HTONE_F64, -1e308, 1e308, 3, &out), INVALID_ARGUMENT, "farther");
  assert_refuses(htone_eye(device, HTONE_F32, INT64_C(1) << 40, INT64_C(1) << 40, &out), INVALID_ARGUMENT, "columns");
}

static htone_tensor* drawn(htone_device* device, int is_normal, htone_dtype dtype, int64_t count) {
  htone_tensor* out = NULL;
  assert_ok((is_normal ? htone_randn : htone_rand)(device, dtype, 1, &count, &out));
  return keep_tensor(out);
}

static void random_numbers_have_their_moments(void** state) {
  (void)state;
  enum { kCount = 100000 };
  for (int is_normal = 0; is_normal < 2; ++is_normal) {
    double* values = values_of(drawn(test_device(), is_normal, HTONE_F32, kCount));
    double sum = 0, squares = 0;
    for (int i = 0; i < kCount; ++i) {
      assert_true(is_normal || (values[i] >= 0 && values[i] < 1));
      sum += values[i];
      squares += values[i] * values[i];
    }
    const double mean = sum / kCount, variance = squares / kCount - mean * mean;
    assert_near(mean, is_normal ? 0 : 0.5, 5.0 / sqrt(kCount));
    assert_near(variance, is_normal ? 1 : 1.0 / 12, 10.0 / sqrt(kCount));
    free(values);
  }
}

static void random_numbers_are_those_of_an_initialisation(void** state) {
  (void)state;
  static const htone_dtype dtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16};
  htone_device *one = make_device(make_context(1, 7)), *three = make_device(make_context(3, 7));
  for (size_t i = 0; i < COUNT_OF(dtypes); ++i) {
    for (int is_normal = 0; is_normal < 2; ++is_normal) {
      htone_tensor *fill = NULL, *differs = NULL;
      const int64_t count = 5000;
      htone_tensor* tensor = drawn(one, is_normal, dtypes[i], count);
      assert_ok(htone_tensor_create(three, dtypes[i], 1, &count, &fill));
      keep_tensor(fill);
      assert_ok(is_normal ? htone_init_normal(fill, 0, 1) : htone_init_uniform(fill, 0, 1));
      double *actual = values_of(tensor), *expected = values_of(fill);
      for (int64_t k = 0; k < count; ++k) assert_true(actual[k] == expected[k]);
      free(actual);
      free(expected);
      assert_ok(htone_any(apply2(htone_ne, tensor, drawn(one, is_normal, dtypes[i], count)), 0, NULL, 0, &differs));
      assert_values(keep_tensor(differs), 0, 1);
      drawn(three, is_normal, dtypes[i], count);
    }
  }
  assert_refuses(htone_rand(one, HTONE_I32, 0, NULL, &out), INVALID_ARGUMENT, "dtype=i32");
  assert_refuses(htone_randn(one, HTONE_BOOL, 0, NULL, &out), INVALID_ARGUMENT, "dtype=bool");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_fill_every_dtype),
      cmocka_unit_test(tensors_like_another_have_its_shape_and_dtype),
      cmocka_unit_test(indices_outside_and_of_other_dtypes_are_refused),
      cmocka_unit_test(large_whole_numbers_are_exact),
      cmocka_unit_test(ranges_that_cannot_be_are_named),
      cmocka_unit_test(lines_and_identities_that_cannot_be_are_named),
      cmocka_unit_test(random_numbers_have_their_moments),
      cmocka_unit_test(random_numbers_are_those_of_an_initialisation),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
