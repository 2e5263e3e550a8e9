/* Reshape, transpose, slice and cast: shared storage, clamped indices, refusals. */
#include <stdlib.h>

#include "test_tensors.h"

static htone_tensor* reshape_of(htone_tensor* input, int32_t ndim, const int64_t* shape) {
  htone_tensor* out = NULL;
  assert_ok(htone_reshape(input, ndim, shape, &out));
  return keep_tensor(out);
}

static void reshape_shares_storage_where_strides_allow_it(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 2, 6);
  htone_tensor* view = reshape_of(base, 3, (const int64_t[]){3, -1, 2});
  assert_shape(view, 3, 2, 2);
  assert_true(share_storage(base, view));
  assert_values(slice_of(view, 0, 1, 2, 1), 0, 4, 5, 6, 7);
  htone_tensor* turned = transpose_of(base, 0, 1);
  htone_tensor* copy = reshape_of(turned, 1, (const int64_t[]){-1});
  assert_false(share_storage(base, copy));
  assert_values(copy, 0, 0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11);
  assert_ok(htone_tensor_fill(view, 0));
  assert_values(slice_of(base, 1, 0, 1, 1), 0, 0, 0);
}

/* A29 */
static void reshape_to_another_count_is_refused(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 2, 3);
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){2, 4}, &out), SHAPE_MISMATCH, "[2, 4]");
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){2, 4}, &out), SHAPE_MISMATCH, "6");
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){4, -1}, &out), SHAPE_MISMATCH, "shape");
  assert_refuses(htone_reshape(input, 0, NULL, &out), SHAPE_MISMATCH, "[]");
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){-1, -1}, &out), INVALID_ARGUMENT, "shape");
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){-2, -3}, &out), INVALID_ARGUMENT, "shape");
  assert_refuses(htone_reshape(input, 2, (const int64_t[]){INT64_MAX, 4}, &out), INVALID_ARGUMENT, "shape");
  assert_refuses(htone_reshape(input, 9, (const int64_t[9]){6, 1, 1, 1, 1, 1, 1, 1, 1}, &out), INVALID_ARGUMENT,
                 "ndim");
}

/* With a size of 0, -1 could mean any size. */
static void an_open_size_beside_a_zero_is_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *empty = make_ramp(HTONE_F32, 2, 0, 3);
  assert_int_not_equal(htone_reshape(empty, 2, (const int64_t[]){-1, 0}, &out), HTONE_OK);
  assert_null(out);
}

static void transpose_swaps_two_dimensions_in_place(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_I32, 3, 2, 1, 3);
  htone_tensor* view = transpose_of(base, 0, -1);
  int64_t strides[HTONE_MAX_NDIM];
  int32_t ndim = 0;
  assert_shape(view, 3, 1, 2);
  assert_true(share_storage(base, view));
  assert_values(view, 0, 0, 3, 1, 4, 2, 5);
  assert_ok(htone_tensor_strides(view, strides, HTONE_MAX_NDIM, &ndim));
  assert_true(strides[0] == 1 && strides[2] == 3);
}

typedef struct SliceCase {
  int64_t start, end, step;
  int count, first;
} SliceCase;

/* A29: slices of 0..4, compared with range(5)[start:end:step] in Python. */
static void slice_indices_are_clamped_as_in_python(void** state) {
  (void)state;
  static const SliceCase cases[] = {
      {1, 4, 2, 2, 1},         {INT64_MIN, INT64_MAX, 1, 5, 0}, {0, 5, INT64_MAX, 1, 0},
      {0, INT64_MIN, 1, 0, 0}, {INT64_MAX, INT64_MAX, 1, 0, 0}, {-1, INT64_MAX, INT64_MAX, 1, 4},
  };
  htone_tensor* base = make_ramp(HTONE_F32, 2, 5, 1);
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    const SliceCase* c = &cases[i];
    htone_tensor* view = slice_of(base, 0, c->start, c->end, c->step);
    assert_shape(view, c->count, 1);
    double* values = values_of(view);
    for (int k = 0; k < c->count; ++k) assert_near(values[k], (double)c->first + (double)k * (double)c->step, 0);
    free(values);
  }
}

static void a_slice_writes_through_to_its_base(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 3, 3);
  htone_tensor* corner = slice_of(slice_of(base, 0, 0, 3, 2), -1, 0, 3, 2);
  assert_values(corner, 0, 0, 2, 6, 8);
  assert_ok(htone_tensor_fill(corner, -1));
  assert_values(base, 0, -1, 1, -1, 3, 4, 5, -1, 7, -1);
}

/* A29 */
static void a_scalar_has_no_dimension_to_slice_or_swap(void** state) {
  (void)state;
  htone_tensor* scalar = make_scalar(HTONE_F32, 0);
  assert_refuses(htone_slice(scalar, 0, 0, 1, 1, &out), INVALID_ARGUMENT, "dim");
  assert_refuses(htone_transpose(scalar, 0, 1, &out), INVALID_ARGUMENT, "dim1");
}

static void cast_to_the_own_dtype_shares_storage(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F16, 1, 3);
  assert_true(share_storage(input, cast_of(input, HTONE_F16)));
  assert_false(share_storage(input, cast_of(input, HTONE_BF16)));
  assert_shape(cast_of(make_ramp(HTONE_F32, 2, 0, 2), HTONE_I8), 0, 2);
  assert_values(cast_of(transpose_of(make_ramp(HTONE_U8, 2, 2, 2), 0, 1), HTONE_F64), 0, 0, 2, 1, 3);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reshape_shares_storage_where_strides_allow_it),
      cmocka_unit_test(reshape_to_another_count_is_refused),
      cmocka_unit_test(an_open_size_beside_a_zero_is_refused),
      cmocka_unit_test(transpose_swaps_two_dimensions_in_place),
      cmocka_unit_test(slice_indices_are_clamped_as_in_python),
      cmocka_unit_test(a_slice_writes_through_to_its_base),
      cmocka_unit_test(a_scalar_has_no_dimension_to_slice_or_swap),
      cmocka_unit_test(cast_to_the_own_dtype_shares_storage),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
