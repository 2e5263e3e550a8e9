/* Operations by index and embedding: refusals before any write, the layer. */
#include <stdlib.h>

#include "test_modules.h"

#define indices_of(...) \
  make_tensor(HTONE_I64, (const double[]){__VA_ARGS__}, 1, (int)COUNT_OF(((const double[]){__VA_ARGS__})))

static htone_tensor* scatter_of(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source) {
  htone_tensor* out = NULL;
  assert_ok(htone_scatter_add(input, dim, index, source, &out));
  return keep_tensor(out);
}

static htone_tensor* embedding_of(htone_tensor* weight, htone_tensor* indices, int64_t padding_index) {
  htone_tensor* out = NULL;
  assert_ok(htone_embedding(weight, indices, padding_index, &out));
  return keep_tensor(out);
}

static void masked_fill_needs_a_mask_that_fits(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F16, 2, 2, 2);
  assert_refuses(htone_masked_fill(input, input, 0, &out), DTYPE_MISMATCH, "mask is f16");
  assert_refuses(htone_masked_fill(input, make_ramp(HTONE_BOOL, 1, 3), 0, &out), SHAPE_MISMATCH, "mask [3]");
}

/* A23 */
static void an_index_outside_is_named_before_anything_is_written(void** state) {
  (void)state;
  htone_tensor* table = make_ramp(HTONE_F32, 2, 4, 2);
  const double outside[] = {-1, 4, -100, 9007199254740992.0};
  for (size_t i = 0; i < COUNT_OF(outside); ++i) {
    htone_tensor* indices = make_tensor(HTONE_I64, (const double[]){0, 1, 2, outside[i]}, 2, 2, 2);
    assert_refuses(htone_embedding(table, indices, -1, &out), INVALID_ARGUMENT, "indices[1, 1]=");
    assert_refuses(htone_gather(table, 0, indices, &out), INVALID_ARGUMENT, "is outside [0, 4)");
    assert_refuses(htone_scatter_add(table, 0, indices, table, &out), INVALID_ARGUMENT, "index[1, 1]=");
    assert_refuses(htone_index_select(table, 0, indices_of(outside[i]), &out), INVALID_ARGUMENT, "indices[0]=");
  }
  assert_refuses(htone_embedding(make_ramp(HTONE_F32, 2, 0, 2), indices_of(0), -1, &out), INVALID_ARGUMENT,
                 "outside [0, 0)");
  assert_values(table, 0, 0, 1, 2, 3, 4, 5, 6, 7);
}

static void tensors_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *table = make_ramp(HTONE_F32, 2, 4, 2), *indices = indices_of(0, 1);
  assert_refuses(htone_gather(table, 0, indices, &out), SHAPE_MISMATCH, "index [2] reaches beyond input [4, 2]");
  assert_refuses(htone_gather(table, 1, make_ramp(HTONE_I64, 2, 5, 1), &out), SHAPE_MISMATCH, "[5, 1]");
  assert_refuses(htone_gather(table, 0, table, &out), DTYPE_MISMATCH, "index is f32");
  assert_refuses(htone_gather(make_scalar(HTONE_F32, 1), 0, indices, &out), INVALID_ARGUMENT, "input is a scalar");
  assert_refuses(htone_scatter_add(table, 0, make_ramp(HTONE_I64, 2, 2, 2), make_ramp(HTONE_F32, 2, 1, 2), &out),
                 SHAPE_MISMATCH, "beyond source [1, 2]");
  assert_refuses(htone_scatter_add(table, 0, make_ramp(HTONE_I64, 2, 1, 2), make_ramp(HTONE_F16, 2, 1, 2), &out),
                 DTYPE_MISMATCH, "source is f16");
  assert_refuses(htone_index_select(table, 0, make_ramp(HTONE_I64, 2, 1, 2), &out), SHAPE_MISMATCH, "indices [1, 2]");
  assert_refuses(htone_embedding(indices, indices, -1, &out), DTYPE_MISMATCH, "weight is i64");
  assert_refuses(htone_embedding(make_ramp(HTONE_F32, 1, 4), indices, -1, &out), SHAPE_MISMATCH, "weight [4]");
  assert_refuses(htone_embedding(table, indices, 4, &out), INVALID_ARGUMENT, "padding_index=4");
}

