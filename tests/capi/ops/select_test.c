/* Sort, argsort, topk, multinomial and nonzero: one value each, gradients through the values, refusals. */
#include <math.h>
#include <stdlib.h>

#include "test_modules.h"

#define vector_of(dtype, ...) \
  make_tensor((dtype), (const double[]){__VA_ARGS__}, 1, (int)COUNT_OF(((const double[]){__VA_ARGS__})))

typedef struct Chosen {
  htone_tensor* values;
  htone_tensor* indices;
} Chosen;

static Chosen sort_of(htone_tensor* input, int64_t dim, int32_t descending) {
  Chosen out = {NULL, NULL};
  assert_ok(htone_sort(input, dim, descending, &out.values, &out.indices));
  keep_tensor(out.values);
  keep_tensor(out.indices);
  return out;
}

static Chosen topk_of(htone_tensor* input, int64_t k, int64_t dim, int32_t largest, int32_t sorted) {
  Chosen out = {NULL, NULL};
  assert_ok(htone_topk(input, k, dim, largest, sorted, &out.values, &out.indices));
  keep_tensor(out.values);
  keep_tensor(out.indices);
  return out;
}

static htone_tensor* argsort_of(htone_tensor* input, int64_t dim, int32_t descending) {
  htone_tensor* out = NULL;
  assert_ok(htone_argsort(input, dim, descending, &out));
  return keep_tensor(out);
}

static htone_tensor* draws_of(htone_tensor* probabilities, int64_t num_samples, int32_t replacement) {
  htone_tensor* out = NULL;
  assert_ok(htone_multinomial(probabilities, num_samples, replacement, &out));
  return keep_tensor(out);
}

static void sort_goes_along_a_dimension(void** state) {
  (void)state;
  htone_tensor* input = make_tensor(HTONE_F32, (const double[]){3, 1, 2, 0, 5, 4}, 2, 2, 3);
  const Chosen columns = sort_of(input, 0, 1);
  assert_values(columns.values, 0, 3, 5, 4, 0, 1, 2);
  assert_values(columns.indices, 0, 0, 1, 1, 1, 0, 0);
  assert_int_equal(dtype_of(columns.indices), HTONE_I64);
  assert_values(argsort_of(input, -1, 0), 0, 1, 2, 0, 0, 2, 1);
}

static void topk_keeps_the_order_of_the_indices_if_it_does_not_sort(void** state) {
  (void)state;
  htone_tensor* input = vector_of(HTONE_I32, 4, 9, 1, 7, 8);
  assert_values(topk_of(input, 3, 0, 1, 1).values, 0, 9, 8, 7);
  assert_values(topk_of(input, 3, 0, 1, 0).values, 0, 9, 7, 8);
  assert_values(topk_of(input, 3, 0, 1, 0).indices, 0, 1, 3, 4);
  assert_shape(topk_of(input, 0, 0, 1, 1).values, 0);
}

static void gradients_go_to_the_elements_that_were_chosen(void** state) {
  (void)state;
  htone_tensor* input = leaf(make_tensor(HTONE_F32, (const double[]){3, 1, 2, 0, 5, 4}, 2, 2, 3));
  htone_tensor* weights = make_tensor(HTONE_F32, (const double[]){1, 2, 3, 4, 5, 6}, 2, 2, 3);
  backward(sum_of(apply2(htone_mul, sort_of(input, 1, 0).values, weights)));
  assert_values(grad_of(input), 0, 3, 1, 2, 4, 6, 5);
  assert_ok(htone_tensor_zero_grad(input));
  backward(sum_of(apply2(htone_mul, topk_of(input, 2, 1, 1, 1).values, slice_of(weights, 1, 0, 2, 1))));
  assert_values(grad_of(input), 0, 1, 0, 2, 0, 4, 5);
  assert_int_equal(requires_grad(sort_of(input, 1, 0).indices), 0);
  assert_int_equal(requires_grad(argsort_of(input, 1, 0)), 0);
}

