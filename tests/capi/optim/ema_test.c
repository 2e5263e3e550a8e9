/* Moving averages of weights: the formula, and the swap with weights in every storage format. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kSide = 20, kSize = kSide * kSide };

static htone_module* make_module(double value) {
  htone_module* module = make_linear(test_device(), kSide, kSide, 0);
  if (!isnan(value)) assert_ok(htone_tensor_fill(weights_of(module, 0), value));
  return module;
}

static htone_ema* make_ema(htone_module* module, double decay, int32_t warmup) {
  htone_ema_options options;
  htone_ema* ema = NULL;
  assert_ok(htone_ema_options_init(&options));
  options.decay = decay;
  options.warmup = warmup;
  assert_ok(htone_ema_create(parameters_of_module(module), &options, &ema));
  return keep_ema(ema);
}

static htone_tensor* average_of(htone_ema* ema) {
  htone_tensor* out = NULL;
  assert_ok(htone_ema_read(ema, 0, &out));
  return keep_tensor(out);
}

/* All elements are equal in these tests, so the first one represents them. */
static double first_of(htone_tensor* tensor) {
  double *values = values_of(tensor), first = values[0];
  for (int i = 1; i < kSize; ++i) assert_true(values[i] == first);
  free(values);
  return first;
}

static void averages_follow_their_formula_from_the_first_weights_on(void** state) {
  (void)state;
  htone_module* module = make_module(1);
  htone_ema* ema = make_ema(module, 0.9, 0);
  double expected = 1;
  size_t count = 0;
  assert_ok(htone_ema_count(ema, &count));
  assert_int_equal(count, 1);
  assert_near(first_of(average_of(ema)), 1, 0);
  for (int step = 1; step <= 20; ++step) {
    assert_ok(htone_tensor_fill(weights_of(module, 0), sin(step)));
    assert_ok(htone_ema_update(ema));
    expected = 0.9 * expected + 0.1 * sin(step);
    assert_near(first_of(average_of(ema)), expected, 2e-6); /* 20 roundings of numbers up to 1 */
  }
  assert_near(first_of(weights_of(module, 0)), sin(20), 1e-7);
}

static void a_warm_up_lets_early_weights_go_faster(void** state) {
  (void)state;
  htone_module* module = make_module(0);
  htone_ema* ema = make_ema(module, 0.3, 1);
  double expected = 0;
  for (int n = 1; n <= 6; ++n) {
    const double decay = fmin(0.3, (1.0 + n) / (10.0 + n)); /* 2/11, 1/4, then 3/10 */
    assert_ok(htone_tensor_fill(weights_of(module, 0), n));
    assert_ok(htone_ema_update(ema));
    expected = decay * expected + (1 - decay) * n;
    assert_near(first_of(average_of(ema)), expected, 1e-5);
  }
}

static void a_decay_of_0_is_the_weights_themselves(void** state) {
  (void)state;
  htone_module* module = make_module(1);
  htone_ema* ema = make_ema(module, 0, 0);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 0.3));
  assert_ok(htone_ema_update(ema));
  assert_near(first_of(average_of(ema)), (double)0.3f, 1e-7);
}

/* The average must not keep a part that the subtraction rounds away. At a rate of 1 nothing of the old average remains,
 * not even Inf or NaN. */
static void an_average_that_is_far_off_comes_to_its_weight(void** state) {
  (void)state;

  htone_module* module = make_linear(test_device(), 2, 2, 0);
  htone_tensor* weights = weights_of(module, 0);
  const float from[] = {1e8f, 3, 1e30f, INFINITY}, to[] = {1, 0.1f, 1, 5};
  for (int warmup = 0; warmup < 2; ++warmup) {
    assert_ok(htone_tensor_write(weights, HTONE_F32, from, sizeof from));
    htone_ema* ema = make_ema(module, 0, warmup);
    assert_values(average_of(ema), 0, (double)from[0], (double)from[1], (double)from[2], (double)from[3]);
    assert_ok(htone_tensor_write(weights, HTONE_F32, to, sizeof to));
    assert_ok(htone_ema_update(ema));
    assert_values(average_of(ema), 0, (double)to[0], (double)to[1], (double)to[2], (double)to[3]);
  }
  const float ones[] = {1e8f, 1e8f, 1e8f, 1e8f};
  assert_ok(htone_tensor_write(weights, HTONE_F32, ones, sizeof ones));
  htone_ema* ema = make_ema(module, 0.999, 1); /* the first decay is 2/11 */
  assert_ok(htone_tensor_write(weights, HTONE_F32, to, sizeof to));
  assert_ok(htone_ema_update(ema));
  for (int i = 0; i < 4; ++i) {
    double* values = values_of(average_of(ema));
    assert_near(values[i], 2e8 / 11 + 9.0 / 11 * (double)to[i], 2);
    free(values);
  }
}

