/* Gather, scatter_add, index_select and embedding: values, gradients that accumulate, refusals before any write. */
#include <math.h>
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

static void gather_picks_along_each_dimension(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 3, 3);
  htone_tensor* index = make_tensor(HTONE_I64, (const double[]){2, 0, 1, 1}, 2, 2, 2);
  assert_values(gather_of(input, 0, index), 0, 6, 1, 3, 4);
  assert_values(gather_of(input, -1, index), 0, 2, 0, 4, 4);
  assert_values(gather_of(transpose_of(input, 0, 1), 0, transpose_of(index, 0, 1)), 0, 2, 4, 0, 4);
  assert_values(gather_of(input, 0, cast_of(index, HTONE_I32)), 0, 6, 1, 3, 4);
  assert_values(gather_of(make_ramp(HTONE_BOOL, 1, 2), 0, indices_of(1, 0, 1)), 0, 1, 0, 1);
  assert_shape(gather_of(input, 0, make_ramp(HTONE_I64, 2, 0, 3)), 0, 3);
}

static void scatter_add_adds_repeated_places_up(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 3, 2);
  htone_tensor* index = make_tensor(HTONE_I64, (const double[]){2, 0, 2, 1}, 2, 2, 2);
  htone_tensor* source = make_tensor(HTONE_F32, (const double[]){10, 20, 7, 30, 40, 7}, 2, 2, 3);
  assert_values(scatter_of(input, 0, index, source), 0, 0, 21, 2, 43, 44, 5);
  assert_values(scatter_of(input, 1, make_tensor(HTONE_I64, (const double[]){1, 1, 1}, 2, 1, 3), source), 0, 0, 38, 2,
                3, 4, 5);
  assert_values(input, 0, 0, 1, 2, 3, 4, 5);
  htone_tensor* whole = make_tensor(HTONE_I32, (const double[]){1, 2}, 1, 2);
  assert_values(scatter_of(whole, 0, indices_of(1, 1, 1), make_tensor(HTONE_I32, (const double[]){5, 6, 7}, 1, 3)), 0,
                1, 20);
}

/* Added one at a time in FP16, 2048 + 1 would stay 2048. */
static void sixteen_bit_sums_are_rounded_once(void** state) {
  (void)state;
  htone_tensor* base = make_tensor(HTONE_F16, (const double[]){2048}, 1, 1);
  htone_tensor* ones = make_tensor(HTONE_F16, (const double[]){1, 1, 1, 1}, 1, 4);
  htone_tensor* result = scatter_of(base, 0, indices_of(0, 0, 0, 0), ones);
  assert_int_equal(dtype_of(result), HTONE_F16);
  assert_values(result, 0, 2052);
}

static void index_select_takes_whole_slices(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F64, 3, 2, 3, 2);
  htone_tensor* middle = select_of(input, 1, indices_of(2, 0));
  assert_shape(middle, 2, 2, 2);
  assert_values(middle, 0, 4, 5, 0, 1, 10, 11, 6, 7);
  assert_values(select_of(make_ramp(HTONE_I8, 2, 2, 3), -1, indices_of(1, 1, 1)), 0, 1, 1, 1, 4, 4, 4);
  assert_values(select_of(transpose_of(make_ramp(HTONE_F32, 2, 2, 3), 0, 1), 0, indices_of(2)), 0, 2, 5);
  assert_shape(select_of(input, 0, make_ramp(HTONE_I64, 1, 0)), 0, 3, 2);
}

static void embedding_looks_rows_up(void** state) {
  (void)state;
  htone_tensor* table = make_ramp(HTONE_BF16, 2, 4, 2);
  htone_tensor* result = embedding_of(table, make_tensor(HTONE_I32, (const double[]){3, 0, 1, 1}, 2, 2, 2), -1);
  assert_shape(result, 2, 2, 2);
  assert_int_equal(dtype_of(result), HTONE_BF16);
  assert_values(result, 0, 6, 7, 0, 1, 2, 3, 2, 3);
  assert_values(embedding_of(table, make_scalar(HTONE_I64, 2), -1), 0, 4, 5);
  assert_shape(embedding_of(table, make_ramp(HTONE_I64, 2, 3, 0), -1), 3, 0, 2);
}

static void gradients_of_a_row_add_up_and_the_padding_row_has_none(void** state) {
  (void)state;
  htone_tensor* table = leaf(make_ramp(HTONE_F32, 2, 4, 2));
  htone_tensor* weights = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6, 7, 8}, 2, 4, 2);
  htone_tensor* indices = indices_of(1, 3, 1, 2);
  backward(sum_of(apply2(htone_mul, embedding_of(table, indices, 2), weights)));
  assert_values(grad_of(table), 0, 0, 0, 6, 8, 0, 0, 3, 4);
  backward(sum_of(apply2(htone_mul, embedding_of(table, indices, -1), weights)));
  assert_values(grad_of(table), 0, 0, 0, 12, 16, 7, 8, 6, 8);
  assert_ok(htone_tensor_zero_grad(table));
  backward(sum_of(apply2(htone_mul, embedding_of(table, indices, 1), weights)));
  assert_values(grad_of(table), 0, 0, 0, 0, 0, 7, 8, 3, 4);
}

