/* Losses: values computed by hand, reductions, dtypes, ignored rows, refusals. */
#include "halftone/loss.h"

#include <math.h>
#include <stdlib.h>

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

static htone_tensor* cross_entropy(htone_tensor* logits, htone_tensor* targets, htone_tensor* weight,
                                   const htone_cross_entropy_options* options) {
  htone_cross_entropy_options weighted = HTONE_CROSS_ENTROPY_OPTIONS_INIT;
  htone_tensor* out = NULL;
  if (options != NULL) weighted = *options;
  weighted.weight = weight;
  assert_ok(htone_cross_entropy(logits, targets, &weighted, &out));
  return keep_tensor(out);
}

static htone_tensor* mean_cross_entropy(htone_tensor* logits, htone_tensor* targets) {
  htone_tensor* out = NULL;
  assert_ok(htone_cross_entropy(logits, targets, NULL, &out));
  return keep_tensor(out);
}

static void losses_of_elements_have_the_values_of_their_formulas(void** state) {
  (void)state;
  htone_tensor *input = row(HTONE_F32, 1, 2, -3), *target = row(HTONE_F32, 1, 0.5, 0);
  const htone_reduction none = HTONE_REDUCTION_NONE;
  assert_values(loss(htone_mse_loss, input, target, none), 0, 0, 2.25, 9);
  assert_values(loss(htone_l1_loss, input, target, none), 0, 0, 1.5, 3);
  assert_values(loss(smooth_l1, input, target, none), 0, 0, 1, 2.5);
  assert_values(loss(kl_div, input, target, none), 1e-6, -1, 0.5 * log(0.5) - 1, 0);
  assert_values(loss(bce, input, target, none), 1e-6, log(1 + exp(-1)), log(1 + exp(-2)) + 1, log(1 + exp(-3)));
  htone_tensor* out = NULL;
  assert_ok(htone_kl_div(input, target, 1, none, &out));
  assert_values(keep_tensor(out), 1e-5, 0, exp(0.5) * -1.5, 3);
  assert_ok(htone_bce_with_logits(input, target, make_scalar(HTONE_F32, 3), none, &out));
  assert_values(keep_tensor(out), 1e-6, 3 * log(1 + exp(-1)), 2 * log(1 + exp(-2)) + 1, log(1 + exp(-3)));
}

static void losses_are_averaged_summed_or_left_as_they_are(void** state) {
  (void)state;
  htone_tensor *input = row(HTONE_F32, 1, 2, -3), *target = row(HTONE_F32, 1, 0.5, 0);
  assert_scalar(loss(htone_mse_loss, input, target, HTONE_REDUCTION_MEAN));
  assert_values(loss(htone_mse_loss, input, target, HTONE_REDUCTION_MEAN), 1e-6, 3.75);
  assert_values(loss(htone_mse_loss, input, target, HTONE_REDUCTION_SUM), 0, 11.25);
  htone_tensor* two = make_tensor(HTONE_F32, (const double[]){-1, -2, -3, -4}, 2, 2, 2);
  htone_tensor* even = make_tensor(HTONE_F32, (const double[]){1, 1, 1, 1}, 2, 2, 2);
  assert_values(loss(kl_div, two, even, HTONE_REDUCTION_BATCH_MEAN), 0, 5);
  assert_values(loss(kl_div, two, even, HTONE_REDUCTION_MEAN), 0, 2.5);
}

