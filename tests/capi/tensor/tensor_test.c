/* Tensors: created by copying and over the caller's memory; shapes at and beyond the limits. */
#include <math.h>
#include <string.h>

#include "test_tensors.h"

static void a_new_tensor_is_contiguous(void** state) {
  (void)state;
  int64_t strides[HTONE_MAX_NDIM];
  int32_t ndim = 0;
  htone_tensor* tensor = make_ramp(HTONE_F32, 3, 2, 3, 4);
  assert_shape(tensor, 2, 3, 4);
  assert_int_equal(numel_of(tensor), 24);
  assert_int_equal(dtype_of(tensor), HTONE_F32);
  assert_ok(htone_tensor_strides(tensor, strides, HTONE_MAX_NDIM, &ndim));
  assert_int_equal(ndim, 3);
  assert_int_equal(strides[0], 12);
  assert_int_equal(strides[1], 4);
  assert_int_equal(strides[2], 1);
}

/* A7 */
static void a_tensor_without_dimensions_is_a_scalar(void** state) {
  (void)state;
  htone_tensor* tensor = NULL;
  int32_t ndim = -1;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F64, 0, NULL, 2.5, &tensor));
  keep_tensor(tensor);
  assert_scalar(tensor);
  assert_int_equal(numel_of(tensor), 1);
  assert_near(item_of(tensor), 2.5, 0);
  assert_ok(htone_tensor_shape(tensor, NULL, 0, &ndim));
  assert_int_equal(ndim, 0);
}

static void eight_dimensions_are_allowed(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_I32, 8, 1, 2, 1, 3, 1, 1, 2, 1);
  assert_shape(tensor, 1, 2, 1, 3, 1, 1, 2, 1);
  assert_values(tensor, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
}

/* A7 */
static void a_bad_number_of_dimensions_is_refused(void** state) {
  (void)state;
  static const int64_t shape[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
  static const int32_t wrong[] = {-1, 9, INT32_MAX, INT32_MIN};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_tensor* tensor = NULL;
    assert_fails(htone_tensor_create(test_device(), HTONE_F32, wrong[i], shape, &tensor), HTONE_ERROR_INVALID_ARGUMENT,
                 "ndim");
    assert_null(tensor);
  }
}

/* A7, A8 */
static void a_negative_or_overflowing_shape_is_refused(void** state) {
  (void)state;
  const int64_t two = 2;
  const int64_t wrong[][3] = {
      {3, -1, 2},
      {INT64_MIN, 1, 1},
      {INT64_MAX, INT64_MAX, INT64_MAX},
      {two << 32, two << 30, 1}, /* 2^33 * 2^31 = 2^64 wraps to 0 */
      {two << 31, two << 31, 1}, /* 2^32 * 2^32 = 2^64 wraps to 0 */
      {0, INT64_MAX, INT64_MAX}, /* a size of 0 must not hide an overflow */
      {two << 31, 0, two << 31},
  };
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_tensor* tensor = NULL;
    assert_fails(htone_tensor_create(test_device(), HTONE_U8, 3, wrong[i], &tensor), HTONE_ERROR_INVALID_ARGUMENT,
                 "shape");
    assert_null(tensor);
  }
}

/* M5 */
static void an_absurd_size_is_out_of_memory_at_once(void** state) {
  (void)state;
  const int64_t shape = (int64_t)1 << 58;
  htone_tensor* tensor = NULL;
  assert_fails(htone_tensor_create(test_device(), HTONE_F32, 1, &shape, &tensor), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_null(tensor);
  make_ramp(HTONE_F32, 1, 5);
}

/* A9 */
static void an_empty_tensor_is_a_tensor(void** state) {
  (void)state;
  const int64_t shape[] = {3, 0, 2};
  void* address = &address;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F32, 3, shape, NULL, &tensor));
  keep_tensor(tensor);
  assert_shape(tensor, 3, 0, 2);
  assert_int_equal(numel_of(tensor), 0);
  assert_ok(htone_tensor_data(tensor, &address));
  assert_null(address);
  char nothing = 'x';
  assert_ok(htone_tensor_read(tensor, HTONE_F32, &nothing, 0));
  assert_int_equal(nothing, 'x');
  assert_ok(htone_tensor_write(tensor, HTONE_F32, &nothing, 0));
  assert_ok(htone_tensor_fill(tensor, 1));
}

typedef struct FullCase {
  htone_dtype dtype;
  double value, stored;
} FullCase;

static const double kTiny = 1.0 / (1 << 30) / (1 << 10); /* 2^-40 */