static void writes_by_index_name_what_does_not_fit(void** state) {
  (void)state;
  htone_tensor *table = make_ramp(HTONE_F32, 2, 4, 2), *rows = indices_of(0, 3), *row = make_ramp(HTONE_F32, 2, 1, 2);
  assert_refuses(htone_index_add(table, 0, rows, row, &out), SHAPE_MISMATCH, "source [1, 2] differs from [2, 2]");
  assert_refuses(htone_index_copy(table, 0, make_ramp(HTONE_I64, 2, 1, 2), row, &out), SHAPE_MISMATCH,
                 "index [1, 2] has 2 dimensions, expected 1");
  assert_refuses(htone_index_copy(table, 0, indices_of(4), row, &out), INVALID_ARGUMENT, "index[0]=4");
  assert_refuses(htone_scatter(table, 0, rows, table, &out), SHAPE_MISMATCH, "index [2] reaches beyond input [4, 2]");
  assert_refuses(htone_scatter_scalar(table, 0, make_ramp(HTONE_I32, 2, 5, 1), 0, &out), INVALID_ARGUMENT,
                 "index[4, 0]=4 is outside [0, 4)");
  assert_refuses(htone_scatter_reduce(rows, 0, rows, rows, HTONE_SCATTER_MEAN, 1, &out), DTYPE_MISMATCH,
                 "input is i64");
  assert_values(table, 0, 0, 1, 2, 3, 4, 5, 6, 7);
}

static void a_list_of_indices_names_the_one_at_fault(void** state) {
  (void)state;
  htone_tensor *table = make_ramp(HTONE_F32, 2, 4, 2), *value = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* const wrong[] = {indices_of(0, 3), indices_of(1, 2), indices_of(0)};
  htone_tensor* const apart[] = {indices_of(0, 3), indices_of(0, 1, 0)};
  assert_refuses(htone_index(table, 2, wrong, &out), INVALID_ARGUMENT, "indices[1][1]=2 is outside [0, 2)");
  assert_refuses(htone_index(table, 3, wrong, &out), INVALID_ARGUMENT, "index_count=3");
  assert_refuses(htone_index(table, 0, wrong, &out), INVALID_ARGUMENT, "index_count=0");
  assert_refuses(htone_index(table, 2, apart, &out), SHAPE_MISMATCH, "indices[1] [3] does not broadcast with [2]");
  assert_refuses(htone_index(table, 1, &value, &out), DTYPE_MISMATCH, "indices[0] is f32");
  assert_refuses(htone_index_put(table, 1, wrong, value, 0, &out), SHAPE_MISMATCH,
                 "values [3] does not broadcast to [2, 2]");
}

/* A23 */
static void a_list_of_indices_that_left_the_range_is_refused_by_backward(void** state) {
  (void)state;
  int64_t places[] = {2, 0};
  const int64_t shape[] = {2};
  htone_tensor *index = NULL, *put = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_I64, 1, shape, places, NULL, NULL, &index));
  htone_tensor* values = leaf(make_ramp(HTONE_F32, 1, 2));
  assert_ok(
      htone_index_put(make_ramp(HTONE_F32, 1, 3), 1, (htone_tensor* const[]){keep_tensor(index)}, values, 1, &put));
  htone_tensor* loss = sum_of(keep_tensor(put));
  places[1] = 3;
  assert_fails(htone_tensor_backward(loss, NULL, 1), HTONE_ERROR_INVALID_ARGUMENT, "indices[1]=3");
}

