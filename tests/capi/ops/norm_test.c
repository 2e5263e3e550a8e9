/* The normalisation operations: mixed dtypes, empty batches, arguments that do not fit. */

#include "test_tensors.h"

static const int64_t kTwo[] = {2};
static const int64_t kFour[] = {4};

static htone_tensor* layer_norm(htone_tensor* input, htone_tensor* weight, htone_tensor* bias, double epsilon) {
  htone_tensor* out = NULL;
  assert_ok(htone_layer_norm(input, 1, kFour, weight, bias, epsilon, &out));
  return keep_tensor(out);
}

/* The rows 1 1 5 5 and 0 0 0 8: means 3 and 2, deviations 2 and sqrt(12). */
static htone_tensor* make_rows(htone_dtype dtype) {
  return make_tensor(dtype, (const double[]){1, 1, 5, 5, 0, 0, 0, 8}, 2, 2, 4);
}

/* One sample of two channels of four elements; a constant channel gives the bias. */
static void instance_norm_needs_channels(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 4, 1, 2, 2, 2), *weight = make_ramp(HTONE_F32, 1, 3);
  assert_refuses(htone_instance_norm(weight, NULL, NULL, 0, &out), SHAPE_MISMATCH, "input [3] has 1 dimensions");
  assert_refuses(htone_instance_norm(input, weight, NULL, 0, &out), SHAPE_MISMATCH, "weight");
}

static void autocast_answers_fp32_and_gradients_keep_their_inputs_dtypes(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  htone_tensor* narrow = leaf(cast_of(make_noise(HTONE_F32, 3, 2, 3, 4), HTONE_BF16));
  htone_tensor* weight = leaf(make_noise(HTONE_F32, 4, 1, 4));
  htone_tensor* bias = leaf(cast_of(make_noise(HTONE_F32, 5, 1, 4), HTONE_F16));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  htone_tensor* out = layer_norm(narrow, weight, bias, 1e-5);
  assert_ok(htone_scope_end(scope));
  assert_int_equal(dtype_of(out), HTONE_F32);
  backward(sum_of(out));
  assert_int_equal(dtype_of(grad_of(narrow)), HTONE_BF16);
  assert_int_equal(dtype_of(grad_of(weight)), HTONE_F32);
  assert_int_equal(dtype_of(grad_of(bias)), HTONE_F16);
  assert_values(grad_of(bias), 0, 3, 3, 3, 3);
}

static htone_tensor* batch_norm(htone_tensor* input, htone_tensor* mean, htone_tensor* variance, int32_t training) {
  htone_tensor* out = NULL;
  assert_ok(htone_batch_norm(input, mean, variance, NULL, NULL, training, 0.25, 0, &out));
  return keep_tensor(out);
}

static void one_element_a_channel_is_refused_in_training_and_an_empty_batch_changes_nothing(void** state) {
  (void)state;
  htone_tensor *one = make_ramp(HTONE_F32, 2, 1, 2), *mean = make_ramp(HTONE_F32, 1, 2), *none = NULL;
  htone_tensor* variance = make_ramp(HTONE_F32, 1, 2);
  const int64_t empty[] = {0, 2};
  assert_refuses(htone_batch_norm(one, mean, variance, NULL, NULL, 1, 0.1, 1e-5, &out), SHAPE_MISMATCH,
                 "input [1, 2] has one element a channel");
  assert_ok(htone_tensor_create(test_device(), HTONE_F32, 2, empty, &none));
  assert_shape(batch_norm(keep_tensor(none), mean, variance, 1), 0, 2);
  assert_values(mean, 0, 0, 1);
  assert_values(variance, 0, 0, 1);
}

static void batch_norm_tells_which_argument_does_not_fit(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 4, 2), *two = make_ramp(HTONE_F32, 1, 2);
  htone_tensor* half = make_ramp(HTONE_F16, 1, 2);
  assert_refuses(htone_batch_norm(input, NULL, NULL, NULL, NULL, 0, 0.1, 0, &out), INVALID_ARGUMENT,
                 "running_mean is NULL");
  assert_refuses(htone_batch_norm(input, two, NULL, NULL, NULL, 1, 0.1, 0, &out), INVALID_ARGUMENT,
                 "running_var is NULL");
  assert_refuses(htone_batch_norm(input, two, make_ramp(HTONE_F32, 1, 3), NULL, NULL, 1, 0.1, 0, &out), SHAPE_MISMATCH,
                 "running_var [3] differs from [2]");
  assert_refuses(htone_batch_norm(input, half, two, NULL, NULL, 1, 0.1, 0, &out), DTYPE_MISMATCH,
                 "running_mean is f16, expected f32 or f64");
  assert_refuses(htone_batch_norm(input, two, apply2(htone_mul, leaf(two), two), NULL, NULL, 1, 0.1, 0, &out), STATE,
                 "running_var");
  assert_values(two, 0, 0, 1);
}

