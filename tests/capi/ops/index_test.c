/* Gather, scatter_add, index_select and embedding: one value and gradient each, the layer, refusals before any write.
 */
#include <stdlib.h>

#include "test_modules.h"

#define indices_of(...) \
  make_tensor(HTONE_I64, (const double[]){__VA_ARGS__}, 1, (int)COUNT_OF(((const double[]){__VA_ARGS__})))

static htone_tensor* gather_of(htone_tensor* input, int64_t dim, htone_tensor* index) {
  htone_tensor* out = NULL;
  assert_ok(htone_gather(input, dim, index, &out));
  return keep_tensor(out);
}

static htone_tensor* scatter_of(htone_tensor* input, int64_t dim, htone_tensor* index, htone_tensor* source) {
  htone_tensor* out = NULL;
  assert_ok(htone_scatter_add(input, dim, index, source, &out));
  return keep_tensor(out);
}

static htone_tensor* select_of(htone_tensor* input, int64_t dim, htone_tensor* indices) {
  htone_tensor* out = NULL;
  assert_ok(htone_index_select(input, dim, indices, &out));
  return keep_tensor(out);
}

static htone_tensor* embedding_of(htone_tensor* weight, htone_tensor* indices, int64_t padding_index) {
  htone_tensor* out = NULL;
  assert_ok(htone_embedding(weight, indices, padding_index, &out));
  return keep_tensor(out);
}

static void gather_picks_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F32, 2, 3, 3));
  htone_tensor* index = make_tensor(HTONE_I32, (const double[]){2, 0, 1, 1}, 2, 2, 2);
  htone_tensor* result = gather_of(input, -1, index);
  assert_values(result, 0, 2, 0, 4, 4);
  backward(sum_of(result));
  assert_values(grad_of(input), 0, 1, 0, 1, 0, 2, 0, 0, 0, 0);
}

static void scatter_add_adds_repeated_places_up(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 3, 2), *source = leaf(make_ramp(HTONE_F32, 2, 2, 3));
  htone_tensor* result = scatter_of(input, 1, make_tensor(HTONE_I64, (const double[]){1, 1, 1}, 2, 1, 3), source);
  assert_values(result, 0, 0, 4, 2, 3, 4, 5);
  assert_values(input, 0, 0, 1, 2, 3, 4, 5);
  backward(sum_of(result));
  assert_values(grad_of(source), 0, 1, 1, 1, 0, 0, 0);
}

static void index_select_takes_whole_slices(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F64, 3, 2, 3, 2));
  htone_tensor* middle = select_of(input, 1, indices_of(2, 0));
  assert_shape(middle, 2, 2, 2);
  assert_values(middle, 0, 4, 5, 0, 1, 10, 11, 6, 7);
  backward(sum_of(middle));
  assert_values(grad_of(input), 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1);
}

static void embedding_looks_rows_up(void** state) {
  (void)state;
  htone_tensor* table = leaf(make_ramp(HTONE_BF16, 2, 4, 2));
  htone_tensor* result = embedding_of(table, make_tensor(HTONE_I32, (const double[]){3, 0, 1, 1}, 2, 2, 2), 0);
  assert_shape(result, 2, 2, 2);
  assert_int_equal(dtype_of(result), HTONE_BF16);
  assert_values(result, 0, 6, 7, 0, 1, 2, 3, 2, 3);
  backward(sum_of(result));
  assert_values(grad_of(table), 0, 0, 0, 2, 2, 0, 0, 1, 1);
}

static htone_tensor* filled(htone_tensor* input, htone_tensor* mask, double value) {
  htone_tensor* out = NULL;
  assert_ok(htone_masked_fill(input, mask, value, &out));
  return keep_tensor(out);
}

static void masked_fill_puts_a_value_where_the_mask_is_true(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_ramp(HTONE_F16, 2, 2, 2));
  htone_tensor *result = filled(input, make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2), 9), *out = NULL;
  assert_values(result, 0, 0, 9, 2, 9);
  backward(sum_of(result));
  assert_values(grad_of(input), 0, 1, 0, 1, 0);
  assert_fails(htone_masked_fill(input, input, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "mask is f16");
  assert_fails(htone_masked_fill(input, make_ramp(HTONE_BOOL, 1, 3), 0, &out), HTONE_ERROR_SHAPE_MISMATCH, "mask [3]");
  assert_null(out);
}

