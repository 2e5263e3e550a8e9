/* Statistics of a running model through the C API. What is wrong with a run of 200 steps is named: the layer in which
 * the first NaN or infinity arises, one that saturates, and weights that no update reaches. tests/analysis has the
 * numbers. */
#include <halftone/arithmetic.h>
#include <halftone/factory.h>
#include <halftone/forward.h>
#include <halftone/generator.h>
#include <halftone/hooks.h>
#include <halftone/init.h>
#include <halftone/monitor.h>
#include <halftone/reduce.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kSteps = 200, kRows = 16, kFeatures = 8, kHidden = 24 };

/* A fault in the results of a layer, in the steps from first to last: they become NaN, or are multiplied and then
 * bounded. */
typedef struct Plant {
  int64_t first;
  int64_t last;
  double factor;
  double bound; /* 0: none */
  int64_t step; /* under way */
} Plant;

static htone_status multiply(htone_tensor* input, double factor, htone_tensor** out) {
  htone_tensor* factors = NULL;
  if (isfinite(factor)) return htone_rescale(input, factor, 0, out);
  htone_status status = htone_tensor_full_like(input, factor, &factors);
  if (status == HTONE_OK) status = htone_mul(input, factors, out);
  htone_tensor_release(factors);
  return status;
}

static htone_status change_results(htone_module* module, const htone_forward_call* call, void* user) {
  const Plant* plant = user;
  htone_tensor* product = NULL;
  (void)module;
  if (plant->step < plant->first || plant->step > plant->last) return HTONE_OK;
  htone_status status = multiply(call->outputs[0], plant->factor, &product);
  if (status != HTONE_OK) return status;
  if (plant->bound == 0) {
    call->out_tensors[0] = product;
    return HTONE_OK;
  }
  status = htone_clamp(product, -plant->bound, plant->bound, &call->out_tensors[0]);
  htone_tensor_release(product);
  return status;
}

/* A model of three linear layers that trains in FP16 or BF16 with a loss scale. */
typedef struct Training {
  htone_module* model;
  htone_module* middle; /* "2" */
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_autocast_policy* policy;
  htone_statistics* statistics;
  Plant plant;
} Training;

static htone_module* make_relu(void) {
  htone_module* relu = NULL;
  assert_ok(htone_module_create_relu(&relu));
  return keep_module(relu);
}

static void make_model(Training* made) {
  htone_module* layers[] = {make_linear(test_device(), kFeatures, kHidden, 1), make_relu(),
                            make_linear(test_device(), kHidden, kHidden, 1), make_relu(),
                            make_linear(test_device(), kHidden, 4, 1)};
  made->model = make_sequential(COUNT_OF(layers), layers);
  made->middle = layers[2];
}

/* All but the optimizer. */
static void make_parts(Training* made, htone_dtype dtype) {
  htone_grad_scaler_options options = HTONE_GRAD_SCALER_OPTIONS_INIT;
  options.initial_scale = 1024; /* a larger one would overflow in FP16 until it is found */
  memset(made, 0, sizeof *made);
  make_model(made);
  made->scaler = make_grad_scaler(&options);
  assert_ok(htone_autocast_policy_create(dtype, &made->policy));
  keep_policy(made->policy);
  assert_ok(htone_statistics_create(test_device(), NULL, &made->statistics));
  keep_statistics(made->statistics);
}

/* Not watched if options are NULL. */
static void make_training(Training* made, htone_dtype dtype, const htone_monitor_options* options) {
  make_parts(made, dtype);
  made->optimizer = make_sgd(made->model, 0.05);
  if (options == NULL) return;
  assert_ok(htone_statistics_watch(made->statistics, made->model, made->optimizer, options));
}

static void plant_fault(Training* training, Plant plant) {
  htone_hook* hook = NULL;
  training->plant = plant;
  assert_ok(htone_module_add_forward_hook(training->middle, change_results, &training->plant, NULL, &hook));
  keep_hook(hook);
}

