/* How an optimizer stores weights, gradients and moments: the bytes of every combination, and weights without a
 * master. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kSide = 32, kSize = kSide * kSide };

static htone_optimizer_options storage(htone_master_storage master, htone_dtype compute, htone_dtype grad) {
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.weight_decay = 0;
  options.master_storage = master;
  options.compute_dtype = compute;
  options.grad_dtype = grad;
  return options;
}

static htone_optimizer* make_sgd_in(htone_module* module, double lr, htone_master_storage master, htone_dtype compute) {
  htone_optimizer_options options = sgd_options(lr);
  options.master_storage = master;
  options.compute_dtype = compute;
  return make_sgd_with(module, &options);
}

/* Steps with a gradient of 1 for every element. Releases its tensors in each step, so that they do not accumulate. */
static void train(htone_optimizer* optimizer, htone_module* module, int steps) {
  for (int step = 0; step < steps; ++step) {
    htone_parameter* parameter = NULL;
    htone_tensor *weights = NULL, *sum = NULL;
    assert_ok(htone_optimizer_zero_grad(optimizer));
    assert_ok(htone_module_parameter(module, 0, &parameter));
    assert_ok(htone_parameter_tensor(parameter, &weights));
    assert_ok(htone_sum(weights, 0, NULL, 0, &sum));
    assert_ok(htone_tensor_backward(sum, NULL, 0));
    assert_ok(htone_optimizer_step(optimizer));
    assert_ok(htone_tensor_release(sum));
    assert_ok(htone_tensor_release(weights));
    assert_ok(htone_parameter_release(parameter));
  }
}

static double mean_weight(htone_module* module) {
  return item_of(sum_of(cast_of(read_parameter(module, 0, HTONE_F32), HTONE_F64))) / kSize;
}

static htone_module* module_of_ones(htone_device* device) {
  htone_module* module = make_linear(device, kSide, kSide, 0);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 1));
  return module;
}

static float nearest_bf16(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  word = (word + 0x7fff + ((word >> 16) & 1)) & 0xffff0000u;
  memcpy(&value, &word, sizeof value);
  return value;
}

/* N8: 100 steps of 1e-4 from 1. Half a step of bf16 is 2^-9 below 1 and 2^-8 above it. */
static void bf16_weights_stall_where_masters_do_not(void** state) {
  (void)state;
  float nearest = 1;
  for (int step = 0; step < 100; ++step) nearest = nearest_bf16(nearest - 1e-4f);
  assert_true(nearest == 1);
  htone_module *full = module_of_ones(test_device()), *none = module_of_ones(test_device());
  train(make_sgd_in(full, 1e-4, HTONE_MASTER_FULL, HTONE_BF16), full, 100);
  assert_near(mean_weight(full), 0.99, 1e-5);
  train(make_sgd_in(none, 1e-4, HTONE_MASTER_NONE, HTONE_BF16), none, 100);
  /* Each of 1024 weights goes down in steps of 2^-8, with a mean of 0.01. The tolerance is six standard deviations. */
  assert_near(mean_weight(none), 0.99, 6 * sqrt(0.01 / 256 / kSize));
}

/* Expected bytes of parameters, gradients and optimizer state per element, and of scales per block of 256. */
typedef struct Form {
  htone_master_storage master;
  htone_dtype compute, grad, moment1, moment2;
  int parameters, gradients, state, scales;
} Form;

static void every_form_takes_the_bytes_that_it_promises(void** state) {
  (void)state;
  static const Form kForms[] = {
      {HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, HTONE_F32, HTONE_F32, 4, 4, 8, 0},
      {HTONE_MASTER_FULL, HTONE_BF16, HTONE_F32, HTONE_F32, HTONE_F32, 4 + 2, 4, 8, 0},
      {HTONE_MASTER_FULL, HTONE_F16, HTONE_F16, HTONE_BF16, HTONE_F32, 4 + 2, 2, 2 + 4, 0},
      {HTONE_MASTER_FULL, HTONE_BF16, HTONE_BF16, HTONE_I8, HTONE_U8, 4 + 2, 2, 1 + 1, 2},
      {HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_BF16, HTONE_BF16, HTONE_F32, 2, 2, 2 + 2 + 4, 0},
      {HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_F32, HTONE_I8, HTONE_U8, 2, 4, 2 + 1 + 1, 2},
      {HTONE_MASTER_NONE, HTONE_BF16, HTONE_BF16, HTONE_F32, HTONE_F32, 2, 2, 4 + 4, 0},
      {HTONE_MASTER_NONE, HTONE_F16, HTONE_F32, HTONE_BF16, HTONE_U8, 2, 4, 2 + 1, 1},
      {HTONE_MASTER_NONE, HTONE_BF16, HTONE_BF16, HTONE_I8, HTONE_U8, 2, 2, 1 + 1, 2},
  };
  for (size_t i = 0; i < COUNT_OF(kForms); ++i) {
    const Form* form = &kForms[i];
    htone_device* device = make_device(make_context(1, 0));
    htone_module* module = make_linear(device, kSide, kSide, 0);
    htone_optimizer_options options = storage(form->master, form->compute, form->grad);
    htone_memory_stats stats = {.struct_size = sizeof stats};
    htone_optimizer* optimizer = NULL;
    options.moment1_dtype = form->moment1;
    options.moment2_dtype = form->moment2;
    options.min_8bit_size = kSize; /* the weights have as many */
    assert_ok(htone_optimizer_create(module, &options, &optimizer));
    train(keep_optimizer(optimizer), module, 2);
    assert_ok(htone_device_memory_stats(device, &stats));
    assert_int_equal(stats.by_category[HTONE_MEMORY_PARAMETERS], form->parameters * kSize);
    assert_int_equal(stats.by_category[HTONE_MEMORY_GRADIENTS], form->gradients * kSize);
    const int64_t rest =
        stats.by_category[HTONE_MEMORY_OPTIMIZER] - form->state * kSize - form->scales * 4 * kSize / 256;
    assert_true(rest > 0 && rest < 256); /* the step's own numbers */
  }
}

