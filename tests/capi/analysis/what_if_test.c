/* Predictions from histograms of what other formats, scales and recipes lose: for gradients of a small GPT against
 * their roundings, against steps that store them in FP16, and against scaled codes. tests/analysis/what_if has numbers
 * from distributions and every rounding. */
#include <halftone/halftone.h>
#include <math.h>
#include <stdlib.h>

#include "test_optimizers.h"

enum { kVocabulary = 61, kTime = 16, kBatch = 8, kMostTensors = 64 };

static htone_module* make_gpt(void) {
  htone_module* gpt = NULL;
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  options.vocabulary = kVocabulary;
  options.positions = kTime;
  options.width = 32;
  options.heads = 4;
  options.layers = 2;
  assert_ok(htone_module_create_transformer(test_device(), &options, &gpt));
  return keep_module(gpt);
}

/* The mean loss over sequences in which three of four tokens follow from the one before. */
static htone_tensor* loss_of(htone_module* gpt, int64_t step) {
  int64_t inputs[kBatch * kTime], targets[kBatch * kTime];
  const int64_t shape[] = {kBatch, kTime}, count = kBatch * kTime, rows[] = {count, kVocabulary};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t token = i % kTime == 0 ? (step * 13 + i) % kVocabulary : targets[i - 1];
    inputs[i] = token;
    targets[i] = (i + step) % 4 == 0 ? (step * 31 + i * 17) % kVocabulary : (3 * token + 1) % kVocabulary;
  }
  htone_tensor *tokens = NULL, *next = NULL, *logits = NULL, *loss = NULL;
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 2, shape, inputs, &tokens));
  assert_ok(htone_tensor_create_copy(test_device(), HTONE_I64, 1, &count, targets, &next));
  assert_ok(htone_reshape(forward(gpt, keep_tensor(tokens)), 2, rows, &logits));
  assert_ok(htone_cross_entropy(keep_tensor(logits), keep_tensor(next), NULL, &loss));
  return keep_tensor(loss);
}

static void train(htone_module* gpt, int64_t steps) {
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_create(gpt, &options, &optimizer));
  for (int64_t step = 0; step < steps; ++step) {
    assert_ok(htone_optimizer_zero_grad(optimizer));
    backward(loss_of(gpt, step));
    assert_ok(htone_optimizer_step(optimizer));
  }
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_ok(htone_optimizer_release(optimizer));
}

typedef struct Gradients {
  size_t count;
  htone_tensor* tensors[kMostTensors];
  htone_histogram histograms[kMostTensors];
} Gradients;

/* The gradients of the step after 40 steps in FP32. */
static void record_gradients(htone_module* gpt, Gradients* recorded) {
  train(gpt, 40);
  backward(loss_of(gpt, 40));
  assert_ok(htone_module_parameter_count(gpt, &recorded->count));
  assert_true(recorded->count <= kMostTensors);
  for (size_t i = 0; i < recorded->count; ++i) {
    recorded->tensors[i] = grad_of(weights_of(gpt, i));
    assert_ok(htone_histogram_init(&recorded->histograms[i]));
    assert_ok(htone_histogram_of(recorded->tensors[i], &recorded->histograms[i]));
  }
}

/* Numbers of elements of all gradients together. */
typedef struct Losses {
  double elements, underflows, subnormals, overflows, errors;
} Losses;

static void add_errors(Losses* losses, const htone_rounding_errors* errors) {
  const double count = (double)errors->nonzero;
  losses->elements += count;
  losses->underflows += count * errors->underflow_share;
  losses->subnormals += count * errors->subnormal_share;
  losses->overflows += count * errors->overflow_share;
  losses->errors += count * errors->mean_error;
}

static Losses predicted_losses(const Gradients* recorded, htone_format format, double scale) {
  Losses losses = {0, 0, 0, 0, 0};
  for (size_t i = 0; i < recorded->count; ++i) {
    htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
    assert_ok(htone_predict_rounding(&recorded->histograms[i], format, scale, NULL, &errors));
    add_errors(&losses, &errors);
  }
  return losses;
}