typedef struct Form {
  htone_master_storage master;
  htone_dtype compute;
} Form;

static const Form kForms[] = {{HTONE_MASTER_FULL, HTONE_F32},  {HTONE_MASTER_FULL, HTONE_BF16},
                              {HTONE_MASTER_FULL, HTONE_F16},  {HTONE_MASTER_SPLIT, HTONE_BF16},
                              {HTONE_MASTER_NONE, HTONE_BF16}, {HTONE_MASTER_NONE, HTONE_F16}};

static htone_optimizer* make_optimizer(htone_module* module, const Form* form) {
  htone_optimizer_options options = sgd_options(0.1);
  options.master_storage = form->master;
  options.compute_dtype = form->compute;
  return make_sgd_with(module, &options);
}

static void read_bits(htone_tensor* tensor, float* out) {
  assert_ok(htone_tensor_read(tensor, HTONE_F32, out, kSize * sizeof *out));
}

static void swap_twice(const Form* form) {
  htone_module* module = make_module(NAN); /* as initialised */
  htone_optimizer* optimizer = make_optimizer(module, form);
  htone_ema* ema = make_ema(module, 0.5, 0);
  float weights[kSize], averages[kSize], inside[kSize], after[kSize];
  backward(sum_of(weights_of(module, 0)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_ok(htone_ema_update(ema));
  read_bits(read_parameter(module, 0, HTONE_F32), weights);
  read_bits(average_of(ema), averages);
  assert_true(memcmp(weights, averages, sizeof weights) != 0);
  assert_ok(htone_ema_swap(ema));
  read_bits(read_parameter(module, 0, HTONE_F32), inside);
  const double narrow = form->master == HTONE_MASTER_NONE ? 0x1p-8 : 0;
  for (int i = 0; i < kSize; ++i) assert_near(inside[i], averages[i], narrow * fabs(averages[i]));
  read_bits(read_parameter(module, 0, form->compute), inside); /* autocast must read the averages, too */
  for (int i = 0; i < kSize; ++i) assert_near(inside[i], averages[i], 0x1p-8 * fabs(averages[i]));
  assert_ok(htone_ema_swap(ema));
  read_bits(read_parameter(module, 0, HTONE_F32), after);
  assert_memory_equal(after, weights, sizeof weights);
  read_bits(average_of(ema), after);
  assert_memory_equal(after, averages, sizeof averages);
  assert_ok(htone_optimizer_step(optimizer)); /* and training continues */
}

static void swapping_twice_restores_weights_and_averages_to_the_bit(void** state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(kForms); ++i) swap_twice(&kForms[i]);
}

static void weights_that_become_narrow_while_swapped_leave_the_averages(void** state) {
  (void)state;
  const Form narrow = {HTONE_MASTER_NONE, HTONE_BF16};
  htone_module* module = make_module(3);
  htone_ema* ema = make_ema(module, 0.5, 0);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 100));
  assert_ok(htone_ema_swap(ema));
  make_optimizer(module, &narrow);
  assert_ok(htone_ema_swap(ema));
  assert_near(first_of(average_of(ema)), 3, 0);
  assert_near(first_of(read_parameter(module, 0, HTONE_F32)), 100, 0);
  assert_ok(htone_ema_swap(ema)); /* the next swaps work as for weights that were 16-bit from the start */
  assert_near(first_of(read_parameter(module, 0, HTONE_F32)), 3, 0);
  assert_ok(htone_ema_swap(ema));
  assert_near(first_of(read_parameter(module, 0, HTONE_F32)), 100, 0);
  assert_near(first_of(average_of(ema)), 3, 0);
}

static void swapped_averages_are_neither_read_nor_moved(void** state) {
  (void)state;
  htone_module* module = make_module(1);
  htone_ema* ema = make_ema(module, 0.5, 0);
  htone_tensor* out = NULL;
  assert_ok(htone_ema_swap(ema));
  assert_fails(htone_ema_update(ema), HTONE_ERROR_STATE, "swap");
  assert_fails(htone_ema_read(ema, 0, &out), HTONE_ERROR_STATE, "swap");
  assert_null(out);
  assert_ok(htone_ema_swap(ema));
  assert_ok(htone_ema_update(ema));
}

static void a_swap_between_forward_and_backward_is_found(void** state) {
  (void)state;
  htone_module* module = make_module(1);
  htone_ema* ema = make_ema(module, 0.5, 0);
  htone_tensor* weights = weights_of(module, 0);
  htone_tensor* loss = sum_of(apply2(htone_mul, weights, weights));
  assert_ok(htone_ema_swap(ema));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "");
}