/* A9 */
static void a_loss_of_nothing_is_nan_on_average_and_zero_in_sum(void** state) {
  (void)state;
  htone_tensor* empty = make_ramp(HTONE_F32, 2, 0, 3);
  for (size_t i = 0; i < COUNT_OF(kElementLosses); ++i) {
    assert_values(loss(kElementLosses[i], empty, empty, HTONE_REDUCTION_MEAN), 0, NAN);
    assert_values(loss(kElementLosses[i], empty, empty, HTONE_REDUCTION_SUM), 0, 0);
    assert_shape(loss(kElementLosses[i], empty, empty, HTONE_REDUCTION_NONE), 0, 3);
  }
  assert_values(loss(kl_div, empty, empty, HTONE_REDUCTION_BATCH_MEAN), 0, NAN);
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
  assert_int_equal(dtype_of(cross_entropy(logits, targets, NULL, NULL)), HTONE_F32);
  assert_ok(htone_autocast_policy_create(HTONE_BF16, &policy));
  assert_ok(htone_autocast_begin(keep_policy(policy), &scope));
  for (size_t i = 0; i < COUNT_OF(kElementLosses); ++i) {
    assert_int_equal(dtype_of(loss(kElementLosses[i], low, low, HTONE_REDUCTION_NONE)), HTONE_F32);
  }
  assert_int_equal(dtype_of(cross_entropy(logits, targets, NULL, NULL)), HTONE_F32);
  assert_ok(htone_scope_end(scope));
  backward(loss(htone_mse_loss, low, wide, HTONE_REDUCTION_SUM));
  assert_int_equal(dtype_of(grad_of(low)), HTONE_BF16);
  assert_values(grad_of(low), 0, 2, 4, 4);
}

static void no_options_are_the_defaults_of_cross_entropy(void** state) {
  (void)state;
  htone_tensor *plain = leaf(make_noise(HTONE_F32, 3, 2, 5, 4)), *full = leaf(make_noise(HTONE_F32, 3, 2, 5, 4));
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3, -100, 1, 1}, 1, 5);
  htone_tensor* expected = mean_cross_entropy(plain, targets);
  htone_tensor* actual = cross_entropy(full, targets, NULL, NULL);
  assert_near(item_of(actual), item_of(expected), 0);
  backward(expected);
  backward(actual);
  double *a = values_of(grad_of(full)), *b = values_of(grad_of(plain));
  for (int i = 0; i < 20; ++i) assert_near(a[i], b[i], 0);
  free(a);
  free(b);
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
  assert_values(cross_entropy(logits, targets, NULL, &options), 1e-6, log(2), 0, log(4.0 / 3));
  options.ignore_index = 1;
  targets = make_tensor(HTONE_I64, (const double[]){0, 1, 1}, 1, 3);
  assert_values(cross_entropy(logits, targets, NULL, &options), 1e-6, log(2), 0, 0);
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
  assert_values(cross_entropy(logits, targets, NULL, &sum), 0, 0);
  backward(mean_cross_entropy(logits, targets));
  assert_values(grad_of(logits), 0, 0, 0, 0, 0, 0, 0);
}

/* -log(softmax) of (0, log 3) is log 4 and log 4/3. */
static void weights_and_smoothing_enter_as_documented(void** state) {
  (void)state;
  htone_tensor* logits = make_tensor(HTONE_F32, (const double[]){0, log(3), 0, log(3)}, 2, 2, 2);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 1}, 1, 2);
  htone_tensor* weight = make_tensor(HTONE_F32, (const double[]){1, 3}, 1, 2);
  const double first = log(4), second = log(4.0 / 3);
  assert_values(cross_entropy(logits, targets, weight, NULL), 1e-6, (first + 3 * second) / 4);
  const htone_cross_entropy_options smooth = options_of(HTONE_REDUCTION_NONE, 0.5);
  assert_values(cross_entropy(logits, targets, NULL, &smooth), 1e-6, 0.75 * first + 0.25 * second,
                0.25 * first + 0.75 * second);
  assert_values(cross_entropy(logits, targets, weight, &smooth), 1e-6, 0.75 * first + 0.75 * second,
                0.25 * first + 2.25 * second);
}

static void negative_log_likelihood_of_log_softmax_is_cross_entropy(void** state) {
  (void)state;
  htone_tensor *logits = make_noise(HTONE_F32, 5, 2, 6, 4), *logs = NULL, *out = NULL;
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3, 2, -100, 1, 1}, 1, 6);
  htone_tensor* weight = make_tensor(HTONE_BF16, (const double[]){1, 2, 0.5, 4}, 1, 4);
  assert_ok(htone_log_softmax(logits, 1, &logs));
  assert_ok(htone_nll_loss(keep_tensor(logs), targets, weight, -100, HTONE_REDUCTION_MEAN, &out));
  assert_near(item_of(keep_tensor(out)), item_of(cross_entropy(logits, targets, weight, NULL)), 1e-6);
}

