/* Attention and rotary embedding: extreme offsets, layouts, memory, and refused arguments. */
#include <stdlib.h>

#include "test_tensors.h"

typedef struct Operands {
  htone_tensor *q, *k, *v;
} Operands;

/* 2 batches of 4 heads of q and kv_heads of k and v; 37 queries, 45 keys. */
static Operands make_operands(htone_dtype dtype, int kv_heads) {
  return (Operands){make_noise(dtype, 1, 4, 2, 4, 37, 20), make_noise(dtype, 2, 4, 2, kv_heads, 45, 20),
                    make_noise(dtype, 3, 4, 2, kv_heads, 45, 12)};
}

static Operands leaves(Operands in) { return (Operands){leaf(in.q), leaf(in.k), leaf(in.v)}; }

static htone_tensor* attend(Operands in, htone_tensor* mask, const htone_attention_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_scaled_dot_product_attention(in.q, in.k, in.v, mask, options, &out));
  return keep_tensor(out);
}

static void causal_offsets_of_any_size_are_accepted(void** state) {
  (void)state;
  htone_attention_options options = HTONE_ATTENTION_OPTIONS_INIT;
  options.causal = 1;
  options.causal_offset = INT64_MAX;
  assert_tensors_near(attend(make_operands(HTONE_F64, 4), NULL, &options),
                      attend(make_operands(HTONE_F64, 4), NULL, NULL), 0);
  options.causal_offset = INT64_MIN;
  htone_tensor* hidden = attend(make_operands(HTONE_F64, 4), NULL, &options);
  assert_near(item_of(sum_of(apply2(htone_mul, hidden, hidden))), 0, 0);
}

static void heads_inside_of_rows_are_read_and_written_there(void** state) {
  (void)state;
  htone_tensor* packed = leaf(make_noise(HTONE_F32, 5, 4, 2, 9, 3, 8));
  htone_tensor* heads = transpose_of(packed, 1, 2);
  htone_tensor* out = attend((Operands){heads, heads, heads}, NULL, NULL);
  htone_tensor* copy = make_noise(HTONE_F32, 5, 4, 2, 9, 3, 8);
  htone_tensor* contiguous = NULL;
  assert_ok(htone_tensor_contiguous(transpose_of(copy, 1, 2), &contiguous));
  keep_tensor(contiguous);
  assert_tensors_near(out, attend((Operands){contiguous, contiguous, contiguous}, NULL, NULL), 0);
  int64_t strides[4];
  int32_t ndim = 0;
  assert_ok(htone_tensor_strides(out, strides, 4, &ndim));
  assert_int_equal(strides[0], 9 * 3 * 8);
  assert_int_equal(strides[1], 8);
  assert_int_equal(strides[2], 3 * 8);
  backward(sum_of(apply2(htone_mul, out, out)));
  assert_shape(grad_of(packed), 2, 9, 3, 8);
}

static int64_t peak_of_training(int causal, int64_t queries) {
  const int64_t shape[] = {1, queries, 64};
  htone_attention_options options = HTONE_ATTENTION_OPTIONS_INIT;
  htone_memory_stats before = HTONE_MEMORY_STATS_INIT, after = HTONE_MEMORY_STATS_INIT;
  options.causal = causal;
  const Operands in =
      leaves((Operands){make_noise_of_shape(HTONE_F32, 1, 3, shape), make_noise_of_shape(HTONE_F32, 2, 3, shape),
                        make_noise_of_shape(HTONE_F32, 3, 3, shape)});
  assert_ok(htone_device_reset_peak_memory(test_device()));
  assert_ok(htone_device_memory_stats(test_device(), &before));
  backward(sum_of(attend(in, NULL, &options)));
  assert_ok(htone_device_memory_stats(test_device(), &after));
  return after.peak - before.current;
}

/* One matrix of scores of 4096 queries takes 64 MiB. A MiB holds each of: the result, its gradient, three gradients. */
static void memory_grows_with_the_queries_not_with_their_square(void** state) {
  (void)state;
  const int64_t mebibyte = 1 << 20;
  const int64_t half = peak_of_training(0, 2048), whole = peak_of_training(0, 4096);
  assert_true(whole < 16 * mebibyte);
  assert_true(whole < 2 * half + mebibyte);
  assert_true(peak_of_training(1, 4096) < 16 * mebibyte);
}

static htone_tensor* noise3(htone_dtype dtype, int heads, int rows, int depth) {
  return make_noise(dtype, 1, 3, heads, rows, depth);
}

