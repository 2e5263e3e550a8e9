/* Permute, squeeze, broadcast_to, cat, stack, split, pad, triangles and flip: shared storage, refusals. */

#include "test_tensors.h"

#define permute_of(input, ...) \
  permuted((input), (int32_t)COUNT_OF(((const int64_t[]){__VA_ARGS__})), (const int64_t[]){__VA_ARGS__})
#define cat_of(dim, ...) \
  joined(htone_cat, COUNT_OF(((htone_tensor*[]){__VA_ARGS__})), (htone_tensor*[]){__VA_ARGS__}, (dim))

typedef htone_status (*JoinFn)(size_t, htone_tensor* const*, int64_t, htone_tensor**);

static htone_tensor* permuted(htone_tensor* input, int32_t count, const int64_t* dims) {
  htone_tensor* out = NULL;
  assert_ok(htone_permute(input, count, dims, &out));
  return keep_tensor(out);
}

static htone_tensor* joined(JoinFn function, size_t count, htone_tensor* const* tensors, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(function(count, tensors, dim, &out));
  return keep_tensor(out);
}

static htone_tensor* unsqueeze_of(htone_tensor* input, int64_t dim) {
  htone_tensor* out = NULL;
  assert_ok(htone_unsqueeze(input, dim, &out));
  return keep_tensor(out);
}

static htone_tensor* squeeze_of(htone_tensor* input, int32_t count, const int64_t* dims) {
  htone_tensor* out = NULL;
  assert_ok(htone_squeeze(input, count, dims, &out));
  return keep_tensor(out);
}

static htone_tensor* broadcast_of(htone_tensor* input, int32_t ndim, const int64_t* shape) {
  htone_tensor* out = NULL;
  assert_ok(htone_broadcast_to(input, ndim, shape, &out));
  return keep_tensor(out);
}

static htone_tensor* triangle_of(htone_status (*function)(htone_tensor*, int64_t, htone_tensor**), htone_tensor* input,
                                 int64_t diagonal) {
  htone_tensor* out = NULL;
  assert_ok(function(input, diagonal, &out));
  return keep_tensor(out);
}

static htone_tensor* flip_of(htone_tensor* input, int32_t count, const int64_t* dims) {
  htone_tensor* out = NULL;
  assert_ok(htone_flip(input, count, dims, &out));
  return keep_tensor(out);
}

static void permute_orders_dimensions_in_place(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_I16, 3, 2, 1, 3);
  htone_tensor* view = permute_of(base, 2, 0, -2);
  assert_shape(view, 3, 2, 1);
  assert_values(view, 0, 0, 3, 1, 4, 2, 5);
  assert_true(share_storage(view, base));
  assert_scalar(permuted(make_scalar(HTONE_F32, 3), 0, NULL));
  assert_refuses(htone_permute(base, 2, (const int64_t[]){0, 1}, &out), INVALID_ARGUMENT, "dim_count=2");
  assert_refuses(htone_permute(base, 3, (const int64_t[]){0, 1, -3}, &out), INVALID_ARGUMENT, "dimension 0 twice");
  assert_refuses(htone_permute(base, 3, (const int64_t[]){0, 1, 3}, &out), INVALID_ARGUMENT, "dims");
}