static void indices_written_after_forward_are_noticed(void** state) {
  (void)state;
  htone_tensor *table = leaf(make_ramp(HTONE_F32, 2, 4, 2)), *indices = indices_of(0, 1);
  htone_tensor* loss = sum_of(embedding_of(table, indices, -1));
  assert_ok(htone_tensor_fill(indices, 100));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written");
}

static void the_layer_draws_a_normal_table_with_a_padding_row_of_zeros(void** state) {
  (void)state;
  htone_embedding_options options;
  htone_module* module = NULL;
  assert_ok(htone_embedding_options_init(&options));
  options.padding_index = 7;
  assert_ok(htone_module_create_embedding(test_device(), 100, 64, &options, &module));
  keep_module(module);
  htone_tensor* weight = weights_of(module, 0);
  assert_shape(weight, 100, 64);
  double *values = values_of(weight), sum = 0, squares = 0;
  for (int i = 0; i < 6400; ++i) {
    sum += values[i];
    squares += values[i] * values[i];
    if (i / 64 == 7) assert_true(values[i] == 0);
  }
  free(values);
  /* Within five standard errors of 6336 draws. */
  assert_near(sum / 6336, 0, 0.063);
  assert_near(squares / 6336, 1, 0.089);
  htone_tensor* rows = forward(module, indices_of(7, 3));
  backward(sum_of(rows));
  assert_values(sum_of(slice_of(grad_of(weight), 0, 7, 8, 1)), 0, 0);
  assert_values(sum_of(slice_of(grad_of(weight), 0, 3, 4, 1)), 0, 64);
}

static void the_layer_takes_its_dtype(void** state) {
  (void)state;
  htone_embedding_options options;
  htone_module* module = NULL;
  assert_ok(htone_embedding_options_init(&options));
  options.dtype = HTONE_BF16;
  assert_ok(htone_module_create_embedding(test_device(), 3, 2, &options, &module));
  keep_module(module);
  assert_int_equal(dtype_of(forward(module, indices_of(0))), HTONE_BF16);
}

/* A23: the caller rewrites its own index buffer between forward and backward without telling the library. */
static void indices_that_left_the_range_are_refused_by_backward(void** state) {
  (void)state;
  int64_t places[] = {2, 0};
  const int64_t shape[] = {2};
  htone_tensor* index = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_I64, 1, shape, places, NULL, NULL, &index));
  htone_tensor *sum = make_ramp(HTONE_F32, 1, 3), *source = make_ramp(HTONE_F32, 1, 2);
  assert_ok(htone_tensor_set_requires_grad(source, 1));
  htone_tensor* loss = sum_of(scatter_of(sum, 0, keep_tensor(index), source));
  for (int i = 0; i < 2; ++i) {
    places[1] = i == 0 ? 3 : -1;
    assert_fails(htone_tensor_backward(loss, NULL, 1), HTONE_ERROR_INVALID_ARGUMENT,
                 i == 0 ? "index[1]=3" : "index[1]=-1");
    assert_refuses(htone_tensor_grad(source, &out), STATE, "invalid");
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(masked_fill_needs_a_mask_that_fits),
      cmocka_unit_test(an_index_outside_is_named_before_anything_is_written),
      cmocka_unit_test(tensors_that_do_not_fit_are_named),
      cmocka_unit_test(writes_by_index_name_what_does_not_fit),
      cmocka_unit_test(a_list_of_indices_names_the_one_at_fault),
      cmocka_unit_test(a_list_of_indices_that_left_the_range_is_refused_by_backward),
      cmocka_unit_test(indices_written_after_forward_are_noticed),
      cmocka_unit_test(the_layer_draws_a_normal_table_with_a_padding_row_of_zeros),
      cmocka_unit_test(the_layer_takes_its_dtype),
      cmocka_unit_test(indices_that_left_the_range_are_refused_by_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
