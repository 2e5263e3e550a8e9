/* Losses: dtypes, ignored rows, options, refusals. */
#include "halftone/loss.h"

#include <math.h>

#include "test_tensors.h"

typedef htone_status (*LossFn)(htone_tensor*, htone_tensor*, htone_reduction, htone_tensor**);

static htone_status smooth_l1(htone_tensor* input, htone_tensor* target, htone_reduction reduction,
                              htone_tensor** out) {
  return htone_smooth_l1_loss(input, target, 1, reduction, out);
}
static htone_status kl_div(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return htone_kl_div(input, target, 0, reduction, out);
}
static htone_status bce(htone_tensor* input, htone_tensor* target, htone_reduction reduction, htone_tensor** out) {
  return htone_bce_with_logits(input, target, NULL, reduction, out);
}
static const LossFn kElementLosses[] = {htone_mse_loss, htone_l1_loss, smooth_l1, kl_div, bce};

static htone_tensor* loss(LossFn function, htone_tensor* input, htone_tensor* target, htone_reduction reduction) {
  htone_tensor* out = NULL;
  assert_ok(function(input, target, reduction, &out));
  return keep_tensor(out);
}

static htone_tensor* row(htone_dtype dtype, double a, double b, double c) {
  return make_tensor(dtype, (const double[]){a, b, c}, 1, 3);
}

static htone_cross_entropy_options options_of(htone_reduction reduction, double smoothing) {
  htone_cross_entropy_options options;
  assert_ok(htone_cross_entropy_options_init(&options));
  options.reduction = reduction;
  options.label_smoothing = smoothing;
  return options;
}

static htone_tensor* cross_entropy(htone_tensor* logits, htone_tensor* targets,
                                   const htone_cross_entropy_options* options) {
  htone_tensor* out = NULL;
  assert_ok(htone_cross_entropy(logits, targets, options, &out));
  return keep_tensor(out);
}

static htone_tensor* mean_cross_entropy(htone_tensor* logits, htone_tensor* targets) {
  htone_tensor* out = NULL;
  assert_ok(htone_cross_entropy(logits, targets, NULL, &out));
  return keep_tensor(out);
}

static void losses_of_elements_have_the_promoted_dtype_and_reduced_ones_are_f32(void** state) {
  (void)state;
  htone_autocast_policy* policy = NULL;
  htone_scope* scope = NULL;
  htone_tensor *low = leaf(row(HTONE_BF16, 1, 2, 3)), *wide = row(HTONE_F32, 0, 0, 1);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){1}, 1, 1);
  htone_tensor* logits = make_ramp(HTONE_F16, 2, 1, 3);
  for (size_t i = 0; i < COUNT_OF(kElementLosses); ++i) {
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, low, HTONE_REDUCTION_NONE)), HTONE_BF16);
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, wide, HTONE_REDUCTION_NONE)), HTONE_F32);
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, low, HTONE_REDUCTION_MEAN)), HTONE_F32);
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, low, HTONE_REDUCTION_SUM)), HTONE_F32);
  }
  assert_int_equal(dtype_of(mean_cross_entropy(logits, targets)), HTONE_F32);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  for (size_t i = 0; i < COUNT_OF(kElementLosses); ++i) {
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, low, HTONE_REDUCTION_NONE)), HTONE_F32);
  }
  assert_int_equal(dtype_of(mean_cross_entropy(logits, targets)), HTONE_F32);
  assert_ok(htone_scope_end(scope));
  backward(loss(htone_mse_loss, low, wide, HTONE_REDUCTION_SUM));
  assert_int_equal(dtype_of(grad_of(low)), HTONE_BF16);
  assert_values(grad_of(low), 0, 2, 4, 4);
}

static void no_options_are_the_defaults_of_cross_entropy(void** state) {
  (void)state;
  htone_tensor* logits = make_noise(HTONE_F32, 3, 2, 5, 4);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3, -100, 1, 1}, 1, 5);
  const htone_cross_entropy_options options = options_of(HTONE_REDUCTION_MEAN, 0);
  assert_near(item_of(cross_entropy(logits, targets, &options)), item_of(mean_cross_entropy(logits, targets)), 0);
}

/* A23 */
static void ignored_rows_neither_count_nor_get_a_gradient(void** state) {
  (void)state;
  const double values[] = {0, 0, NAN, INFINITY, 0, log(3)};
  htone_tensor* logits = leaf(make_tensor(HTONE_F32, values, 2, 3, 2));
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, -100, 1}, 1, 3);
  htone_tensor* mean = mean_cross_entropy(logits, targets);
  assert_values(mean, 1e-6, (log(2) + log(4.0 / 3)) / 2);
  backward(mean);
  assert_values(grad_of(logits), 1e-6, -0.25, 0.25, 0, 0, 0.125, -0.125);
  htone_cross_entropy_options options = options_of(HTONE_REDUCTION_NONE, 0);
  assert_values(cross_entropy(logits, targets, &options), 1e-6, log(2), 0, log(4.0 / 3));
  options.ignore_index = 1;
  targets = make_tensor(HTONE_I64, (const double[]){0, 1, 1}, 1, 3);
  assert_values(cross_entropy(logits, targets, &options), 1e-6, log(2), 0, 0);
}