static void gradients_of_a_low_precision_table_are_rounded_once(void** state) {
  (void)state;
  htone_tensor* table = leaf(make_ramp(HTONE_F16, 2, 1, 1));
  htone_tensor* weights = make_tensor(HTONE_F16, (const double[]){2048, 1, 1}, 2, 3, 1);
  backward(sum_of(apply2(htone_mul, embedding_of(table, indices_of(0, 0, 0), -1), weights)));
  assert_values(grad_of(table), 0, 2050);
}

static void a_table_used_twice_has_both_gradients(void** state) {
  (void)state;
  htone_tensor* table = leaf(make_ramp(HTONE_F32, 2, 3, 1));
  htone_tensor *first = embedding_of(table, indices_of(0, 1), -1), *second = embedding_of(table, indices_of(1, 2), -1);
  backward(sum_of(apply2(htone_add, first, second)));
  assert_values(grad_of(table), 0, 1, 2, 1);
}

static htone_tensor* table_gradient(int32_t threads) {
  htone_context_options options;
  htone_context* context = NULL;
  htone_device* device = NULL;
  htone_tensor *table = NULL, *indices = NULL;
  const int64_t shape[] = {50, 40}, count[] = {5000};
  int64_t* values = malloc(5000 * sizeof *values);
  for (int64_t i = 0; i < 5000; ++i) values[i] = i * i % 47;
  assert_ok(htone_context_options_init(&options));
  options.num_threads = threads;
  assert_ok(htone_context_create(&options, &context));
  assert_ok(htone_device_create(context, "cpu", &device));
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 0.1, &table));
  assert_ok(htone_tensor_create_full(device, HTONE_I64, 1, count, 0, &indices));
  assert_ok(htone_tensor_write(indices, HTONE_I64, values, 5000 * sizeof *values));
  free(values);
  keep_tensor(indices);
  leaf(keep_tensor(table));
  htone_tensor* rows = embedding_of(table, indices, -1);
  htone_tensor* scaled = NULL;
  assert_ok(htone_gelu(apply2(htone_mul, rows, rows), HTONE_GELU_ERF, &scaled));
  backward(sum_of(keep_tensor(scaled)));
  assert_ok(htone_device_release(device));
  assert_ok(htone_context_release(context));
  return grad_of(table);
}

static void gradients_are_the_same_bits_on_any_number_of_threads(void** state) {
  (void)state;
  double* one = values_of(table_gradient(1));
  for (int32_t threads = 2; threads <= 5; threads += 3) {
    htone_tensor* several = table_gradient(threads);
    check_values(several, 0, one, (size_t)numel_of(several), __FILE__, __LINE__);
  }
  free(one);
}

static htone_tensor* filled(htone_tensor* input, htone_tensor* mask, double value) {
  htone_tensor* out = NULL;
  assert_ok(htone_masked_fill(input, mask, value, &out));
  return keep_tensor(out);
}

static void masked_fill_puts_a_value_where_the_mask_is_true(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F16, 2, 2, 2), *mask = make_tensor(HTONE_BOOL, (const double[]){0, 1}, 1, 2);
  htone_tensor* result = filled(input, mask, -INFINITY);
  assert_int_equal(dtype_of(result), HTONE_F16);
  assert_values(result, 0, 0, -INFINITY, 2, -INFINITY);
  assert_values(filled(make_ramp(HTONE_I32, 2, 2, 1), mask, 9), 0, 0, 9, 1, 9);
  htone_tensor* out = NULL;
  assert_fails(htone_masked_fill(input, input, 0, &out), HTONE_ERROR_DTYPE_MISMATCH, "mask is f16");
  assert_fails(htone_masked_fill(input, make_ramp(HTONE_BOOL, 1, 3), 0, &out), HTONE_ERROR_SHAPE_MISMATCH, "mask [3]");
  assert_null(out);
}

/* A NaN under a true mask must not reach the gradient. */
static void masked_elements_lead_no_gradient(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){NAN, 2}, 1, 2));
  htone_tensor* result = filled(input, make_tensor(HTONE_BOOL, (const double[]){1, 0}, 1, 2), 0);
  backward(sum_of(apply2(htone_mul, result, result)));
  assert_values(grad_of(input), 0, 0, 4);
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
      cmocka_unit_test(gather_picks_along_each_dimension),
      cmocka_unit_test(scatter_add_adds_repeated_places_up),
      cmocka_unit_test(sixteen_bit_sums_are_rounded_once),
      cmocka_unit_test(index_select_takes_whole_slices),
      cmocka_unit_test(embedding_looks_rows_up),
      cmocka_unit_test(gradients_of_a_row_add_up_and_the_padding_row_has_none),
      cmocka_unit_test(gradients_of_a_low_precision_table_are_rounded_once),
      cmocka_unit_test(a_table_used_twice_has_both_gradients),
      cmocka_unit_test(gradients_are_the_same_bits_on_any_number_of_threads),
      cmocka_unit_test(masked_fill_puts_a_value_where_the_mask_is_true),
      cmocka_unit_test(masked_elements_lead_no_gradient),
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