static Losses measured_losses(const Gradients* recorded, htone_format format, double scale) {
  Losses losses = {0, 0, 0, 0, 0};
  for (size_t i = 0; i < recorded->count; ++i) {
    htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
    htone_tensor* scaled = NULL;
    assert_ok(htone_mul_scalar(cast_of(recorded->tensors[i], HTONE_F64), scale, &scaled));
    assert_ok(htone_analyze_rounding(keep_tensor(scaled), format, NULL, &errors));
    add_errors(&losses, &errors);
  }
  return losses;
}

/* Within a tenth, and within the chance of counting few elements. */
static void assert_count_near(const char* what, double predicted, double found) {
  if (fabs(predicted - found) > 0.1 * found + 3 * sqrt(found) + 1) {
    fail_msg("%s: predicted %g, found %g", what, predicted, found);
  }
}

static void assert_counts_near(const Losses* predicted, const Losses* found) {
  assert_count_near("underflows", predicted->underflows, found->underflows);
  assert_count_near("subnormals", predicted->subnormals, found->subnormals);
  assert_count_near("overflows", predicted->overflows, found->overflows);
}

static void assert_losses_near(const Losses* predicted, const Losses* found) {
  assert_true(predicted->elements == found->elements);
  assert_counts_near(predicted, found);
  assert_near(predicted->errors, found->errors, 0.1 * found->errors);
}

static void losses_of_gradients_are_those_of_rounding_them(void** state) {
  (void)state;
  static const struct {
    htone_format format;
    double scales[4];
  } kCases[] = {{HTONE_FORMAT_F16, {0.01, 1, 300, 3e7}},
                {HTONE_FORMAT_E5M2, {0.01, 1, 300, 3e7}},
                {HTONE_FORMAT_E4M3, {1, 100, 1e4, 3e5}},
                {HTONE_FORMAT_E2M1, {1, 100, 1e4, 3e5}}};
  Gradients recorded;
  record_gradients(make_gpt(), &recorded);
  for (size_t i = 0; i < COUNT_OF(kCases); ++i) {
    for (size_t j = 0; j < COUNT_OF(kCases[i].scales); ++j) {
      const double scale = kCases[i].scales[j];
      const Losses predicted = predicted_losses(&recorded, kCases[i].format, scale);
      const Losses found = measured_losses(&recorded, kCases[i].format, scale);
      assert_losses_near(&predicted, &found);
    }
  }
}

static htone_optimizer* make_half_sgd(htone_module* gpt) {
  htone_optimizer_options sgd = sgd_options(0);
  sgd.compute_dtype = sgd.grad_dtype = HTONE_F16;
  return make_sgd_with(gpt, &sgd);
}

/* Leaves the gradients of a step under a static scale. It computes in FP32: autocast would lose more within backward,
 * which the gradients of parameters do not show. */
static void run_half_step(htone_module* gpt, htone_optimizer* optimizer, double scale) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = scale;
  assert_ok(htone_optimizer_zero_grad(optimizer));
  backward_scaled(make_grad_scaler(&options), loss_of(gpt, 40));
}

/* Gradients that are zero or infinite in FP16 and were not in FP32. */
static Losses losses_of_step(htone_module* gpt, const Gradients* recorded) {
  Losses losses = {0, 0, 0, 0, 0};
  for (size_t i = 0; i < recorded->count; ++i) {
    htone_histogram stored = HTONE_HISTOGRAM_INIT;
    assert_ok(htone_histogram_of(grad_of(weights_of(gpt, i)), &stored));
    assert_int_equal(stored.dtype, HTONE_F16);
    losses.underflows += (double)(stored.zeros - recorded->histograms[i].zeros);
    losses.overflows += (double)(stored.infinities + stored.nans);
    for (int e = 0; e < 127 - 14; ++e) losses.subnormals += (double)stored.exponents[e];
  }
  return losses;
}