static htone_tensor* loss_of(const Training* training, htone_tensor* input) {
  htone_scope* scope = NULL;
  htone_tensor *output = NULL, *square = NULL, *loss = NULL;
  assert_ok(htone_autocast_begin(training->policy, &scope));
  assert_ok(htone_module_forward(training->model, input, NULL, &output));
  assert_ok(htone_scope_end(scope));
  assert_ok(htone_mul(output, output, &square));
  assert_ok(htone_mean(square, 0, NULL, 0, &loss));
  return loss;
}

/* Forward, backward and update, without the record. */
static void train_once(Training* training, int64_t step) {
  htone_scope* handles = NULL;
  assert_ok(htone_handles_begin(&handles));
  const int64_t shape[] = {kRows, kFeatures};
  htone_tensor *input = NULL, *scaled = NULL;
  training->plant.step = step;
  assert_ok(htone_tensor_create_zeros(test_device(), HTONE_F32, 2, shape, &input));
  assert_ok(htone_init_normal(input, 0, 1));
  htone_tensor* loss = loss_of(training, input);
  assert_ok(htone_optimizer_zero_grad(training->optimizer));
  assert_ok(htone_grad_scaler_scale(training->scaler, loss, &scaled));
  assert_ok(htone_tensor_backward(scaled, NULL, 0));
  assert_ok(htone_grad_scaler_step(training->scaler, training->optimizer));
  assert_ok(htone_grad_scaler_update(training->scaler));
  assert_ok(htone_scope_end(handles));
}

static void train(Training* training, int64_t steps) {
  for (int64_t step = 1; step <= steps; ++step) {
    assert_ok(htone_statistics_begin_step(training->statistics));
    train_once(training, step);
    assert_ok(htone_statistics_end_step(training->statistics, 0, kRows));
  }
  assert_ok(htone_statistics_flush(training->statistics));
}

static htone_monitor_options every(int64_t interval) {
  htone_monitor_options options = HTONE_MONITOR_OPTIONS_INIT;
  options.interval = interval;
  return options;
}

static size_t tensor_count(htone_statistics* statistics) {
  size_t count = 0;
  assert_ok(htone_statistics_tensor_count(statistics, &count));
  return count;
}

static htone_tensor_statistics tensor_at(htone_statistics* statistics, size_t index) {
  htone_tensor_statistics tensor = HTONE_TENSOR_STATISTICS_INIT;
  assert_ok(htone_statistics_tensor(statistics, index, &tensor));
  return tensor;
}

/* "2 linear" of an activation, "2.weight " of others. */
static const char* label_at(htone_statistics* statistics, size_t index) {
  static char label[128];
  size_t length = 0;
  assert_ok(htone_statistics_tensor_name(statistics, index, label, sizeof label, &length));
  label[length++] = ' ';
  assert_ok(htone_statistics_tensor_op(statistics, index, label + length, sizeof label - length, &length));
  return label;
}

static htone_tensor_statistics tensor_of_kind(htone_statistics* statistics, htone_tensor_kind kind, const char* label) {
  for (size_t i = 0; i < tensor_count(statistics); ++i) {
    const htone_tensor_statistics tensor = tensor_at(statistics, i);
    if (tensor.kind == kind && strcmp(label_at(statistics, i), label) == 0) return tensor;
  }
  fail_msg("there is no %s", label);
  return tensor_at(statistics, 0);
}

/* ---- Culprits, each found as docs/model-statistics.md tells */

static int64_t first_nan(const htone_tensor_statistics* tensor) { return tensor->first_nan; }

static int64_t first_infinity(const htone_tensor_statistics* tensor) { return tensor->first_infinity; }

/* The first tensor of the first step in which there was one; the count of tensors if there was none. */
static size_t culprit(htone_statistics* statistics, int64_t (*first)(const htone_tensor_statistics*)) {
  size_t found = tensor_count(statistics);
  int64_t earliest = INT64_MAX, place = INT64_MAX;
  for (size_t i = 0; i < tensor_count(statistics); ++i) {
    const htone_tensor_statistics tensor = tensor_at(statistics, i);
    const int64_t step = first(&tensor);
    if (step == 0 || step > earliest || (step == earliest && tensor.place > place)) continue;
    earliest = step;
    place = tensor.place;
    found = i;
  }
  return found;
}