static void a_full_tensor_holds_the_value_as_cast_converts_it(void** state) {
  (void)state;
  const FullCase cases[] = {
      {HTONE_F64, 0.1, 0.1},
      {HTONE_F32, 0.1, (double)0.1f},
      {HTONE_BF16, 1 + 1.0 / 256, 1},                     /* a tie rounds to even */
      {HTONE_BF16, 1 + 3.0 / 256, 1 + 1.0 / 64},          /* the other tie, also to even */
      {HTONE_BF16, 1 + 1.0 / 256 + kTiny, 1 + 1.0 / 128}, /* above the tie by less than FP32 resolves */
      {HTONE_F16, 1 + 1.0 / 2048 + kTiny, 1 + 1.0 / 1024},
      {HTONE_F16, 65519, 65504},
      {HTONE_F16, 65520, INFINITY},
      {HTONE_F16, 1e-7, 0x1p-23}, /* subnormal: 1e-7 is 1.68 steps of 2^-24 */
      {HTONE_F8E4M3, 1e6, 448},
      {HTONE_F8E4M3, -INFINITY, -448},
      {HTONE_F8E5M2, 1e6, INFINITY},
      {HTONE_I64, -2.9, -2},
      {HTONE_I32, 3e9, 2147483647},
      {HTONE_I32, NAN, 0},
      {HTONE_I16, -1e9, -32768},
      {HTONE_I8, 127.9, 127},
      {HTONE_U8, 300, 255},
      {HTONE_U8, -1, 0},
      {HTONE_BOOL, 0.25, 1},
      {HTONE_BOOL, -0.0, 0},
      {HTONE_F32, NAN, NAN},
  };
  const int64_t shape = 3;
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    htone_tensor* tensor = NULL;
    assert_ok(htone_tensor_create_full(test_device(), cases[i].dtype, 1, &shape, cases[i].value, &tensor));
    keep_tensor(tensor);
    const double stored = cases[i].stored;
    assert_values(tensor, 0, stored, stored, stored);
  }
}

static void a_copy_does_not_follow_its_source(void** state) {
  (void)state;
  char bytes[1 + 4 * sizeof(float)];
  float values[4] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2};
  htone_tensor* tensor = NULL;
  memcpy(bytes + 1, values, sizeof values);
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_F32, 2, shape, bytes + 1, &tensor));
  keep_tensor(tensor);
  memset(bytes, 0, sizeof bytes);
  assert_values(tensor, 0, 1, 2, 3, 4);
}

static void count_call(void* user) { ++*(int*)user; }

static void a_buffer_is_shared_and_deleted_once_after_the_last_reference(void** state) {
  (void)state;
  float values[6] = {0, 1, 2, 3, 4, 5};
  const int64_t shape = 6;
  int deletions = 0;
  void* address = NULL;
  htone_tensor *tensor = NULL, *view = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, values, count_call, &deletions, &tensor));
  assert_ok(htone_tensor_data(tensor, &address));
  assert_ptr_equal(address, values);
  values[1] = 10;
  assert_values(tensor, 0, 0, 10, 2, 3, 4, 5);
  assert_ok(htone_slice(tensor, 0, 1, 6, 2, &view));
  assert_ok(htone_tensor_retain(tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_int_equal(deletions, 0);
  assert_ok(htone_tensor_fill(view, -1));
  assert_true(values[1] == -1 && values[2] == 2 && values[5] == -1);
  assert_ok(htone_tensor_release(view));
  assert_int_equal(deletions, 1);
  assert_fails(htone_tensor_release(tensor), HTONE_ERROR_INVALID_HANDLE, "tensor");
  assert_int_equal(deletions, 1);
}

/* A deleter may call the library, because no lock is held. */
static void release_another(void* user) {
  htone_tensor** another = user;
  if (htone_tensor_fill(*another, 5) == HTONE_OK && htone_tensor_release(*another) == HTONE_OK) *another = NULL;
}

/* A21 */
static void a_deleter_may_call_the_library(void** state) {
  (void)state;
  float values[2] = {1, 2};
  const int64_t shape = 2;
  htone_tensor *tensor = NULL, *another = NULL;
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 1, &shape, &another));
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, values, release_another, &another, &tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_null(another);
}

static void a_refused_buffer_stays_the_callers(void** state) {
  (void)state;
  double storage[3];
  const int64_t shape = 2, negative = -1;
  int deletions = 0;
  htone_tensor* tensor = NULL;
  char* misaligned = (char*)storage + 1;
  assert_fails(
      htone_tensor_from_buffer(test_device(), HTONE_F32, 1, &shape, misaligned, count_call, &deletions, &tensor),
      HTONE_ERROR_INVALID_ARGUMENT, "data");
  assert_fails(htone_tensor_from_buffer(test_device(), HTONE_F64, 1, &shape, (char*)storage + 4, count_call, &deletions,
                                        &tensor),
               HTONE_ERROR_INVALID_ARGUMENT, "data");
  assert_fails(htone_tensor_from_buffer(test_device(), 200, 1, &shape, storage, count_call, &deletions, &tensor),
               HTONE_ERROR_INVALID_ARGUMENT, "dtype");
  assert_fails(
      htone_tensor_from_buffer(test_device(), HTONE_F64, 1, &negative, storage, count_call, &deletions, &tensor),
      HTONE_ERROR_INVALID_ARGUMENT, "shape");
  assert_fails(htone_tensor_from_buffer(test_device(), HTONE_F64, 1, &shape, NULL, count_call, &deletions, &tensor),
               HTONE_ERROR_INVALID_ARGUMENT, "data");
  assert_null(tensor);
  assert_int_equal(deletions, 0);
}