static int64_t allocations_of(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats.allocations;
}

static void averages_take_4_bytes_and_an_update_takes_none(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_module* module = make_linear(device, kSide, kSide, 0);
  htone_memory_stats stats = {.struct_size = sizeof stats};
  htone_ema* ema = make_ema(module, 0.5, 0);
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_int_equal(stats.by_category[HTONE_MEMORY_OPTIMIZER], 4 * kSize);
  const int64_t before = allocations_of(device);
  for (int i = 0; i < 3; ++i) assert_ok(htone_ema_update(ema));
  assert_ok(htone_ema_swap(ema));
  assert_ok(htone_ema_swap(ema));
  assert_int_equal(allocations_of(device), before);
}

static void averages_need_parameters_of_at_most_32_bits(void** state) {
  (void)state;
  htone_linear_options options;
  htone_module* wide = NULL;
  htone_parameters* none = NULL;
  htone_ema* ema = NULL;
  assert_ok(htone_linear_options_init(&options));
  options.dtype = HTONE_F64;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, &options, &wide));
  assert_fails(htone_ema_create(parameters_of_module(keep_module(wide)), NULL, &ema), HTONE_ERROR_DTYPE_MISMATCH,
               "weight");
  assert_ok(htone_parameters_create(&none));
  assert_fails(htone_ema_create(keep_parameters(none), NULL, &ema), HTONE_ERROR_STATE, "parameters");
  assert_null(ema);
}

static htone_tensor* buffer_of(htone_module* module, size_t index) {
  htone_tensor* buffer = NULL;
  assert_ok(htone_module_buffer(module, index, &buffer));
  return keep_tensor(buffer);
}

/* A batch of two channels with two rows of `value`. */
static void train_on(htone_module* module, double value) {
  forward(module, make_tensor(HTONE_F32, (const double[]){value, value, value, value}, 2, 2, 2));
}

static htone_module* make_batch_norm(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_batch_norm1d(test_device(), 2, NULL, &module));
  return keep_module(module);
}

static htone_ema* make_ema_from(htone_module* module, double decay) {
  const htone_ema_options options = {.struct_size = sizeof options, .decay = decay};
  htone_ema* ema = NULL;
  assert_ok(htone_ema_create_from_module(module, &options, &ema));
  return keep_ema(ema);
}

static void averages_of_a_module_have_its_running_statistics(void** state) {
  (void)state;
  htone_module* module = make_batch_norm();
  htone_ema* ema = make_ema_from(module, 0.5);
  htone_tensor *mean = buffer_of(module, 0), *var = buffer_of(module, 1), *count = buffer_of(module, 2);
  double running = 0, average = 0;
  for (int step = 1; step <= 3; ++step) {
    train_on(module, step);
    running = 0.9 * running + 0.1 * step;
    assert_ok(htone_ema_update(ema));
    average = 0.5 * average + 0.5 * running;
  }
  size_t parameters = 0;
  assert_ok(htone_ema_count(ema, &parameters));
  assert_int_equal(parameters, 2);
  assert_values(mean, 1e-6, running, running);
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 1e-6, average, average);
  assert_values(var, 1e-6, 0.8045, 0.8045); /* of 0.9, 0.81, 0.729, from 1 */
  assert_values(count, 0, 3);
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 1e-6, running, running);
  assert_values(var, 1e-6, 0.729, 0.729);
}

/* Averages of a parameter set: statistics stay those of training. */
static void averages_of_parameters_leave_running_statistics(void** state) {
  (void)state;
  htone_module* module = make_batch_norm();
  htone_ema* ema = NULL;
  assert_ok(htone_ema_create(parameters_of_module(module), NULL, &ema));
  keep_ema(ema);
  train_on(module, 1);
  assert_ok(htone_ema_swap(ema));
  assert_values(buffer_of(module, 0), 1e-7, 0.1, 0.1);
}

/* Each swap exchanges a buffer once, by however many paths the module reaches it. */
static void statistics_of_a_layer_on_two_paths_are_averaged_once(void** state) {
  (void)state;
  htone_module* layer = make_batch_norm();
  htone_ema* ema = make_ema_from(make_sequential(2, (htone_module*[]){layer, layer}), 0.5);
  train_on(layer, 1);
  assert_ok(htone_ema_swap(ema));
  assert_values(buffer_of(layer, 0), 0, 0, 0);
  assert_ok(htone_ema_swap(ema));
  assert_values(buffer_of(layer, 0), 1e-7, 0.1, 0.1);
}