static void refuses_operands_that_do_not_fit(void** state) {
  (void)state;
  htone_tensor *q = noise3(HTONE_F32, 4, 3, 2), *k = noise3(HTONE_F32, 2, 5, 2), *v = noise3(HTONE_F32, 2, 5, 6);
  assert_refuses(htone_scaled_dot_product_attention(make_ramp(HTONE_F32, 2, 3, 2), k, v, NULL, NULL, &out),
                 SHAPE_MISMATCH, "q [3, 2] has 2 dimensions, expected at least 3");
  assert_refuses(htone_scaled_dot_product_attention(make_ramp(HTONE_F32, 4, 2, 4, 3, 2),
                                                    make_ramp(HTONE_F32, 4, 3, 2, 5, 2), v, NULL, NULL, &out),
                 SHAPE_MISMATCH, "q [2, 4, 3, 2] and k [3, 2, 5, 2] do not broadcast before the last 3 dimensions");
  assert_refuses(
      htone_scaled_dot_product_attention(q, noise3(HTONE_F32, 3, 5, 2), noise3(HTONE_F32, 3, 5, 6), NULL, NULL, &out),
      SHAPE_MISMATCH, "k.shape[0]=3 heads do not divide the 4 heads of q");
  assert_refuses(htone_scaled_dot_product_attention(q, noise3(HTONE_F32, 2, 5, 3), v, NULL, NULL, &out), SHAPE_MISMATCH,
                 "k.shape[2]=3 differs from q.shape[2]=2");
  assert_refuses(htone_scaled_dot_product_attention(q, k, noise3(HTONE_F32, 2, 4, 6), NULL, NULL, &out), SHAPE_MISMATCH,
                 "k [2, 5, 2] and v [2, 4, 6] differ before the last dimension");
  assert_refuses(
      htone_scaled_dot_product_attention(noise3(HTONE_F32, 4, 3, 0), noise3(HTONE_F32, 2, 5, 0), v, NULL, NULL, &out),
      SHAPE_MISMATCH, "q.shape[2]=0, expected at least 1");
  assert_refuses(htone_scaled_dot_product_attention(q, k, cast_of(v, HTONE_BF16), NULL, NULL, &out), DTYPE_MISMATCH,
                 "v");
  assert_refuses(htone_scaled_dot_product_attention(cast_of(q, HTONE_I32), k, v, NULL, NULL, &out), DTYPE_MISMATCH,
                 "q is i32");
}

static void refuses_masks_that_do_not_fit(void** state) {
  (void)state;
  htone_tensor *q = noise3(HTONE_F32, 4, 3, 2), *k = noise3(HTONE_F32, 2, 5, 2);
  assert_refuses(htone_scaled_dot_product_attention(q, k, k, make_ramp(HTONE_BOOL, 2, 3, 4), NULL, &out),
                 SHAPE_MISMATCH, "mask [3, 4] does not broadcast to the scores [4, 3, 5]");
  assert_refuses(htone_scaled_dot_product_attention(q, k, k, make_ramp(HTONE_BOOL, 4, 1, 1, 3, 5), NULL, &out),
                 SHAPE_MISMATCH, "mask [1, 1, 3, 5] does not broadcast");
  assert_refuses(htone_scaled_dot_product_attention(q, k, k, make_ramp(HTONE_I64, 2, 3, 5), NULL, &out), DTYPE_MISMATCH,
                 "mask is i64");
}

static htone_tensor* rotate(htone_tensor* input, htone_tensor* positions, const htone_rotary_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_rotary_embedding(input, positions, options, &out));
  return keep_tensor(out);
}

static void rotary_embedding_keeps_the_order_in_memory_and_lengths(void** state) {
  (void)state;
  htone_tensor* packed = leaf(make_noise(HTONE_F32, 5, 4, 2, 9, 3, 8));
  htone_tensor* out = rotate(transpose_of(packed, 1, 2), NULL, NULL);
  int64_t strides[4];
  int32_t ndim = 0;
  assert_ok(htone_tensor_strides(out, strides, 4, &ndim));
  assert_int_equal(strides[1], 8);
  assert_int_equal(strides[2], 3 * 8);
  backward(sum_of(apply2(htone_mul, out, out)));
  double *gradient = values_of(grad_of(packed)), *x = values_of(packed);
  for (int i = 0; i < 2 * 9 * 3 * 8; ++i) assert_near(gradient[i], 2 * x[i], 1e-5);
  free(gradient);
  free(x);
}

static void rotary_embedding_refuses_what_it_cannot_rotate(void** state) {
  (void)state;
  htone_tensor* x = make_ramp(HTONE_F32, 3, 2, 3, 4);
  assert_refuses(htone_rotary_embedding(make_ramp(HTONE_F32, 2, 2, 3), NULL, NULL, &out), SHAPE_MISMATCH,
                 "input.shape[1]=3, expected an even number");
  assert_refuses(htone_rotary_embedding(make_ramp(HTONE_F32, 1, 4), NULL, NULL, &out), SHAPE_MISMATCH,
                 "input [4] has 1 dimensions");
  assert_refuses(htone_rotary_embedding(x, make_ramp(HTONE_I64, 1, 4), NULL, &out), SHAPE_MISMATCH,
                 "positions [4] does not broadcast to the rows [2, 3]");
  assert_refuses(htone_rotary_embedding(x, make_ramp(HTONE_F32, 1, 3), NULL, &out), DTYPE_MISMATCH,
                 "positions is f32, expected i64 or i32");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(causal_offsets_of_any_size_are_accepted),
      cmocka_unit_test(heads_inside_of_rows_are_read_and_written_there),
      cmocka_unit_test(memory_grows_with_the_queries_not_with_their_square),
      cmocka_unit_test(refuses_operands_that_do_not_fit),
      cmocka_unit_test(refuses_masks_that_do_not_fit),
      cmocka_unit_test(rotary_embedding_keeps_the_order_in_memory_and_lengths),
      cmocka_unit_test(rotary_embedding_refuses_what_it_cannot_rotate),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