/* Reads the weights after three steps with noise as gradients. */
static void read_trained_weights(const htone_optimizer_options* options, float* out_weights) {
  htone_module* module = module_of_ones(test_device());
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_create(module, options, &optimizer));
  keep_optimizer(optimizer);
  for (uint32_t step = 0; step < 3; ++step) {
    htone_tensor* gradient = make_noise(HTONE_F32, step, 2, kSide, kSide);
    assert_ok(htone_optimizer_zero_grad(optimizer));
    backward(sum_of(apply2(htone_mul, weights_of(module, 0), gradient)));
    assert_ok(htone_optimizer_step(optimizer));
  }
  assert_ok(htone_tensor_read(read_parameter(module, 0, HTONE_F32), HTONE_F32, out_weights, 4 * (size_t)kSize));
}

static void assert_small_follows_fp32(htone_optimizer_options options) {
  float fp32[kSize], small[kSize], coded[kSize];
  assert_int_equal(options.min_8bit_size, 4096);
  read_trained_weights(&options, fp32);
  options.moment1_dtype = HTONE_I8;
  if (options.beta2 != 0 && options.kind != HTONE_OPTIMIZER_LION) options.moment2_dtype = HTONE_U8;
  options.min_8bit_size = kSize + 1;
  read_trained_weights(&options, small);
  options.min_8bit_size = kSize;
  read_trained_weights(&options, coded);
  assert_memory_equal(small, fp32, sizeof fp32);
  assert_true(memcmp(coded, fp32, sizeof fp32) != 0);
}

static void a_parameter_below_the_least_size_of_codes_keeps_fp32_moments(void** state) {
  (void)state;
  htone_optimizer_options sgd = HTONE_SGD_OPTIONS_INIT, rmsprop = HTONE_RMSPROP_OPTIONS_INIT;
  sgd.momentum = 0.9;
  rmsprop.centered = 1;
  assert_small_follows_fp32((htone_optimizer_options)HTONE_ADAM_OPTIONS_INIT);
  assert_small_follows_fp32((htone_optimizer_options)HTONE_ADAMW_OPTIONS_INIT);
  assert_small_follows_fp32((htone_optimizer_options)HTONE_LION_OPTIONS_INIT);
  assert_small_follows_fp32(sgd);
  assert_small_follows_fp32(rmsprop);
}

static void adam_and_lion_take_two_moments_and_one(void** state) {
  (void)state;
  int64_t bytes[2];
  for (int lion = 0; lion < 2; ++lion) {
    htone_device* device = make_device(make_context(1, 0));
    htone_module* module = make_linear(device, kSide, kSide, 0);
    htone_memory_stats stats = {.struct_size = sizeof stats};
    htone_optimizer* optimizer = NULL;
    htone_optimizer_options options;
    assert_ok(htone_optimizer_options_init(lion ? HTONE_OPTIMIZER_LION : HTONE_OPTIMIZER_ADAM, &options));
    assert_ok(htone_optimizer_create(module, &options, &optimizer));
    keep_optimizer(optimizer);
    assert_ok(htone_device_memory_stats(device, &stats));
    bytes[lion] = stats.by_category[HTONE_MEMORY_OPTIMIZER];
  }
  assert_int_equal(bytes[0] - bytes[1], 4 * kSize);
}

/* A number for each row, for each column, and for the matrix; for each element of a bias. */
static void adafactor_takes_a_row_and_a_column_for_a_matrix(void** state) {
  (void)state;
  int64_t bytes[2];
  for (int bias = 0; bias < 2; ++bias) {
    htone_device* device = make_device(make_context(1, 0));
    htone_module* module = make_linear(device, 3 * kSide, kSide, bias);
    htone_memory_stats stats = {.struct_size = sizeof stats};
    htone_optimizer* optimizer = NULL;
    assert_ok(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_ADAFACTOR_OPTIONS_INIT, &optimizer));
    keep_optimizer(optimizer);
    assert_ok(htone_device_memory_stats(device, &stats));
    bytes[bias] = stats.by_category[HTONE_MEMORY_OPTIMIZER];
  }
  const int64_t rest = bytes[0] - 4 * (3 * kSide + kSide + 1);
  assert_true(rest > 0 && rest < 256);                  /* the step's own numbers */
  assert_int_equal(bytes[1] - bytes[0], 4 * kSide + 8); /* and the count of updates of one more parameter */
}