/* The record's file has the tensors, too. */
static void the_file_has_the_tensors(void** state) {
  (void)state;
  const htone_monitor_options options = every(1);
  static char path[512], line[65536];
  Training training;
  int found = 0;
  snprintf(path, sizeof path, "%s/run.jsonl", test_folder());
  make_training(&training, HTONE_BF16, &options);
  assert_ok(htone_statistics_write_to(training.statistics, path));
  plant_fault(&training, (Plant){.first = 2, .last = 2, .factor = NAN});
  train(&training, 3);
  FILE* file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file) != NULL) {
    if (strstr(line, "\"kind\":\"activation\",\"name\":\"2\",\"op\":\"mul\"") == NULL) continue;
    assert_true(strstr(line, "{\"step\":2,\"record\":\"tensor\",") == line);
    assert_non_null(strstr(line, "\"nans\":384,"));
    ++found;
  }
  fclose(file);
  assert_int_equal(found, 1);
}

static void check_first(htone_dtype dtype, double factor, int64_t (*first)(const htone_tensor_statistics*),
                        const char* label) {
  const htone_monitor_options options = every(1);
  Training training;
  make_training(&training, dtype, &options);
  plant_fault(&training, (Plant){.first = 121, .last = 121, .factor = factor});
  train(&training, kSteps);
  const size_t found = culprit(training.statistics, first);
  const htone_tensor_statistics tensor = tensor_at(training.statistics, found);
  assert_string_equal(label_at(training.statistics, found), label);
  assert_int_equal(tensor.kind, HTONE_TENSOR_ACTIVATION);
  assert_int_equal(first(&tensor), 121);
}

static void the_layer_with_the_first_nan_is_named(void** state) {
  (void)state;
  check_first(HTONE_BF16, NAN, first_nan, "2 mul");
}

/* FP16 ends at 65504. */
static void the_layer_with_the_first_infinity_is_named(void** state) {
  (void)state;
  check_first(HTONE_F16, 1e9, first_infinity, "2 rescale");
}

static void a_run_without_a_fault_names_none(void** state) {
  (void)state;
  const htone_monitor_options options = every(20);
  Training training;
  make_training(&training, HTONE_F16, &options);
  train(&training, kSteps);
  const size_t count = tensor_count(training.statistics);
  assert_int_equal(count, 6 + 2 * 6); /* with the cast of the input */
  for (size_t i = 0; i < count; ++i) {
    const htone_tensor_statistics tensor = tensor_at(training.statistics, i);
    assert_int_equal(tensor.step, 181);
    assert_int_equal(tensor.nans + tensor.saturated, 0);
    assert_int_equal(tensor.first_nan, 0);
    assert_true(tensor.lost_share < 0.1);
  }
}

/* The layer goes on with bounded results, so that no infinity shows what is wrong. */
static void a_layer_that_saturates_is_named(void** state) {
  (void)state;
  const htone_monitor_options options = every(20);
  Training training;
  make_parts(&training, HTONE_F16);
  training.optimizer = make_sgd(training.model, 1e-12); /* a larger rate would end in NaN */
  assert_ok(htone_statistics_watch(training.statistics, training.model, training.optimizer, &options));
  plant_fault(&training, (Plant){.first = 50, .last = kSteps, .factor = 1e7, .bound = 65504});
  train(&training, kSteps);
  const htone_tensor_statistics bounded = tensor_of_kind(training.statistics, HTONE_TENSOR_ACTIVATION, "2 clamp");
  assert_true(bounded.largest == 65504 && bounded.infinities == 0);
  assert_true(bounded.saturated > bounded.elements / 20);
  const htone_tensor_statistics first = tensor_of_kind(training.statistics, HTONE_TENSOR_ACTIVATION, "2 rescale");
  assert_true(first.infinities > 0 && first.place < bounded.place);
  for (size_t i = 0; i < tensor_count(training.statistics); ++i) {
    const htone_tensor_statistics tensor = tensor_at(training.statistics, i);
    const int saturates = tensor.kind == HTONE_TENSOR_ACTIVATION && tensor.saturated > 0;
    if (saturates) assert_true(tensor.place >= first.place);
  }
}