/* A14 */
static void a_buffer_of_bytes_needs_no_alignment(void** state) {
  (void)state;
  uint8_t bytes[5] = {9, 1, 2, 3, 9};
  const int64_t shape = 3;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_U8, 1, &shape, bytes + 1, NULL, NULL, &tensor));
  keep_tensor(tensor);
  assert_values(cast_of(tensor, HTONE_F32), 0, 1, 2, 3);
}

static void a_strided_buffer_is_read_and_written_in_place(void** state) {
  (void)state;
  float values[8] = {0, 1, 2, 3, 4, 5, 6, 7};
  const int64_t shape[] = {3, 1, 2}, strides[] = {1, -5, 4}; /* a stride along a size of 1 is never used */
  int deletions = 0;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 3, shape, strides, values, count_call,
                                             &deletions, &tensor));
  assert_values(tensor, 0, 0, 4, 1, 5, 2, 6);
  assert_ok(htone_tensor_fill(tensor, -1));
  assert_true(values[2] == -1 && values[3] == 3 && values[4] == -1 && values[7] == 7);
  assert_ok(htone_tensor_release(tensor));
  assert_int_equal(deletions, 1);
}

static void a_buffer_whose_elements_overlap_is_read_only(void** state) {
  (void)state;
  float values[5] = {1, 2, 3, 4, 5};
  const int64_t shape[] = {2, 3}, wrong[][2] = {{1, 1}, {0, 1}, {1, 0}, {2, 1}};
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    htone_tensor* tensor = NULL;
    assert_ok(
        htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 2, shape, wrong[i], values, NULL, NULL, &tensor));
    keep_tensor(tensor);
    assert_true(item_of(sum_of(tensor)) > 0);
    assert_fails(htone_tensor_fill(tensor, 0), HTONE_ERROR_STATE, "overlap");
  }
  assert_true(values[0] == 1 && values[4] == 5);
}

static void a_buffer_with_impossible_strides_stays_the_callers(void** state) {
  (void)state;
  float values[4] = {1, 2, 3, 4};
  const int64_t shape[] = {2, 2}, wrong[][2] = {{2, -1}, {INT64_MAX, 1}, {INT64_MAX / 10, INT64_MAX / 10}};
  int deletions = 0;
  htone_tensor* tensor = NULL;
  for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
    assert_fails(htone_tensor_from_buffer_strided(test_device(), HTONE_F32, 2, shape, wrong[i], values, count_call,
                                                  &deletions, &tensor),
                 HTONE_ERROR_INVALID_ARGUMENT, "strides");
  }
  assert_null(tensor);
  assert_int_equal(deletions, 0);
}

static void a_tensor_knows_its_device(void** state) {
  (void)state;
  htone_device* device = NULL;
  char name[16];
  size_t length = 0;
  assert_ok(htone_tensor_device(make_ramp(HTONE_F32, 1, 2), &device));
  keep_device(device);
  assert_ok(htone_device_name(device, name, sizeof name, &length));
  assert_string_equal(name, "cpu");
  assert_int_equal(length, 3);
}

static void a_retained_tensor_outlives_one_release(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 2);
  assert_ok(htone_tensor_retain(tensor));
  assert_ok(htone_tensor_release(tensor));
  assert_values(tensor, 0, 0, 1);
  assert_ok(htone_tensor_release(NULL));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_new_tensor_is_contiguous),
      cmocka_unit_test(a_tensor_without_dimensions_is_a_scalar),
      cmocka_unit_test(eight_dimensions_are_allowed),
      cmocka_unit_test(a_bad_number_of_dimensions_is_refused),
      cmocka_unit_test(a_negative_or_overflowing_shape_is_refused),
      cmocka_unit_test(an_absurd_size_is_out_of_memory_at_once),
      cmocka_unit_test(an_empty_tensor_is_a_tensor),
      cmocka_unit_test(a_full_tensor_holds_the_value_as_cast_converts_it),
      cmocka_unit_test(a_copy_does_not_follow_its_source),
      cmocka_unit_test(a_buffer_is_shared_and_deleted_once_after_the_last_reference),
      cmocka_unit_test(a_deleter_may_call_the_library),
      cmocka_unit_test(a_refused_buffer_stays_the_callers),
      cmocka_unit_test(a_buffer_of_bytes_needs_no_alignment),
      cmocka_unit_test(a_strided_buffer_is_read_and_written_in_place),
      cmocka_unit_test(a_buffer_whose_elements_overlap_is_read_only),
      cmocka_unit_test(a_buffer_with_impossible_strides_stays_the_callers),
      cmocka_unit_test(a_tensor_knows_its_device),
      cmocka_unit_test(a_retained_tensor_outlives_one_release),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