static void arguments_that_do_not_fit_are_told(void** state) {
  (void)state;
  htone_tensor *rows = make_rows(HTONE_F32), *three = make_ramp(HTONE_F32, 1, 3);
  htone_tensor* integers = make_ramp(HTONE_I32, 2, 2, 4);
  const int64_t too_many[] = {1, 2, 4};
  assert_refuses(htone_layer_norm(rows, 1, kTwo, NULL, NULL, 0, &out), SHAPE_MISMATCH,
                 "normalized_shape [2] is not the end of input [2, 4]");
  assert_refuses(htone_rms_norm(rows, 3, too_many, NULL, 0, &out), SHAPE_MISMATCH, "normalized_shape [1, 2, 4]");
  assert_refuses(htone_layer_norm(rows, 1, kFour, three, NULL, 0, &out), SHAPE_MISMATCH, "weight [3] differs from [4]");
  assert_refuses(htone_layer_norm(rows, 1, kFour, NULL, three, 0, &out), SHAPE_MISMATCH, "bias [3]");
  assert_refuses(htone_layer_norm(integers, 1, kFour, NULL, NULL, 0, &out), DTYPE_MISMATCH, "input is i32");
  assert_refuses(htone_layer_norm(rows, 1, kFour, make_ramp(HTONE_I64, 1, 4), NULL, 0, &out), DTYPE_MISMATCH,
                 "weight is i64");
  assert_refuses(htone_group_norm(rows, 3, NULL, NULL, 0, &out), SHAPE_MISMATCH,
                 "groups=3 does not divide input.shape[1]=4");
  assert_refuses(htone_group_norm(three, 1, NULL, NULL, 0, &out), SHAPE_MISMATCH, "input [3] has 1 dimensions");
  htone_tensor* elsewhere = NULL;
  assert_ok(htone_tensor_create_full(make_device(make_context(1, 1)), HTONE_F32, 1, kFour, 1, &elsewhere));
  assert_refuses(htone_layer_norm(rows, 1, kFour, keep_tensor(elsewhere), NULL, 0, &out), DEVICE, "weight");
}

static void a_sum_that_is_normalised_needs_equal_shapes(void** state) {
  (void)state;
  htone_tensor *sum = NULL, *norm = NULL;
  assert_fails(htone_add_layer_norm(make_rows(HTONE_F32), make_noise(HTONE_F32, 1, 1, 4), 1, kFour, NULL, NULL, 1e-5,
                                    &sum, &norm),
               HTONE_ERROR_SHAPE_MISMATCH, "residual");
  assert_fails(htone_add_rms_norm(make_rows(HTONE_F32), make_rows(HTONE_I32), 1, kFour, NULL, 1e-5, &sum, &norm),
               HTONE_ERROR_DTYPE_MISMATCH, "residual");
  assert_null(sum);
}

/* Only one of the results is used. */
static void either_result_of_a_normalised_sum_leads_back_alone(void** state) {
  (void)state;
  for (int use_sum = 0; use_sum < 2; ++use_sum) {
    htone_tensor *input = leaf(make_rows(HTONE_F64)), *residual = leaf(make_rows(HTONE_F64)), *sum = NULL, *norm = NULL;
    assert_ok(htone_add_layer_norm(input, residual, 1, kFour, NULL, NULL, 1e-5, &sum, &norm));
    keep_tensor(sum);
    keep_tensor(norm);
    backward(sum_of(use_sum ? sum : norm));
    /* The rows' norms always add up to 0. */
    for (int i = 0; i < 2; ++i) {
      const double expected = use_sum ? 1 : 0;
      assert_values(grad_of(i == 0 ? input : residual), 1e-12, expected, expected, expected, expected, expected,
                    expected, expected, expected);
    }
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sum_that_is_normalised_needs_equal_shapes),
      cmocka_unit_test(either_result_of_a_normalised_sum_leads_back_alone),
      cmocka_unit_test(instance_norm_needs_channels),
      cmocka_unit_test(autocast_answers_fp32_and_gradients_keep_their_inputs_dtypes),
      cmocka_unit_test(one_element_a_channel_is_refused_in_training_and_an_empty_batch_changes_nothing),
      cmocka_unit_test(batch_norm_tells_which_argument_does_not_fit),
      cmocka_unit_test(arguments_that_do_not_fit_are_told),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