/* BF16 without a master at a rate that is far below its step, beside FP32 masters at an ordinary one. */
static htone_optimizer* make_stalled(htone_module* model) {
  const htone_optimizer_options usual = sgd_options(0.05);
  htone_optimizer_options stalled = sgd_options(1e-7);
  stalled.compute_dtype = stalled.grad_dtype = HTONE_BF16;
  stalled.master_storage = HTONE_MASTER_NONE;
  htone_optimizer* optimizer = make_sgd_over(parameters_matching(model, "0.*"), &usual);
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(model, "4.*"), &usual));
  assert_ok(htone_optimizer_add_group(optimizer, parameters_matching(model, "2.*"), &stalled));
  return optimizer;
}

static void weights_that_no_update_reaches_are_named(void** state) {
  (void)state;
  const htone_monitor_options options = every(20);
  Training training;
  make_parts(&training, HTONE_BF16);
  training.optimizer = make_stalled(training.model);
  assert_ok(htone_statistics_watch(training.statistics, training.model, training.optimizer, &options));
  train(&training, kSteps);
  for (size_t i = 0; i < tensor_count(training.statistics); ++i) {
    const htone_tensor_statistics tensor = tensor_at(training.statistics, i);
    if (tensor.kind != HTONE_TENSOR_PARAMETER) continue;
    const int is_stalled = strncmp(label_at(training.statistics, i), "2.weight", 8) == 0;
    assert_int_equal(tensor.has_update, 1);
    if (is_stalled) assert_true(tensor.lost_share > 0.98 && tensor.dtype == HTONE_BF16);
    if (label_at(training.statistics, i)[0] != '2') assert_true(tensor.lost_share < 0.1);
  }
}

/* ---- What is recorded */

static void weights_are_the_same_with_and_without(void** state) {
  (void)state;
  double seen[2][kHidden * kHidden];
  for (int watched = 0; watched < 2; ++watched) {
    htone_monitor_options options = every(3);
    Training training;
    options.noise = 1;
    assert_ok(htone_context_set_seed(test_context(), 5));
    make_training(&training, HTONE_BF16, watched ? &options : NULL);
    train(&training, kSteps);
    double* values = values_of(read_parameter(training.model, 2, HTONE_F32));
    memcpy(seen[watched], values, sizeof seen[watched]);
    free(values);
  }
  assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
}

static void the_numbers_are_those_of_the_tensors(void** state) {
  (void)state;
  const htone_monitor_options options = every(1);
  Training training;
  htone_histogram here = HTONE_HISTOGRAM_INIT, sampled = HTONE_HISTOGRAM_INIT;
  make_training(&training, HTONE_F16, &options);
  train(&training, 1);
  assert_ok(htone_histogram_of(grad_of(weights_of(training.model, 2)), &here));
  for (size_t i = 0; i < tensor_count(training.statistics); ++i) {
    const htone_tensor_statistics tensor = tensor_at(training.statistics, i);
    if (tensor.kind != HTONE_TENSOR_GRADIENT || strcmp(label_at(training.statistics, i), "2.weight ") != 0) continue;
    assert_ok(htone_statistics_tensor_histogram(training.statistics, i, &sampled));
    assert_memory_equal(&sampled, &here, sizeof here);
    assert_int_equal(tensor.elements, kHidden * kHidden);
    assert_int_equal(tensor.zeros, here.zeros);
    assert_true(tensor.largest == here.largest && tensor.least == here.least);
    assert_true(tensor.scale == 1024);
    assert_true(isnan(tensor.noise));
    return;
  }
  fail_msg("there is no gradient");
}