/* N10 */
static void a_mean_over_ignored_rows_alone_is_nan(void** state) {
  (void)state;
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){-100, -100}, 1, 2);
  htone_tensor *logits = leaf(make_ramp(HTONE_F32, 2, 2, 3)), *out = NULL;
  assert_values(mean_cross_entropy(logits, targets), 0, NAN);
  assert_ok(htone_nll_loss(logits, targets, NULL, -100, HTONE_REDUCTION_MEAN, &out));
  assert_values(keep_tensor(out), 0, NAN);
  const htone_cross_entropy_options sum = options_of(HTONE_REDUCTION_SUM, 0);
  assert_values(cross_entropy(logits, targets, &sum), 0, 0);
  backward(mean_cross_entropy(logits, targets));
  assert_values(grad_of(logits), 0, 0, 0, 0, 0, 0, 0);
}

static void probabilities_have_no_index_to_ignore(void** state) {
  (void)state;
  htone_tensor* logits = make_ramp(HTONE_F32, 3, 2, 3, 2);
  htone_cross_entropy_options options = options_of(HTONE_REDUCTION_MEAN, 0);
  options.ignore_index = 0;
  assert_refuses(htone_cross_entropy(logits, logits, &options, &out), INVALID_ARGUMENT,
                 "options.ignore_index=0, expected a negative number");
  assert_refuses(htone_cross_entropy(logits, make_ramp(HTONE_F32, 2, 2, 2), NULL, &out), SHAPE_MISMATCH,
                 "targets [2, 2], probabilities of classes, differs from logits [2, 3, 2]");
  assert_refuses(htone_cross_entropy(logits, make_ramp(HTONE_I64, 2, 2, 3), NULL, &out), SHAPE_MISMATCH,
                 "targets [2, 3] does not fit logits [2, 3, 2]: expected [2, 2]");
  assert_refuses(htone_cross_entropy(make_scalar(HTONE_F32, 1), make_scalar(HTONE_I64, 0), NULL, &out), SHAPE_MISMATCH,
                 "logits is a scalar");
  assert_refuses(htone_cross_entropy(logits, cast_of(logits, HTONE_F8E4M3), NULL, &out), DTYPE_MISMATCH, "targets");
  assert_values(mean_cross_entropy(make_ramp(HTONE_F32, 2, 0, 3), make_ramp(HTONE_F32, 2, 0, 3)), 0, NAN);
}

static void operands_that_do_not_fit_are_refused(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 2, 3), *flat = make_ramp(HTONE_F32, 1, 3);
  for (size_t i = 0; i < 3; ++i) {
    const htone_reduction mean = HTONE_REDUCTION_MEAN;
    assert_refuses(kElementLosses[i](input, flat, mean, &out), SHAPE_MISMATCH, "target");
    assert_refuses(kElementLosses[i](input, make_ramp(HTONE_I64, 2, 2, 3), mean, &out), DTYPE_MISMATCH, "target");
    assert_refuses(kElementLosses[i](make_ramp(HTONE_I32, 2, 2, 3), input, mean, &out), DTYPE_MISMATCH, "input");
  }
  assert_refuses(bce(input, flat, HTONE_REDUCTION_MEAN, &out), SHAPE_MISMATCH, "targets");
  assert_refuses(htone_bce_with_logits(input, input, make_ramp(HTONE_F32, 1, 2), HTONE_REDUCTION_MEAN, &out),
                 SHAPE_MISMATCH, "pos_weight");
  assert_refuses(htone_bce_with_logits(flat, flat, make_ramp(HTONE_F32, 2, 1, 3), HTONE_REDUCTION_MEAN, &out),
                 SHAPE_MISMATCH, "pos_weight");
  htone_tensor* scalar = make_scalar(HTONE_F32, 1);
  assert_refuses(kl_div(scalar, scalar, HTONE_REDUCTION_BATCH_MEAN, &out), SHAPE_MISMATCH, "input");
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3}, 1, 2);
  assert_refuses(htone_cross_entropy(input, targets, NULL, &out), INVALID_ARGUMENT, "targets");
  assert_refuses(htone_nll_loss(input, targets, NULL, -1, HTONE_REDUCTION_MEAN, &out), INVALID_ARGUMENT, "targets");
  assert_refuses(htone_nll_loss(flat, targets, NULL, -100, HTONE_REDUCTION_MEAN, &out), SHAPE_MISMATCH,
                 "log_probabilities");
}

static int32_t last_argument_index(void) {
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_ok(htone_error_last(&info));
  return info.argument_index;
}