static void sizes_of_one_come_and_go_in_place(void** state) {
  (void)state;
  htone_tensor* base = transpose_of(make_ramp(HTONE_F32, 2, 2, 3), 0, 1);
  htone_tensor* wide = unsqueeze_of(unsqueeze_of(base, -1), 1);
  assert_shape(wide, 3, 1, 2, 1);
  assert_true(share_storage(wide, base));
  assert_values(wide, 0, 0, 3, 1, 4, 2, 5);
  assert_shape(squeeze_of(wide, 0, NULL), 3, 2);
  assert_true(share_storage(squeeze_of(wide, 0, NULL), base));
  assert_shape(squeeze_of(wide, 2, (const int64_t[]){0, -1}), 3, 1, 2);
  assert_scalar(squeeze_of(unsqueeze_of(make_scalar(HTONE_F32, 3), 0), 0, NULL));
  htone_tensor* full = make_ramp(HTONE_F32, 8, 1, 1, 1, 1, 1, 1, 1, 2);
  assert_refuses(htone_unsqueeze(base, 3, &out), INVALID_ARGUMENT, "dim");
  assert_refuses(htone_unsqueeze(full, 0, &out), INVALID_ARGUMENT, "input [1, 1, 1, 1, 1, 1, 1, 2]");
  assert_refuses(htone_squeeze(wide, 2, (const int64_t[]){1, -3}, &out), INVALID_ARGUMENT, "dimension 1 twice");
}

static void broadcast_to_repeats_without_copying(void** state) {
  (void)state;
  htone_tensor* row = make_ramp(HTONE_F32, 2, 1, 3);
  htone_tensor* rows = broadcast_of(row, 3, (const int64_t[]){2, 2, -1});
  assert_shape(rows, 2, 2, 3);
  assert_true(share_storage(rows, row));
  assert_values(rows, 0, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2);
  assert_shape(broadcast_of(row, 2, (const int64_t[]){0, 3}), 0, 3);
  assert_values(broadcast_of(make_scalar(HTONE_I64, 7), 1, (const int64_t[]){2}), 0, 7, 7);
  assert_refuses(htone_broadcast_to(row, 2, (const int64_t[]){2, 4}, &out), SHAPE_MISMATCH,
                 "input [1, 3] does not broadcast to shape [2, 4]");
  assert_refuses(htone_broadcast_to(row, 1, (const int64_t[]){3}, &out), SHAPE_MISMATCH, "shape [3]");
  assert_refuses(htone_broadcast_to(row, 3, (const int64_t[]){-1, 1, 3}, &out), INVALID_ARGUMENT,
                 "-1 in a new dimension");
  assert_refuses(htone_broadcast_to(row, 2, (const int64_t[]){-2, 3}, &out), INVALID_ARGUMENT, "shape");
}

static void a_repeated_element_is_not_written_in_place(void** state) {
  (void)state;
  htone_tensor* row = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* rows = broadcast_of(row, 2, (const int64_t[]){2, 3});
  assert_fails(htone_tensor_fill(rows, 5), HTONE_ERROR_STATE, "overlap");
  assert_values(row, 0, 0, 1, 2);
  assert_ok(htone_tensor_fill(broadcast_of(row, 2, (const int64_t[]){1, 3}), 5));
  assert_values(row, 0, 5, 5, 5);
}

static void cat_follows_a_policy_that_asks_for_another_dtype(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor *wide = leaf(make_ramp(HTONE_F32, 1, 2)), *low = make_tensor(HTONE_BF16, (const double[]){5}, 1, 1);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  keep_policy(policy);
  assert_ok(htone_autocast_begin(policy, &scope));
  assert_int_equal(dtype_of(cat_of(0, wide, low)), HTONE_F32);
  assert_ok(htone_autocast_policy_set_class(policy, "cat", HTONE_AUTOCAST_LOW));
  htone_tensor* result = cat_of(0, wide, low);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(result), HTONE_BF16);
  backward(sum_of(cast_of(result, HTONE_F32)));
  assert_int_equal(dtype_of(grad_of(wide)), HTONE_F32);
  assert_values(grad_of(wide), 0, 1, 1);
}

static void gradients_of_mixed_dtypes_return_in_their_own(void** state) {
  (void)state;
  htone_tensor *wide = leaf(make_ramp(HTONE_F32, 1, 2)),
               *low = leaf(make_tensor(HTONE_BF16, (const double[]){5}, 1, 1));
  htone_tensor* weights = make_tensor(HTONE_F32, (const double[]){2, 3, 4}, 1, 3);
  backward(sum_of(apply2(htone_mul, cat_of(0, wide, low), weights)));
  assert_values(grad_of(wide), 0, 2, 3);
  assert_values(grad_of(low), 0, 4);
  assert_int_equal(dtype_of(grad_of(low)), HTONE_BF16);
}