static void refuses_what_has_no_order(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 2, 3);
  htone_tensor *values = NULL, *indices = NULL;
  assert_fails(htone_topk(input, 4, 1, 1, 1, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "k=4 is outside [0, 3], the elements along dim 1 of input [2, 3]");
  assert_fails(htone_topk(input, -1, 1, 1, 1, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT,
               "k=-1 is outside [0, 3]");
  assert_fails(htone_sort(input, 2, 0, &values, &indices), HTONE_ERROR_INVALID_ARGUMENT, "dim=2");
  assert_fails(htone_argsort(cast_of(input, HTONE_F8E4M3), 0, 0, &values), HTONE_ERROR_DTYPE_MISMATCH, "f8e4m3");
  assert_null(values);
  assert_null(indices);
}

static void draws_follow_the_seed_alone(void** state) {
  (void)state;
  enum { kDraws = 4 };
  double* first = NULL;
  for (int32_t threads = 1; threads <= 3; threads += 2) {
    htone_context_options options;
    htone_context* context = NULL;
    htone_device* device = NULL;
    htone_tensor *weights = NULL, *out = NULL;
    const int64_t shape[] = {50, 2000};
    assert_ok(htone_context_options_init(&options));
    options.num_threads = threads;
    options.seed = 11;
    assert_ok(htone_context_create(&options, &context));
    assert_ok(htone_device_create(context, "cpu", &device));
    assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &weights));
    assert_ok(htone_multinomial(weights, kDraws, 0, &out));
    double* values = values_of(out);
    if (first == NULL) {
      first = values;
    } else {
      assert_memory_equal(values, first, 50 * kDraws * sizeof *values);
      free(values);
    }
    assert_ok(htone_tensor_release(out));
    assert_ok(htone_tensor_release(weights));
    assert_ok(htone_device_release(device));
    assert_ok(htone_context_release(context));
  }
  free(first);
}

static void draws_need_no_sum_of_one_and_avoid_zeros(void** state) {
  (void)state;
  htone_tensor* draws = draws_of(make_tensor(HTONE_F16, (const double[]){0, 7, 0, 3, 0, 0}, 2, 2, 3), 4, 1);
  assert_values(draws, 0, 1, 1, 1, 1, 0, 0, 0, 0);
  assert_int_equal(dtype_of(draws), HTONE_I64);
  assert_int_equal(requires_grad(draws_of(leaf(vector_of(HTONE_F32, 1, 1)), 1, 1)), 0);
}

static void refuses_probabilities_that_allow_no_draw(void** state) {
  (void)state;
  htone_tensor* out = NULL;
  assert_fails(htone_multinomial(vector_of(HTONE_F32, 1, -1), 1, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "probabilities has -1 at 1 of row 0");
  assert_fails(htone_multinomial(vector_of(HTONE_F32, 1, 0), 2, 0, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "probabilities has 1 above 0 in row 0, expected at least 2");
  assert_fails(htone_multinomial(vector_of(HTONE_F32, 1, 1), 3, 0, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "num_samples=3, expected at most 2");
  assert_fails(htone_multinomial(vector_of(HTONE_F32, 1, 1), 0, 1, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "num_samples=0");
  assert_fails(htone_multinomial(make_ramp(HTONE_F32, 3, 2, 2, 2), 1, 1, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "expected 1 or 2");
  assert_fails(htone_multinomial(make_ramp(HTONE_F32, 2, 2, 0), 1, 1, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "has no categories");
  assert_fails(htone_multinomial(vector_of(HTONE_I32, 1, 1), 1, 1, &out), HTONE_ERROR_DTYPE_MISMATCH, "i32");
  assert_null(out);
}

static void nonzero_returns_places_in_row_major_order(void** state) {
  (void)state;
  htone_tensor* places =
      apply1(htone_nonzero, make_tensor(HTONE_F32, (const double[]){0, NAN, 0, -2, 0, 1e-40}, 2, 2, 3));
  assert_shape(places, 3, 2);
  assert_values(places, 0, 0, 1, 1, 0, 1, 2);
}

/* A repeated element makes a line longer than any memory: scratch for it is refused, not computed modulo 2^64. */
static void lines_beyond_memory_are_refused(void** state) {
  (void)state;
  const int64_t shape[] = {INT64_C(1) << 59};
  htone_tensor *line = NULL, *values = NULL, *indices = NULL;
  assert_ok(htone_broadcast_to(make_scalar(HTONE_F32, 1), 1, shape, &line));
  keep_tensor(line);
  assert_fails(htone_topk(line, 1, 0, 1, 1, &values, &indices), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_fails(htone_multinomial(line, 1, 1, &values), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_fails(htone_argsort(line, 0, 0, &values), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_null(values);
  assert_null(indices);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sort_goes_along_a_dimension),
      cmocka_unit_test(topk_keeps_the_order_of_the_indices_if_it_does_not_sort),
      cmocka_unit_test(gradients_go_to_the_elements_that_were_chosen),
      cmocka_unit_test(refuses_what_has_no_order),
      cmocka_unit_test(draws_follow_the_seed_alone),
      cmocka_unit_test(draws_need_no_sum_of_one_and_avoid_zeros),
      cmocka_unit_test(refuses_probabilities_that_allow_no_draw),
      cmocka_unit_test(nonzero_returns_places_in_row_major_order),
      cmocka_unit_test(lines_beyond_memory_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
