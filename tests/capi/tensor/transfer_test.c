/* Reading and writing tensors: conversions, alignment, capacities, strided views, single items. */
#include <string.h>

#include "test_tensors.h"

static void reading_converts_and_follows_row_major_order(void** state) {
  (void)state;
  htone_tensor* turned = transpose_of(make_ramp(HTONE_F32, 2, 2, 3), 0, 1);
  int16_t integers[7];
  integers[6] = 0x7a7a;
  assert_ok(htone_tensor_read(turned, HTONE_I16, integers, 6 * sizeof integers[0]));
  const int16_t expected[] = {0, 3, 1, 4, 2, 5, 0x7a7a};
  assert_memory_equal(integers, expected, sizeof expected);
  uint16_t halves[2];
  assert_ok(
      htone_tensor_read(make_tensor(HTONE_F64, (const double[]){1, -2}, 1, 2), HTONE_BF16, halves, sizeof halves));
  assert_int_equal(halves[0], 0x3f80);
  assert_int_equal(halves[1], 0xc000);
}

/* A14 */
static void reading_and_writing_take_any_alignment(void** state) {
  (void)state;
  char bytes[2 + 3 * sizeof(double)];
  memset(bytes, 0x5a, sizeof bytes);
  htone_tensor* tensor = make_ramp(HTONE_F64, 1, 3);
  assert_ok(htone_tensor_read(tensor, HTONE_F64, bytes + 1, 3 * sizeof(double)));
  assert_int_equal(bytes[0], 0x5a);
  assert_int_equal(bytes[sizeof bytes - 1], 0x5a);
  assert_ok(htone_tensor_fill(tensor, 7));
  assert_ok(htone_tensor_write(tensor, HTONE_F64, bytes + 1, 3 * sizeof(double)));
  assert_values(tensor, 0, 0, 1, 2);
}

static void a_capacity_too_small_leaves_the_buffer_alone(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 2, 2, 2);
  float values[4] = {-1, -1, -1, -1};
  assert_fails(htone_tensor_read(tensor, HTONE_F32, values, sizeof values - 1), HTONE_ERROR_BUFFER_TOO_SMALL,
               "capacity");
  assert_true(values[0] == -1 && values[3] == -1);
  int64_t sizes[2] = {-1, -1};
  int32_t ndim = 0;
  assert_fails(htone_tensor_shape(tensor, sizes, 1, &ndim), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(ndim, 2);
  ndim = 0;
  assert_fails(htone_tensor_strides(tensor, NULL, 0, &ndim), HTONE_ERROR_BUFFER_TOO_SMALL, "capacity");
  assert_int_equal(ndim, 2);
  assert_int_equal(sizes[0], -1);
}

static void writing_converts_into_strided_views(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 2, 4);
  htone_tensor* columns = slice_of(base, 1, 1, 4, 2);
  const int32_t values[] = {10, 20, 30, 40};
  assert_ok(htone_tensor_write(columns, HTONE_I32, values, sizeof values));
  assert_values(base, 0, 0, 10, 2, 20, 4, 30, 6, 40);
  assert_ok(htone_tensor_fill(transpose_of(columns, 0, 1), 1.5));
  assert_values(base, 0, 0, 1.5, 2, 1.5, 4, 1.5, 6, 1.5);
}

static void a_write_of_another_size_is_refused(void** state) {
  (void)state;
  htone_tensor* tensor = make_ramp(HTONE_F32, 1, 3);
  const float values[4] = {9, 9, 9, 9};
  assert_fails(htone_tensor_write(tensor, HTONE_F32, values, 2 * sizeof(float)), HTONE_ERROR_INVALID_ARGUMENT, "size");
  assert_fails(htone_tensor_write(tensor, HTONE_F32, values, 4 * sizeof(float)), HTONE_ERROR_INVALID_ARGUMENT, "size");
  assert_fails(htone_tensor_write(tensor, HTONE_F64, values, 3 * sizeof(float)), HTONE_ERROR_INVALID_ARGUMENT, "size");
  assert_values(tensor, 0, 0, 1, 2);
}

static void the_item_of_one_element_is_read_in_every_dtype(void** state) {
  (void)state;
  for (htone_dtype dtype = HTONE_F64; dtype <= HTONE_BOOL; ++dtype) {
    htone_tensor* tensor = make_tensor(dtype, (const double[]){1}, 3, 1, 1, 1);
    assert_near(item_of(tensor), 1, 0);
  }
  const int64_t beyond = ((int64_t)1 << 53) + 1;
  htone_tensor* tensor = make_scalar(HTONE_I64, 0);
  assert_ok(htone_tensor_write(tensor, HTONE_I64, &beyond, sizeof beyond));
  assert_near(item_of(tensor), 9007199254740992.0, 0);
}

static void only_one_element_has_an_item(void** state) {
  (void)state;
  double value = -7;
  assert_fails(htone_tensor_item(make_ramp(HTONE_F32, 1, 2), &value), HTONE_ERROR_SHAPE_MISMATCH, "tensor");
  assert_fails(htone_tensor_item(make_ramp(HTONE_F32, 1, 0), &value), HTONE_ERROR_SHAPE_MISMATCH, "tensor");
  assert_near(value, -7, 0);
}

static void integers_of_64_bits_pass_unchanged(void** state) {
  (void)state;
  const int64_t values[] = {INT64_MIN, -1, ((int64_t)1 << 53) + 1, INT64_MAX};
  int64_t back[4] = {0};
  const int64_t shape = 4;
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &shape, values, &tensor));
  keep_tensor(tensor);
  assert_ok(htone_tensor_read(tensor, HTONE_I64, back, sizeof back));
  assert_memory_equal(values, back, sizeof back);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reading_converts_and_follows_row_major_order),
      cmocka_unit_test(reading_and_writing_take_any_alignment),
      cmocka_unit_test(a_capacity_too_small_leaves_the_buffer_alone),
      cmocka_unit_test(writing_converts_into_strided_views),
      cmocka_unit_test(a_write_of_another_size_is_refused),
      cmocka_unit_test(the_item_of_one_element_is_read_in_every_dtype),
      cmocka_unit_test(only_one_element_has_an_item),
      cmocka_unit_test(integers_of_64_bits_pass_unchanged),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