/* In 8-bit codes for every moment, with an FP32 scale for each block of 256 elements. */
static void rmsprop_takes_one_moment_and_one_more_for_momentum_and_for_the_mean(void** state) {
  (void)state;
  int64_t bytes[4];
  for (int variant = 0; variant < 4; ++variant) {
    htone_device* device = make_device(make_context(1, 0));
    htone_module* module = make_linear(device, kSide, kSide, 0);
    htone_memory_stats stats = {.struct_size = sizeof stats};
    htone_optimizer_options options;
    htone_optimizer* optimizer = NULL;
    assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &options));
    options.moment1_dtype = HTONE_I8;
    options.moment2_dtype = HTONE_U8;
    options.min_8bit_size = 0;
    options.momentum = variant & 1 ? 0.9 : 0;
    options.centered = variant & 2;
    assert_ok(htone_optimizer_create(module, &options, &optimizer));
    keep_optimizer(optimizer);
    assert_ok(htone_device_memory_stats(device, &stats));
    bytes[variant] = stats.by_category[HTONE_MEMORY_OPTIMIZER];
  }
  const int64_t moment = kSize + 4 * kSize / 256;
  assert_true(bytes[0] > moment && bytes[0] < moment + 256); /* and the step's own numbers */
  assert_int_equal(bytes[1] - bytes[0], moment);
  assert_int_equal(bytes[2] - bytes[0], moment);
  assert_int_equal(bytes[3] - bytes[0], 2 * moment);
}

static void weights_without_a_master_are_the_leaf_and_are_read_without_a_cast(void** state) {
  (void)state;
  htone_module* module = module_of_ones(test_device());
  htone_optimizer* optimizer = make_sgd_in(module, 0.25, HTONE_MASTER_NONE, HTONE_F16);
  assert_int_equal(dtype_of(weights_of(module, 0)), HTONE_F16);
  train(optimizer, module, 1);
  assert_near(mean_weight(module), 0.75, 0); /* 0.75 is an f16 number, so the stochastic rounding is exact */
  assert_near(item_of(sum_of(read_parameter(module, 0, HTONE_F16))), 0.75 * kSize, 0);
}

static void modules_of_16_bits_train_without_a_master_alone(void** state) {
  (void)state;
  htone_linear_options options;
  htone_module* module = NULL;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_linear_options_init(&options));
  options.dtype = HTONE_BF16;
  assert_ok(htone_module_create_linear(test_device(), kSide, kSide, &options, &module));
  keep_module(module);
  const htone_optimizer_options f16 = storage(HTONE_MASTER_NONE, HTONE_F16, HTONE_F32);
  const htone_optimizer_options full = storage(HTONE_MASTER_FULL, HTONE_BF16, HTONE_F32);
  const htone_optimizer_options none = storage(HTONE_MASTER_NONE, HTONE_BF16, HTONE_BF16);
  assert_fails(htone_optimizer_create(module, &f16, &optimizer), HTONE_ERROR_DTYPE_MISMATCH, "bf16");
  assert_fails(htone_optimizer_create(module, &full, &optimizer), HTONE_ERROR_DTYPE_MISMATCH, "bf16");
  assert_ok(htone_optimizer_create(module, &none, &optimizer));
  train(keep_optimizer(optimizer), module, 3);
}

/* Equal seeds and steps give bitwise equal weights; another seed gives others. */
static void what_chance_rounds_depends_on_the_seed(void** state) {
  (void)state;
  static const uint64_t kSeeds[] = {1, 1, 2};
  float ends[3][kSize];
  for (int run = 0; run < 3; ++run) {
    htone_module* module = module_of_ones(make_device(make_context(run == 1 ? 3 : 1, kSeeds[run])));
    train(make_sgd_in(module, 1e-3, HTONE_MASTER_NONE, HTONE_BF16), module, 3);
    assert_ok(htone_tensor_read(read_parameter(module, 0, HTONE_F32), HTONE_F32, ends[run], sizeof ends[run]));
  }
  assert_memory_equal(ends[0], ends[1], sizeof ends[0]);
  assert_true(memcmp(ends[0], ends[2], sizeof ends[0]) != 0);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bf16_weights_stall_where_masters_do_not),
      cmocka_unit_test(every_form_takes_the_bytes_that_it_promises),
      cmocka_unit_test(a_parameter_below_the_least_size_of_codes_keeps_fp32_moments),
      cmocka_unit_test(adam_and_lion_take_two_moments_and_one),
      cmocka_unit_test(adafactor_takes_a_row_and_a_column_for_a_matrix),
      cmocka_unit_test(rmsprop_takes_one_moment_and_one_more_for_momentum_and_for_the_mean),
      cmocka_unit_test(weights_without_a_master_are_the_leaf_and_are_read_without_a_cast),
      cmocka_unit_test(modules_of_16_bits_train_without_a_master_alone),
      cmocka_unit_test(what_chance_rounds_depends_on_the_seed),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