/* Classes in the middle: the losses of [n, c, l] are those of its n * l rows. */
static void dimensions_may_follow_the_classes(void** state) {
  (void)state;
  htone_tensor* logits = make_noise(HTONE_F32, 5, 3, 2, 4, 3);
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3, 2, -100, 1, 1}, 2, 2, 3);
  htone_tensor *rows = NULL, *flat = NULL;
  const int64_t row_shape[] = {6, 4}, flat_shape[] = {6};
  assert_ok(htone_reshape(transpose_of(logits, 1, 2), 2, row_shape, &rows));
  htone_tensor* same_logits = leaf(cast_of(rows, HTONE_F64));
  assert_ok(htone_tensor_release(rows));
  leaf(logits);
  assert_ok(htone_reshape(targets, 1, flat_shape, &flat));
  keep_tensor(flat);
  for (int reduction = HTONE_REDUCTION_MEAN; reduction <= HTONE_REDUCTION_NONE; ++reduction) {
    const htone_cross_entropy_options options = options_of(reduction, 0.25);
    htone_tensor* loss = cross_entropy(logits, targets, NULL, &options);
    if (reduction == HTONE_REDUCTION_NONE) assert_shape(loss, 2, 3);
    double* expected = values_of(cross_entropy(same_logits, flat, NULL, &options));
    check_values(loss, 1e-6, expected, (size_t)numel_of(loss), __FILE__, __LINE__);
    free(expected);
  }
  const htone_cross_entropy_options options = options_of(HTONE_REDUCTION_MEAN, 0.25);
  backward(cross_entropy(logits, targets, NULL, &options));
  backward(cross_entropy(same_logits, flat, NULL, &options));
  htone_tensor* moved = transpose_of(grad_of(logits), 1, 2);
  double* expected = values_of(grad_of(same_logits));
  check_values(moved, 1e-6, expected, 24, __FILE__, __LINE__);
  free(expected);
}

static void one_row_needs_no_batch(void** state) {
  (void)state;
  htone_tensor* logits = leaf(make_tensor(HTONE_F32, (const double[]){0, log(3)}, 1, 2));
  htone_tensor *target = make_scalar(HTONE_I64, 1), *out = NULL;
  const htone_cross_entropy_options none = options_of(HTONE_REDUCTION_NONE, 0);
  htone_tensor* loss = cross_entropy(logits, target, NULL, &none);
  assert_scalar(loss);
  assert_values(loss, 1e-6, log(4.0 / 3));
  backward(loss);
  assert_values(grad_of(logits), 1e-6, 0.25, -0.25);
  assert_ok(htone_nll_loss(logits, target, NULL, -100, HTONE_REDUCTION_MEAN, &out));
  assert_values(keep_tensor(out), 1e-6, -log(3));
}

/* -log(softmax) of (0, log 3) is log 4 and log 4/3; the slope of a logit is its probability minus its target. */
static void targets_may_be_probabilities(void** state) {
  (void)state;
  htone_tensor* logits = leaf(make_tensor(HTONE_F32, (const double[]){0, log(3), 0, log(3)}, 2, 2, 2));
  htone_tensor* targets = leaf(make_tensor(HTONE_F32, (const double[]){1, 0, 0.5, 0.5}, 2, 2, 2));
  htone_tensor* weight = make_tensor(HTONE_F32, (const double[]){1, 3}, 1, 2);
  const double first = log(4), second = log(4.0 / 3);
  htone_tensor* mean = mean_cross_entropy(logits, targets);
  assert_values(mean, 1e-6, (first + (first + second) / 2) / 2);
  backward(mean);
  assert_values(grad_of(logits), 1e-6, -0.375, 0.375, -0.125, 0.125);
  assert_values(grad_of(targets), 1e-6, first / 2, second / 2, first / 2, second / 2);
  const htone_cross_entropy_options smooth = options_of(HTONE_REDUCTION_NONE, 0.5);
  assert_values(cross_entropy(logits, targets, weight, &smooth), 1e-6, 0.75 * first + 0.75 * second,
                0.5 * first + 1.5 * second);
  const htone_cross_entropy_options plain = options_of(HTONE_REDUCTION_MEAN, 0);
  assert_values(cross_entropy(logits, targets, weight, &plain), 1e-6, (first + first / 2 + 1.5 * second) / 2);
}