/* A23 */
static void an_index_outside_is_named_before_anything_is_written(void** state) {
  (void)state;
  htone_tensor *out = NULL, *table = make_ramp(HTONE_F32, 2, 4, 2);
  const double outside[] = {-1, 4, -100, 9007199254740992.0};
  for (size_t i = 0; i < COUNT_OF(outside); ++i) {
    htone_tensor* indices = make_tensor(HTONE_I64, (const double[]){0, 1, 2, outside[i]}, 2, 2, 2);
    assert_fails(htone_embedding(table, indices, -1, &out), HTONE_ERROR_INVALID_ARGUMENT, "indices[1, 1]=");
    assert_fails(htone_gather(table, 0, indices, &out), HTONE_ERROR_INVALID_ARGUMENT, "is outside [0, 4)");
    assert_fails(htone_scatter_add(table, 0, indices, table, &out), HTONE_ERROR_INVALID_ARGUMENT, "index[1, 1]=");
    assert_fails(htone_index_select(table, 0, indices_of(outside[i]), &out), HTONE_ERROR_INVALID_ARGUMENT,
                 "indices[0]=");
  }
  assert_fails(htone_embedding(make_ramp(HTONE_F32, 2, 0, 2), indices_of(0), -1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "outside [0, 0)");
  assert_null(out);
  assert_values(table, 0, 0, 1, 2, 3, 4, 5, 6, 7);
}

static void tensors_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *out = NULL, *table = make_ramp(HTONE_F32, 2, 4, 2), *indices = indices_of(0, 1);
  assert_fails(htone_gather(table, 0, indices, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "index [2] reaches beyond input [4, 2]");
  assert_fails(htone_gather(table, 1, make_ramp(HTONE_I64, 2, 5, 1), &out), HTONE_ERROR_SHAPE_MISMATCH, "[5, 1]");
  assert_fails(htone_gather(table, 0, table, &out), HTONE_ERROR_DTYPE_MISMATCH, "index is f32");
  assert_fails(htone_gather(make_scalar(HTONE_F32, 1), 0, indices, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "input is a scalar");
  assert_fails(htone_scatter_add(table, 0, make_ramp(HTONE_I64, 2, 2, 2), make_ramp(HTONE_F32, 2, 1, 2), &out),
               HTONE_ERROR_SHAPE_MISMATCH, "beyond source [1, 2]");
  assert_fails(htone_scatter_add(table, 0, make_ramp(HTONE_I64, 2, 1, 2), make_ramp(HTONE_F16, 2, 1, 2), &out),
               HTONE_ERROR_DTYPE_MISMATCH, "source is f16");
  assert_fails(htone_index_select(table, 0, make_ramp(HTONE_I64, 2, 1, 2), &out), HTONE_ERROR_SHAPE_MISMATCH,
               "indices [1, 2]");
  assert_fails(htone_embedding(indices, indices, -1, &out), HTONE_ERROR_DTYPE_MISMATCH, "weight is i64");
  assert_fails(htone_embedding(make_ramp(HTONE_F32, 1, 4), indices, -1, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "weight [4]");
  assert_fails(htone_embedding(table, indices, 4, &out), HTONE_ERROR_INVALID_ARGUMENT, "padding_index=4");
  assert_null(out);
}

static void indices_written_after_forward_are_noticed(void** state) {
  (void)state;
  htone_tensor *table = leaf(make_ramp(HTONE_F32, 2, 4, 2)), *indices = indices_of(0, 1);
  htone_tensor* loss = sum_of(embedding_of(table, indices, -1));
  assert_ok(htone_tensor_fill(indices, 100));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "written");
}

static void scatter_add_promotes_under_autocast(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor *wide = leaf(make_ramp(HTONE_F32, 1, 2)),
               *low = leaf(make_tensor(HTONE_BF16, (const double[]){5}, 1, 1));
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  htone_tensor* result = scatter_of(wide, 0, indices_of(1), low);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_F32);
  assert_values(result, 0, 0, 6);
  backward(sum_of(result));
  assert_int_equal(dtype_of(grad_of(low)), HTONE_BF16);
  assert_values(grad_of(low), 0, 1);
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

static void the_layer_takes_its_dtype_and_refuses_impossible_tables(void** state) {
  (void)state;
  htone_embedding_options options;
  htone_module *module = NULL, *refused = NULL;
  assert_ok(htone_embedding_options_init(&options));
  options.dtype = HTONE_BF16;
  assert_ok(htone_module_create_embedding(test_device(), 3, 2, &options, &module));
  keep_module(module);
  assert_int_equal(dtype_of(forward(module, indices_of(0))), HTONE_BF16);
  assert_fails(htone_module_create_embedding(test_device(), 0, 2, NULL, &refused), HTONE_ERROR_INVALID_ARGUMENT,
               "num_embeddings=0");
  options.padding_index = 3;
  assert_fails(htone_module_create_embedding(test_device(), 3, 2, &options, &refused), HTONE_ERROR_INVALID_ARGUMENT,
               "options.padding_index=3");
  assert_null(refused);
}

/* A23: the caller rewrites its own index buffer between forward and backward without telling the library. */
static void indices_that_left_the_range_are_refused_by_backward(void** state) {
  (void)state;
  int64_t places[] = {2, 0};
  const int64_t shape[] = {2};
  htone_tensor *index = NULL, *out = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_I64, 1, shape, places, NULL, NULL, &index));
  htone_tensor *sum = make_ramp(HTONE_F32, 1, 3), *source = make_ramp(HTONE_F32, 1, 2);
  assert_ok(htone_tensor_set_requires_grad(source, 1));
  htone_tensor* loss = sum_of(scatter_of(sum, 0, keep_tensor(index), source));
  for (int i = 0; i < 2; ++i) {
    places[1] = i == 0 ? 3 : -1;
    assert_fails(htone_tensor_backward(loss, NULL, 1), HTONE_ERROR_INVALID_ARGUMENT,
                 i == 0 ? "index[1]=3" : "index[1]=-1");
    assert_fails(htone_tensor_grad(source, &out), HTONE_ERROR_STATE, "invalid");
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gather_picks_along_a_dimension),
      cmocka_unit_test(scatter_add_adds_repeated_places_up),
      cmocka_unit_test(index_select_takes_whole_slices),
      cmocka_unit_test(embedding_looks_rows_up),
      cmocka_unit_test(masked_fill_puts_a_value_where_the_mask_is_true),
      cmocka_unit_test(an_index_outside_is_named_before_anything_is_written),
      cmocka_unit_test(tensors_that_do_not_fit_are_named),
      cmocka_unit_test(indices_written_after_forward_are_noticed),
      cmocka_unit_test(scatter_add_promotes_under_autocast),
      cmocka_unit_test(the_layer_draws_a_normal_table_with_a_padding_row_of_zeros),
      cmocka_unit_test(the_layer_takes_its_dtype_and_refuses_impossible_tables),
      cmocka_unit_test(indices_that_left_the_range_are_refused_by_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