static void options_choose_what_is_sampled(void** state) {
  (void)state;
  for (int chosen = 0; chosen < 8; ++chosen) {
    htone_monitor_options options = every(1);
    Training training;
    int found = 0;
    options.activations = chosen & 1;
    options.gradients = chosen & 2;
    options.parameters = chosen & 4;
    make_training(&training, HTONE_F16, &options);
    train(&training, 2);
    for (size_t i = 0; i < tensor_count(training.statistics); ++i) {
      const htone_tensor_kind kind = tensor_at(training.statistics, i).kind;
      found |= kind == HTONE_TENSOR_ACTIVATION ? 1 : kind == HTONE_TENSOR_GRADIENT ? 2 : 4;
    }
    assert_int_equal(found, chosen);
  }
}

static void gradients_have_their_noise(void** state) {
  (void)state;
  htone_monitor_options options = every(2);
  Training training;
  options.noise = 1;
  make_training(&training, HTONE_BF16, &options);
  train(&training, 4);
  const htone_tensor_statistics gradient = tensor_of_kind(training.statistics, HTONE_TENSOR_GRADIENT, "4.weight ");
  assert_int_equal(gradient.step, 3);
  assert_true(gradient.noise > 0);
  assert_true(isnan(tensor_of_kind(training.statistics, HTONE_TENSOR_PARAMETER, "4.weight ").noise));
}

static void a_cancelled_step_leaves_no_sample(void** state) {
  (void)state;
  const htone_monitor_options options = every(1);
  Training training;
  make_training(&training, HTONE_BF16, &options);
  assert_ok(htone_statistics_begin_step(training.statistics));
  train_once(&training, 1);
  assert_ok(htone_statistics_cancel_step(training.statistics));
  assert_ok(htone_statistics_flush(training.statistics));
  assert_int_equal(tensor_count(training.statistics), 0);
  train(&training, 1);
  const htone_tensor_statistics tensor = tensor_of_kind(training.statistics, HTONE_TENSOR_ACTIVATION, "0 linear");
  assert_int_equal(tensor.step, 1);
  assert_int_equal(tensor.elements, kRows * kHidden);
}

static int64_t memory_in_use(void) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(test_device(), &stats));
  return (int64_t)stats.current;
}

static void samples_use_the_memory_of_earlier_ones(void** state) {
  (void)state;
  const htone_monitor_options options = every(1);
  Training training;
  make_training(&training, HTONE_BF16, &options);
  train(&training, 3);
  const int64_t before = memory_in_use();
  train(&training, 20);
  assert_int_equal(memory_in_use(), before);
}

static void wrong_arguments_are_refused(void** state) {
  (void)state;
  Training training;
  htone_monitor_options options = every(0);
  htone_tensor_statistics tensor = HTONE_TENSOR_STATISTICS_INIT;
  make_training(&training, HTONE_BF16, NULL);
  assert_fails(htone_statistics_watch(training.statistics, training.model, NULL, &options),
               HTONE_ERROR_INVALID_ARGUMENT, "options.interval=0, expected at least 1");
  assert_ok(htone_statistics_begin_step(training.statistics));
  assert_fails(htone_statistics_watch(training.statistics, training.model, NULL, NULL), HTONE_ERROR_STATE,
               "statistics has begun a step");
  assert_ok(htone_statistics_end_step(training.statistics, 0, 0));
  assert_fails(htone_statistics_tensor(training.statistics, 0, &tensor), HTONE_ERROR_INVALID_ARGUMENT, "index=0");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_layer_with_the_first_nan_is_named),
      cmocka_unit_test(the_layer_with_the_first_infinity_is_named),
      cmocka_unit_test(the_file_has_the_tensors),
      cmocka_unit_test(a_run_without_a_fault_names_none),
      cmocka_unit_test(a_layer_that_saturates_is_named),
      cmocka_unit_test(weights_that_no_update_reaches_are_named),
      cmocka_unit_test(weights_are_the_same_with_and_without),
      cmocka_unit_test(the_numbers_are_those_of_the_tensors),
      cmocka_unit_test(options_choose_what_is_sampled),
      cmocka_unit_test(gradients_have_their_noise),
      cmocka_unit_test(a_cancelled_step_leaves_no_sample),
      cmocka_unit_test(samples_use_the_memory_of_earlier_ones),
      cmocka_unit_test(wrong_arguments_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