static void probabilities_have_no_index_to_ignore(void** state) {
  (void)state;
  htone_tensor *logits = make_ramp(HTONE_F32, 3, 2, 3, 2), *out = NULL;
  htone_cross_entropy_options options = options_of(HTONE_REDUCTION_MEAN, 0);
  options.ignore_index = 0;
  assert_fails(htone_cross_entropy(logits, logits, &options, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "options.ignore_index=0, expected a negative number");
  assert_fails(htone_cross_entropy(logits, make_ramp(HTONE_F32, 2, 2, 2), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "targets [2, 2], probabilities of classes, differs from logits [2, 3, 2]");
  assert_fails(htone_cross_entropy(logits, make_ramp(HTONE_I64, 2, 2, 3), NULL, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "targets [2, 3] does not fit logits [2, 3, 2]: expected [2, 2]");
  assert_fails(htone_cross_entropy(make_scalar(HTONE_F32, 1), make_scalar(HTONE_I64, 0), NULL, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "logits is a scalar");
  assert_fails(htone_cross_entropy(logits, cast_of(logits, HTONE_F8E4M3), NULL, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "targets");
  assert_null(out);
  assert_values(mean_cross_entropy(make_ramp(HTONE_F32, 2, 0, 3), make_ramp(HTONE_F32, 2, 0, 3)), 0, NAN);
}

static void operands_that_do_not_fit_are_refused(void** state) {
  (void)state;
  htone_tensor *out = NULL, *input = make_ramp(HTONE_F32, 2, 2, 3), *flat = make_ramp(HTONE_F32, 1, 3);
  for (size_t i = 0; i < 3; ++i) {
    const htone_reduction mean = HTONE_REDUCTION_MEAN;
    assert_fails(kElementLosses[i](input, flat, mean, &out), HTONE_ERROR_SHAPE_MISMATCH, "target");
    assert_fails(kElementLosses[i](input, make_ramp(HTONE_I64, 2, 2, 3), mean, &out), HTONE_ERROR_DTYPE_MISMATCH,
                 "target");
    assert_fails(kElementLosses[i](make_ramp(HTONE_I32, 2, 2, 3), input, mean, &out), HTONE_ERROR_DTYPE_MISMATCH,
                 "input");
    assert_fails(kElementLosses[i](input, input, HTONE_REDUCTION_BATCH_MEAN, &out), HTONE_ERROR_INVALID_ARGUMENT,
                 "reduction");
  }
  assert_fails(bce(input, flat, HTONE_REDUCTION_MEAN, &out), HTONE_ERROR_SHAPE_MISMATCH, "targets");
  assert_fails(htone_bce_with_logits(input, input, make_ramp(HTONE_F32, 1, 2), HTONE_REDUCTION_MEAN, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "pos_weight");
  assert_fails(htone_bce_with_logits(flat, flat, make_ramp(HTONE_F32, 2, 1, 3), HTONE_REDUCTION_MEAN, &out),
               HTONE_ERROR_SHAPE_MISMATCH, "pos_weight");
  htone_tensor* scalar = make_scalar(HTONE_F32, 1);
  assert_fails(kl_div(scalar, scalar, HTONE_REDUCTION_BATCH_MEAN, &out), HTONE_ERROR_SHAPE_MISMATCH, "input");
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 3}, 1, 2);
  assert_fails(htone_cross_entropy(input, targets, NULL, &out), HTONE_ERROR_INVALID_ARGUMENT, "targets");
  assert_fails(htone_nll_loss(input, targets, NULL, -1, HTONE_REDUCTION_MEAN, &out), HTONE_ERROR_INVALID_ARGUMENT,
               "targets");
  assert_fails(htone_nll_loss(flat, targets, NULL, -100, HTONE_REDUCTION_MEAN, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "log_probabilities");
  assert_null(out);
}

static int32_t last_argument_index(void) {
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_ok(htone_error_last(&info));
  return info.argument_index;
}

/* A1 */
static void weights_in_the_options_are_checked_like_an_argument(void** state) {
  (void)state;
  htone_tensor *out = NULL, *input = make_ramp(HTONE_F32, 2, 2, 3), *released = NULL;
  htone_tensor* targets = make_tensor(HTONE_I64, (const double[]){0, 2}, 1, 2);
  htone_cross_entropy_options options = HTONE_CROSS_ENTROPY_OPTIONS_INIT;
  options.weight = make_ramp(HTONE_F32, 1, 2);
  assert_fails(htone_cross_entropy(input, targets, &options, &out), HTONE_ERROR_SHAPE_MISMATCH,
               "options.weight [2] does not fit logits [2, 3]");
  assert_int_equal(last_argument_index(), 2);
  options.weight = make_ramp(HTONE_I64, 1, 3);
  assert_fails(htone_cross_entropy(input, targets, &options, &out), HTONE_ERROR_DTYPE_MISMATCH,
               "options.weight is i64");
  assert_ok(htone_tensor_clone(input, &released));
  assert_ok(htone_tensor_release(released));
  options.weight = released;
  assert_fails(htone_cross_entropy(input, targets, &options, &out), HTONE_ERROR_INVALID_HANDLE,
               "options.weight is no live handle, expected a tensor");
  assert_int_equal(last_argument_index(), 2);
  options.weight = (htone_tensor*)test_device();
  assert_fails(htone_cross_entropy(input, targets, &options, &out), HTONE_ERROR_INVALID_HANDLE,
               "options.weight is a device, expected a tensor");
  assert_null(out);
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
    htone_tensor *targets = NULL, *loss = NULL, *out = NULL, *input = make_ramp(HTONE_F32, 2, 2, 3);
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
    assert_fails(htone_tensor_grad(input, &out), HTONE_ERROR_STATE, "invalid");
    classes[1] = -100; /* an ignored row is still a valid target */
    assert_ok(htone_tensor_zero_grad(input));
    assert_ok(htone_tensor_backward(loss, NULL, 0));
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_of_elements_have_the_values_of_their_formulas),
      cmocka_unit_test(losses_are_averaged_summed_or_left_as_they_are),
      cmocka_unit_test(a_loss_of_nothing_is_nan_on_average_and_zero_in_sum),
      cmocka_unit_test(losses_of_elements_have_the_promoted_dtype_and_reduced_ones_are_f32),
      cmocka_unit_test(no_options_are_the_defaults_of_cross_entropy),
      cmocka_unit_test(ignored_rows_neither_count_nor_get_a_gradient),
      cmocka_unit_test(a_mean_over_ignored_rows_alone_is_nan),
      cmocka_unit_test(weights_and_smoothing_enter_as_documented),
      cmocka_unit_test(negative_log_likelihood_of_log_softmax_is_cross_entropy),
      cmocka_unit_test(dimensions_may_follow_the_classes),
      cmocka_unit_test(one_row_needs_no_batch),
      cmocka_unit_test(targets_may_be_probabilities),
      cmocka_unit_test(probabilities_have_no_index_to_ignore),
      cmocka_unit_test(operands_that_do_not_fit_are_refused),
      cmocka_unit_test(a_weight_that_gets_no_gradient_must_not_ask_for_one),
      cmocka_unit_test(weights_in_the_options_are_checked_like_an_argument),
      cmocka_unit_test(targets_that_left_the_classes_are_refused_by_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