static void losses_of_gradients_are_those_of_steps_that_store_them_in_half(void** state) {
  (void)state;
  const double scales[] = {0x1p-8, 1, 0x1p8, 0x1p26};
  htone_module* gpt = make_gpt();
  Gradients recorded;
  record_gradients(gpt, &recorded);
  htone_optimizer* optimizer = make_half_sgd(gpt);
  for (size_t i = 0; i < COUNT_OF(scales); ++i) {
    const Losses predicted = predicted_losses(&recorded, HTONE_FORMAT_F16, scales[i]);
    run_half_step(gpt, optimizer, scales[i]);
    const Losses found = losses_of_step(gpt, &recorded);
    assert_counts_near(&predicted, &found);
  }
}

typedef struct Scaled {
  double nonzero, underflows, signal, noise;
} Scaled;

static Scaled measured_scaled(htone_tensor* x, const htone_scaled_options* options) {
  htone_scaled* scaled = NULL;
  htone_tensor* read = NULL;
  Scaled found = {0, 0, 0, 0};
  assert_ok(htone_scaled_create(x, options, NULL, NULL, &scaled));
  assert_ok(htone_scaled_dequantize(keep_scaled(scaled), HTONE_F32, &read));
  double *before = values_of(x), *after = values_of(keep_tensor(read));
  for (int64_t i = 0; i < numel_of(x); ++i) {
    found.nonzero += before[i] != 0;
    found.underflows += before[i] != 0 && after[i] == 0;
    found.signal += before[i] * before[i];
    found.noise += (after[i] - before[i]) * (after[i] - before[i]);
  }
  free(before);
  free(after);
  return found;
}

static double snr_of(const Scaled* found) { return 10 * log10(found->signal / found->noise); }

static const struct {
  htone_scale_layout layout;
  htone_format format;
} kLayouts[] = {
    {HTONE_SCALE_LAYOUT_TENSOR, HTONE_FORMAT_E4M3},      {HTONE_SCALE_LAYOUT_TENSOR, HTONE_FORMAT_E5M2},
    {HTONE_SCALE_LAYOUT_BLOCK_1X128, HTONE_FORMAT_E4M3}, {HTONE_SCALE_LAYOUT_BLOCK_128X128, HTONE_FORMAT_E4M3},
    {HTONE_SCALE_LAYOUT_MX_1X32, HTONE_FORMAT_E4M3},     {HTONE_SCALE_LAYOUT_MX_1X32, HTONE_FORMAT_E2M1},
    {HTONE_SCALE_LAYOUT_NV_1X16, HTONE_FORMAT_E2M1},     {HTONE_SCALE_LAYOUT_NV_16X16, HTONE_FORMAT_E2M1}};

static htone_scaled_options scaled_options(size_t layout) {
  htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
  options.layout = kLayouts[layout].layout;
  options.format = kLayouts[layout].format;
  return options;
}

static void scaled_codes_of_numbers_in_random_order_have_the_predicted_errors(void** state) {
  (void)state;
  const int64_t shape[] = {256, 512};
  htone_tensor* x = NULL;
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  assert_ok(htone_randn(test_device(), HTONE_F32, 2, shape, &x));
  assert_ok(htone_histogram_of(keep_tensor(x), &histogram));
  for (size_t i = 0; i < COUNT_OF(kLayouts); ++i) {
    const htone_scaled_options options = scaled_options(i);
    htone_rounding_errors predicted = HTONE_ROUNDING_ERRORS_INIT;
    const Scaled found = measured_scaled(x, &options);
    assert_ok(htone_predict_scaled(&histogram, &options, &predicted));
    assert_near(predicted.snr_db, snr_of(&found), 0.2);
  }
}

/* Embeddings and biases have blocks of small gradients beside blocks of large ones. Their own scales keep what is lost
 * in random order. */