static void tensors_that_do_not_fit_are_named(void** state) {
  (void)state;
  htone_tensor *a = make_ramp(HTONE_F32, 2, 2, 3), *b = make_ramp(HTONE_F32, 2, 2, 4);
  htone_tensor* const pair[] = {a, b};
  htone_tensor* const scalars[] = {make_scalar(HTONE_F32, 1)};
  assert_refuses(htone_cat(2, pair, 0, &out), SHAPE_MISMATCH, "tensors[1] [2, 4]");
  assert_refuses(htone_stack(2, pair, 0, &out), SHAPE_MISMATCH, "tensors[1] [2, 4]");
  assert_refuses(htone_cat(1, scalars, 0, &out), SHAPE_MISMATCH, "tensors[0] is a scalar");
}

static void split_cuts_into_views(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 2, 5);
  htone_tensor* parts[3] = {NULL};
  assert_ok(htone_split(base, 1, 3, (const int64_t[]){2, 0, 3}, parts));
  for (int i = 0; i < 3; ++i) keep_tensor(parts[i]);
  assert_values(parts[0], 0, 0, 1, 5, 6);
  assert_shape(parts[1], 2, 0);
  assert_values(parts[2], 0, 2, 3, 4, 7, 8, 9);
  assert_true(share_storage(parts[0], base));
}

static void parts_of_one_split_share_a_backward(void** state) {
  (void)state;
  htone_tensor* base = leaf(make_ramp(HTONE_F32, 1, 4));
  htone_tensor* parts[2] = {NULL};
  assert_ok(htone_split(base, 0, 2, (const int64_t[]){2, 2}, parts));
  keep_tensor(parts[0]);
  keep_tensor(parts[1]);
  backward(sum_of(apply2(htone_mul, parts[0], parts[1])));
  assert_values(grad_of(base), 0, 2, 3, 0, 1);
}

/* The requests for memory of a backward through a split into this many parts, all of which are used. */
static int64_t allocations_of_backward(int count) {
  htone_tensor *base = leaf(make_ramp(HTONE_F32, 1, 64)), *parts[8] = {NULL}, *whole = NULL;
  htone_memory_stats before = HTONE_MEMORY_STATS_INIT, after = HTONE_MEMORY_STATS_INIT;
  int64_t sizes[8];
  for (int i = 0; i < count; ++i) sizes[i] = 64 / count;
  assert_ok(htone_split(base, 0, (size_t)count, sizes, parts));
  for (int i = 0; i < count; ++i) keep_tensor(parts[i]);
  assert_ok(htone_cat((size_t)count, parts, 0, &whole));
  htone_tensor* loss = sum_of(keep_tensor(whole));
  assert_ok(htone_device_memory_stats(test_device(), &before));
  backward(loss);
  assert_ok(htone_device_memory_stats(test_device(), &after));
  return after.allocations - before.allocations;
}

static void the_gradients_of_all_parts_are_written_to_one_tensor(void** state) {
  (void)state;
  assert_int_equal(allocations_of_backward(8), allocations_of_backward(2));
}

static void sizes_that_do_not_add_up_are_refused(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 2, 5);
  htone_tensor* parts[2] = {NULL};
  assert_fails(htone_split(base, 1, 2, (const int64_t[]){2, 2}, parts), HTONE_ERROR_SHAPE_MISMATCH, "add up to 4");
  assert_fails(htone_split(base, 1, 2, (const int64_t[]){2, 4}, parts), HTONE_ERROR_SHAPE_MISMATCH, "sizes[1]=4");
  assert_fails(htone_split(base, 1, 2, (const int64_t[]){6, -1}, parts), HTONE_ERROR_SHAPE_MISMATCH, "sizes[0]=6");
  assert_fails(htone_split(base, 1, 2, (const int64_t[]){5, -1}, parts), HTONE_ERROR_SHAPE_MISMATCH, "sizes[1]=-1");
  assert_fails(htone_split(make_scalar(HTONE_F32, 1), 0, 2, (const int64_t[]){1, 1}, parts),
               HTONE_ERROR_INVALID_ARGUMENT, "input is a scalar");
  assert_null(parts[0]);
  assert_null(parts[1]);
}