static void statistics_are_recomputed_for_the_averages_alone(void** state) {
  (void)state;
  const htone_batch_norm_options options = {
      .struct_size = sizeof options, .affine = 1, .track_running_stats = 1, .cumulative = 1, .dtype = HTONE_F32};
  htone_module* module = NULL;
  assert_ok(htone_module_create_batch_norm1d(test_device(), 2, &options, &module));
  htone_ema* ema = make_ema_from(keep_module(module), 0.5);
  htone_tensor *mean = buffer_of(module, 0), *var = buffer_of(module, 1), *count = buffer_of(module, 2);
  train_on(module, 1);
  train_on(module, 2);
  assert_ok(htone_ema_swap(ema));
  assert_ok(htone_tensor_fill(mean, 0));
  assert_ok(htone_tensor_fill(var, 1));
  assert_ok(htone_tensor_fill(count, 0));
  for (int value = 5; value <= 9; ++value) train_on(module, value);
  assert_values(mean, 1e-6, 7, 7);
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 1e-7, 1.5, 1.5);
  assert_values(count, 0, 2);
  train_on(module, 3);
  assert_values(mean, 1e-6, 2, 2);
  assert_ok(htone_ema_swap(ema));
  assert_values(mean, 1e-6, 7, 7);
}

static htone_status no_forward(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)call, (void)user;
  return HTONE_ERROR_INTERNAL;
}

static htone_module* make_custom_over(htone_module* child) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(no_forward, NULL, NULL, NULL, &module));
  assert_ok(htone_module_add_child(keep_module(module), "linear", child));
  return module;
}

static void buffers_that_cannot_be_averaged_are_named(void** state) {
  (void)state;
  htone_module* module = make_custom_over(make_linear(test_device(), 2, 2, 0));
  htone_ema* ema = NULL;
  assert_ok(htone_module_add_buffer(module, "seen", make_scalar(HTONE_I64, 7)));
  make_ema_from(module, 0.5);
  assert_ok(htone_module_add_buffer(module, "gain", make_scalar(HTONE_F16, 1)));
  assert_fails(htone_ema_create_from_module(module, NULL, &ema), HTONE_ERROR_DTYPE_MISMATCH, "buffer gain is f16");
  assert_null(ema);
}

static void buffers_over_shared_memory_are_not_averaged(void** state) {
  (void)state;
  htone_module *linear = make_linear(test_device(), 2, 2, 0), *module = make_custom_over(linear);
  htone_tensor *whole = make_tensor(HTONE_F32, (const double[]){1, 2, 3}, 1, 3), *part = NULL;
  htone_ema* ema = NULL;
  assert_ok(htone_slice(whole, 0, 0, 2, 1, &part));
  assert_ok(htone_module_add_buffer(module, "whole", whole));
  assert_ok(htone_module_add_buffer(module, "part", keep_tensor(part)));
  assert_fails(htone_ema_create_from_module(module, NULL, &ema), HTONE_ERROR_UNSUPPORTED,
               "buffer part shares memory with buffer whole");
  module = make_custom_over(linear);
  assert_ok(htone_module_add_buffer(module, "weights", weights_of(linear, 0)));
  assert_fails(htone_ema_create_from_module(module, NULL, &ema), HTONE_ERROR_UNSUPPORTED,
               "buffer weights shares memory with parameter linear.weight");
  assert_null(ema);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(averages_follow_their_formula_from_the_first_weights_on),
      cmocka_unit_test(a_warm_up_lets_early_weights_go_faster),
      cmocka_unit_test(a_decay_of_0_is_the_weights_themselves),
      cmocka_unit_test(an_average_that_is_far_off_comes_to_its_weight),
      cmocka_unit_test(weights_that_become_narrow_while_swapped_leave_the_averages),
      cmocka_unit_test(swapping_twice_restores_weights_and_averages_to_the_bit),
      cmocka_unit_test(swapped_averages_are_neither_read_nor_moved),
      cmocka_unit_test(a_swap_between_forward_and_backward_is_found),
      cmocka_unit_test(averages_take_4_bytes_and_an_update_takes_none),
      cmocka_unit_test(averages_need_parameters_of_at_most_32_bits),
      cmocka_unit_test(averages_of_a_module_have_its_running_statistics),
      cmocka_unit_test(averages_of_parameters_leave_running_statistics),
      cmocka_unit_test(statistics_of_a_layer_on_two_paths_are_averaged_once),
      cmocka_unit_test(statistics_are_recomputed_for_the_averages_alone),
      cmocka_unit_test(buffers_that_cannot_be_averaged_are_named),
      cmocka_unit_test(buffers_over_shared_memory_are_not_averaged),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