static void scaled_codes_of_gradients_lose_no_more_than_predicted(void** state) {
  (void)state;
  Gradients recorded;
  record_gradients(make_gpt(), &recorded);
  for (size_t layout = 0; layout < COUNT_OF(kLayouts); ++layout) {
    const htone_scaled_options options = scaled_options(layout);
    double predicted_underflows = 0, underflows = 0, difference_db = 0;
    for (size_t i = 0; i < recorded.count; ++i) {
      htone_rounding_errors predicted = HTONE_ROUNDING_ERRORS_INIT;
      const Scaled found = measured_scaled(recorded.tensors[i], &options);
      assert_ok(htone_predict_scaled(&recorded.histograms[i], &options, &predicted));
      predicted_underflows += predicted.underflow_share * found.nonzero;
      underflows += found.underflows;
      difference_db += predicted.snr_db - snr_of(&found);
    }
    assert_near(difference_db / (double)recorded.count, 0, 1);
  }
}

static htone_histogram one_number(void) {
  htone_histogram histogram = HTONE_HISTOGRAM_INIT;
  histogram.exponents[127] = 4;
  histogram.largest = 1.5;
  histogram.least = 1;
  return histogram;
}

static void assert_refused(const htone_histogram* histogram, const char* part) {
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  assert_fails(htone_predict_rounding(histogram, HTONE_FORMAT_F16, 1, NULL, &errors), HTONE_ERROR_INVALID_ARGUMENT,
               part);
  assert_fails(htone_predict_scaled(histogram, NULL, &errors), HTONE_ERROR_INVALID_ARGUMENT, part);
  assert_int_equal(errors.nonzero, 0);
}

static void histograms_that_contradict_themselves_are_refused(void** state) {
  (void)state;
  htone_histogram wrong = one_number();
  wrong.dtype = HTONE_I32;
  assert_refused(&wrong, "histogram.dtype=8, expected a float");
  wrong = one_number();
  wrong.zeros = -1;
  assert_refused(&wrong, "histogram.zeros has the count -1");
  wrong = one_number();
  wrong.exponents[3] = -5;
  assert_refused(&wrong, "histogram.exponents has the count -5");
  wrong = one_number();
  wrong.nans = INT64_MAX;
  assert_refused(&wrong, "more than 2^53 elements");
  wrong = one_number();
  wrong.largest = 2;
  assert_refused(&wrong, "histogram.largest=2 does not belong to exponents[127]");
  wrong = one_number();
  wrong.least = NAN;
  assert_refused(&wrong, "histogram.least=nan does not belong to exponents[127]");
  wrong = one_number();
  wrong.least = 1.75;
  assert_refused(&wrong, "histogram.least=1.75 is above histogram.largest=1.5");
  wrong = one_number();
  wrong.exponents[127] = 0;
  assert_refused(&wrong, "histogram.largest=1.5, expected 0");
  assert_refused(NULL, "histogram");
}

static void wrong_scales_and_layouts_are_refused(void** state) {
  (void)state;
  const htone_histogram histogram = one_number();
  htone_rounding_errors errors = HTONE_ROUNDING_ERRORS_INIT;
  htone_scaled_options options = HTONE_SCALED_OPTIONS_INIT;
  const double scales[] = {0, -1, NAN, INFINITY, 1e-40, 1e39};
  for (size_t i = 0; i < COUNT_OF(scales); ++i) {
    assert_fails(htone_predict_rounding(&histogram, HTONE_FORMAT_F16, scales[i], NULL, &errors),
                 HTONE_ERROR_INVALID_ARGUMENT, "scale=");
  }
  options.layout = HTONE_SCALE_LAYOUT_ROW;
  assert_fails(htone_predict_scaled(&histogram, &options, &errors), HTONE_ERROR_INVALID_ARGUMENT,
               "a histogram has no rows");
  options.layout = HTONE_SCALE_LAYOUT_NV_1X16;
  assert_fails(htone_predict_scaled(&histogram, &options, &errors), HTONE_ERROR_INVALID_ARGUMENT, "expected E2M1");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(losses_of_gradients_are_those_of_rounding_them),
      cmocka_unit_test(losses_of_gradients_are_those_of_steps_that_store_them_in_half),
      cmocka_unit_test(scaled_codes_of_numbers_in_random_order_have_the_predicted_errors),
      cmocka_unit_test(scaled_codes_of_gradients_lose_no_more_than_predicted),
      cmocka_unit_test(histograms_that_contradict_themselves_are_refused),
      cmocka_unit_test(wrong_scales_and_layouts_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