/* A1 */
static void weights_in_the_options_are_checked_like_an_argument(void** state) {
  (void)state;
  htone_tensor *input = make_ramp(HTONE_F32, 2, 2, 3), *released = NULL;
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 2}, 1, 2);
  htone_cross_entropy_options options = HTONE_CROSS_ENTROPY_OPTIONS_INIT;
  options.weight = make_ramp(HTONE_F32, 1, 2);
  assert_refuses(htone_cross_entropy(input, targets, &options, &out), SHAPE_MISMATCH,
                 "options.weight [2] does not fit logits [2, 3]");
  assert_int_equal(last_argument_index(), 2);
  options.weight = make_ramp(HTONE_I64, 1, 3);
  assert_refuses(htone_cross_entropy(input, targets, &options, &out), DTYPE_MISMATCH, "options.weight is i64");
  assert_ok(htone_tensor_clone(input, &released));
  assert_ok(htone_tensor_release(released));
  options.weight = released;
  assert_refuses(htone_cross_entropy(input, targets, &options, &out), INVALID_HANDLE,
                 "options.weight is no live handle, expected a tensor");
  assert_int_equal(last_argument_index(), 2);
  options.weight = (htone_tensor*)test_device();
  assert_refuses(htone_cross_entropy(input, targets, &options, &out), INVALID_HANDLE,
                 "options.weight is a device, expected a tensor");
}

static void a_weight_that_gets_no_gradient_must_not_ask_for_one(void** state) {
  (void)state;
  htone_tensor *out = NULL, *logits = make_ramp(HTONE_F32, 2, 2, 3), *weight = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 1}, 1, 2);
  htone_cross_entropy_options options = HTONE_CROSS_ENTROPY_OPTIONS_INIT;
  options.weight = weight;
  assert_fails(htone_cross_entropy(logits, targets, &options, &out), HTONE_ERROR_UNSUPPORTED,
               "options.weight requires a gradient, but gets none here");
  assert_fails(htone_linear_cross_entropy(logits, make_ramp(HTONE_F32, 2, 3, 3), NULL, targets, &options, &out),
               HTONE_ERROR_UNSUPPORTED, "options.weight requires a gradient");
  assert_fails(htone_nll_loss(logits, targets, weight, -100, HTONE_REDUCTION_MEAN, &out), HTONE_ERROR_UNSUPPORTED,
               "weight requires a gradient");
  assert_fails(htone_bce_with_logits(logits, logits, weight, HTONE_REDUCTION_MEAN, &out), HTONE_ERROR_UNSUPPORTED,
               "pos_weight requires a gradient");
  htone_scope* scope = NULL;
  assert_ok(htone_no_grad_begin(&scope));
  assert_ok(htone_cross_entropy(logits, targets, &options, &out));
  keep_tensor(out);
  assert_ok(htone_scope_end(scope));
}

/* A23: the caller rewrites its own target buffer between forward and backward without telling the library. */
static void targets_that_left_the_classes_are_refused_by_backward(void** state) {
  (void)state;
  const int64_t shape[] = {2};
  htone_tensor* weight = make_tensor(HTONE_F32, (const double[]){1, 2, 3}, 1, 3);
  for (int is_nll = 0; is_nll < 2; ++is_nll) {
    int64_t classes[] = {2, 0};
    htone_tensor *targets = NULL, *loss = NULL, *input = make_ramp(HTONE_F32, 2, 2, 3);
    assert_ok(htone_tensor_from_buffer(test_device(), HTONE_I64, 1, shape, classes, NULL, NULL, &targets));
    keep_tensor(targets);
    assert_ok(htone_tensor_set_requires_grad(input, 1));
    htone_cross_entropy_options options;
    assert_ok(htone_cross_entropy_options_init(&options));
    options.weight = weight;
    assert_ok(is_nll ? htone_nll_loss(input, targets, weight, -100, HTONE_REDUCTION_MEAN, &loss)
                     : htone_cross_entropy(input, targets, &options, &loss));
    keep_tensor(loss);
    classes[1] = 3;
    assert_fails(htone_tensor_backward(loss, NULL, 1), HTONE_ERROR_INVALID_ARGUMENT, "targets[1]=3 is outside [0, 3)");
    assert_refuses(htone_tensor_grad(input, &out), STATE, "invalid");
    classes[1] = -100; /* an ignored row is still a valid target */
    assert_ok(htone_tensor_zero_grad(input));
    assert_ok(htone_tensor_backward(loss, NULL, 0));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_of_elements_have_the_promoted_dtype_and_reduced_ones_are_f32),
      cmocka_unit_test(no_options_are_the_defaults_of_cross_entropy),
      cmocka_unit_test(ignored_rows_neither_count_nor_get_a_gradient),
      cmocka_unit_test(a_mean_over_ignored_rows_alone_is_nan),
      cmocka_unit_test(probabilities_have_no_index_to_ignore),
      cmocka_unit_test(operands_that_do_not_fit_are_refused),
      cmocka_unit_test(a_weight_that_gets_no_gradient_must_not_ask_for_one),
      cmocka_unit_test(weights_in_the_options_are_checked_like_an_argument),
      cmocka_unit_test(targets_that_left_the_classes_are_refused_by_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