static void padding_that_cannot_be_is_refused(void** state) {
  (void)state;
  htone_tensor* base = make_ramp(HTONE_F32, 2, 2, 3);
  const int64_t large[][2] = {{INT64_MAX, 1},         {1, INT64_MAX},          {INT64_MIN, INT64_MAX},
                              {INT64_MAX, INT64_MIN}, {-INT64_MAX, INT64_MAX}, {INT64_MAX / 16, 0}};
  for (size_t i = 0; i < COUNT_OF(large); ++i) {
    assert_refuses(htone_pad(base, 1, large[i], 0, &out), INVALID_ARGUMENT, "padding");
  }
  assert_refuses(htone_pad(base, 1, (const int64_t[]){-2, -2}, 0, &out), INVALID_ARGUMENT, "input.shape[1]=3");
  assert_refuses(htone_pad(base, 3, (const int64_t[]){0, 0, 0, 0, 0, 0}, 0, &out), INVALID_ARGUMENT, "pair_count=3");
}

static void diagonals_far_outside_keep_all_or_nothing(void** state) {
  (void)state;
  htone_tensor* base = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 2, 2, 3);
  assert_values(triangle_of(htone_tril, base, INT64_MAX), 0, 1, 2, 3, 4, 5, 6);
  assert_values(triangle_of(htone_tril, base, INT64_MIN), 0, 0, 0, 0, 0, 0, 0);
  assert_values(triangle_of(htone_triu, base, INT64_MAX), 0, 0, 0, 0, 0, 0, 0);
  assert_values(triangle_of(htone_triu, base, INT64_MIN), 0, 1, 2, 3, 4, 5, 6);
  assert_refuses(htone_tril(make_ramp(HTONE_F32, 1, 3), 0, &out), SHAPE_MISMATCH, "input [3]");
}

static void flip_of_nothing_much_is_a_copy(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 1, 3);
  htone_tensor* copy = flip_of(input, 0, NULL);
  assert_ok(htone_tensor_fill(copy, 7));
  assert_values(input, 0, 0, 1, 2);
  assert_refuses(htone_flip(input, 2, (const int64_t[]){1, -1}, &out), INVALID_ARGUMENT,
                 "dims names dimension 1 twice");
  assert_refuses(htone_flip(input, 1, (const int64_t[]){2}, &out), INVALID_ARGUMENT, "dims=2");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(permute_orders_dimensions_in_place),
      cmocka_unit_test(sizes_of_one_come_and_go_in_place),
      cmocka_unit_test(broadcast_to_repeats_without_copying),
      cmocka_unit_test(a_repeated_element_is_not_written_in_place),
      cmocka_unit_test(cat_follows_a_policy_that_asks_for_another_dtype),
      cmocka_unit_test(gradients_of_mixed_dtypes_return_in_their_own),
      cmocka_unit_test(tensors_that_do_not_fit_are_named),
      cmocka_unit_test(split_cuts_into_views),
      cmocka_unit_test(parts_of_one_split_share_a_backward),
      cmocka_unit_test(the_gradients_of_all_parts_are_written_to_one_tensor),
      cmocka_unit_test(sizes_that_do_not_add_up_are_refused),
      cmocka_unit_test(padding_that_cannot_be_is_refused),
      cmocka_unit_test(diagonals_far_outside_keep_all_or_nothing),
      cmocka_unit_test(flip_of_nothing_much_is_a_copy),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
