/* Tensors of given content: values in every dtype, shapes, random numbers, refusals. */
#include <math.h>
#include <stdlib.h>

#include "test_tensors.h"

static const htone_dtype kDtypes[] = {HTONE_F64, HTONE_F32, HTONE_F16, HTONE_BF16, HTONE_F8E4M3, HTONE_F8E5M2,
                                      HTONE_I64, HTONE_I32, HTONE_I16, HTONE_I8,   HTONE_U8,     HTONE_BOOL};

static htone_tensor* linspace(htone_dtype dtype, double start, double end, int64_t count) {
  htone_tensor* out = NULL;
  assert_ok(htone_linspace(test_device(), dtype, start, end, count, &out));
  return keep_tensor(out);
}

static htone_tensor* eye(htone_dtype dtype, int64_t rows, int64_t columns) {
  htone_tensor* out = NULL;
  assert_ok(htone_eye(test_device(), dtype, rows, columns, &out));
  return keep_tensor(out);
}

static htone_tensor* one_hot(htone_tensor* indices, int64_t classes) {
  htone_tensor* out = NULL;
  assert_ok(htone_one_hot(indices, classes, &out));
  return keep_tensor(out);
}

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

static void numbers_between_two_ends_include_both(void** state) {
  (void)state;
  assert_values(linspace(HTONE_F32, 0, 1, 5), 0, 0, 0.25, 0.5, 0.75, 1);
  assert_values(linspace(HTONE_F64, 3, -3, 4), 0, 3, 1, -1, -3);
  assert_values(linspace(HTONE_I32, 0, 10, 4), 0, 0, 3, 6, 10);
  assert_values(linspace(HTONE_I64, -3, 3, 5), 0, -3, -1, 0, 1, 3);
  assert_values(linspace(HTONE_BF16, 7, 9, 1), 0, 7);
  assert_shape(linspace(HTONE_F16, 7, 9, 0), 0);
  htone_tensor* many = linspace(HTONE_F64, 0.1, 0.7, 100001);
  assert_near(item_of(slice_of(many, 0, 100000, 100001, 1)), 0.7, 0);
  assert_near(item_of(slice_of(many, 0, 50000, 50001, 1)), 0.4, 1e-16);
}

static void an_identity_has_ones_on_its_diagonal(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kDtypes); ++i) {
    assert_int_equal(dtype_of(eye(kDtypes[i], 2, 3)), kDtypes[i]);
    assert_values(eye(kDtypes[i], 2, 3), 0, 1, 0, 0, 0, 1, 0);
    assert_values(eye(kDtypes[i], 3, 2), 0, 1, 0, 0, 1, 0, 0);
  }
  assert_shape(eye(HTONE_F32, 0, 3), 0, 3);
  assert_shape(eye(HTONE_F32, 3, 0), 3, 0);
}

static void an_index_becomes_a_vector(void** state) {
  (void)state;
  htone_tensor* vectors = one_hot(make_tensor(HTONE_I64, (const double[]){2, 0}, 1, 2), 3);
  assert_int_equal(dtype_of(vectors), HTONE_I64);
  assert_shape(vectors, 2, 3);
  assert_values(vectors, 0, 0, 0, 1, 1, 0, 0);
  assert_shape(one_hot(make_ramp(HTONE_I32, 2, 2, 1), 2), 2, 1, 2);
  assert_values(one_hot(make_scalar(HTONE_I64, 1), 2), 0, 0, 1);
  assert_shape(one_hot(make_ramp(HTONE_I64, 2, 0, 2), 4), 0, 2, 4);
}

static void indices_outside_and_of_other_dtypes_are_refused(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  assert_fails(htone_one_hot(make_ramp(HTONE_I64, 1, 4), 3, &out), HTONE_ERROR_INVALID_ARGUMENT, "indices[3]=3 is outside");
  assert_fails(htone_one_hot(make_tensor(HTONE_I64, (const double[]){-1}, 1, 1), 3, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "indices[0]=-1 is outside");
  assert_fails(htone_one_hot(make_ramp(HTONE_F32, 1, 2), 3, &out), HTONE_ERROR_DTYPE_MISMATCH, "indices is f32");
  assert_fails(htone_one_hot(make_ramp(HTONE_I64, 8, 1, 1, 1, 1, 1, 1, 1, 1), 3, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "expected at most 7");
  assert_fails(htone_one_hot(make_ramp(HTONE_I64, 1, 1), 0, &out), HTONE_ERROR_INVALID_ARGUMENT, "classes=0");
  assert_null(out);
}

static void numbers_that_cannot_be_are_named(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  htone_device* device = test_device();
  assert_fails(htone_linspace(device, HTONE_F32, NAN, 1, 3, &out), HTONE_ERROR_INVALID_ARGUMENT, "start=nan is not finite");
  assert_fails(htone_linspace(device, HTONE_F32, 0, INFINITY, 3, &out), HTONE_ERROR_INVALID_ARGUMENT, "end=inf");
  assert_fails(htone_linspace(device, HTONE_F64, -1e308, 1e308, 3, &out), HTONE_ERROR_INVALID_ARGUMENT, "farther");
  assert_fails(htone_linspace(device, HTONE_F32, 0, 1, -1, &out), HTONE_ERROR_INVALID_ARGUMENT, "count");
  assert_fails(htone_linspace(device, HTONE_BOOL, 0, 1, 2, &out), HTONE_ERROR_INVALID_ARGUMENT, "dtype=bool");
  assert_fails(htone_eye(device, HTONE_F32, -1, 2, &out), HTONE_ERROR_INVALID_ARGUMENT, "rows");
  assert_fails(htone_eye(device, HTONE_F32, INT64_C(1) << 40, INT64_C(1) << 40, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "columns");
  assert_null(out);
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
  htone_tensor* out = NULL;
  assert_fails(htone_rand(one, HTONE_I32, 0, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "dtype=i32");
  assert_fails(htone_randn(one, HTONE_BOOL, 0, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "dtype=bool");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constants_fill_every_dtype),
      cmocka_unit_test(tensors_like_another_have_its_shape_and_dtype),
      cmocka_unit_test(numbers_between_two_ends_include_both),
      cmocka_unit_test(an_identity_has_ones_on_its_diagonal),
      cmocka_unit_test(an_index_becomes_a_vector),
      cmocka_unit_test(indices_outside_and_of_other_dtypes_are_refused),
      cmocka_unit_test(numbers_that_cannot_be_are_named),
      cmocka_unit_test(random_numbers_have_their_moments),
      cmocka_unit_test(random_numbers_are_those_of_an_initialisation),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
