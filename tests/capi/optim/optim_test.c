/* Optimizers: defaults, schedules, norms, low-precision copies, and steps in the wrong order. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test_optimizers.h"

enum { kRows = 5, kColumns = 7, kSize = kRows * kColumns };

static htone_module* small_module(void) { return make_linear(test_device(), kColumns, kRows, 0); }

/* Runs a backward of sum(weights * gradient), so that `gradient` becomes the gradient of a parameter of its shape. */
static void give_gradient(htone_module* module, size_t index, htone_tensor* gradient) {
  backward(sum_of(apply2(htone_mul, weights_of(module, index), gradient)));
}

static double lr_of(htone_optimizer* optimizer) {
  double lr = -1;
  assert_ok(htone_optimizer_lr(optimizer, &lr));
  return lr;
}

static int64_t step_count_of(htone_optimizer* optimizer) {
  int64_t count = -1;
  assert_ok(htone_optimizer_step_count(optimizer, &count));
  return count;
}

static void train_one_step(htone_optimizer* optimizer, htone_module* module, htone_tensor* gradient) {
  assert_ok(htone_optimizer_zero_grad(optimizer));
  give_gradient(module, 0, gradient);
  assert_ok(htone_optimizer_step(optimizer));
}

static void the_defaults_are_those_of_pytorch(void** state) {
  (void)state;
  htone_optimizer_options adamw;
  htone_optimizer_options sgd;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &adamw));
  assert_true(adamw.struct_size == sizeof adamw && adamw.compute_dtype == HTONE_F32);
  assert_true(adamw.lr == 1e-3 && adamw.beta1 == 0.9 && adamw.beta2 == 0.999);
  assert_true(adamw.epsilon == 1e-8 && adamw.weight_decay == 0.01);
  assert_true(adamw.grad_dtype == HTONE_F32 && adamw.moment1_dtype == HTONE_F32);
  assert_true(adamw.moment2_dtype == HTONE_F32);
  assert_true(adamw.master_storage == HTONE_MASTER_FULL);
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAM, &adamw));
  assert_true(adamw.struct_size == sizeof adamw && adamw.lr == 1e-3 && adamw.beta1 == 0.9 && adamw.beta2 == 0.999);
  assert_true(adamw.epsilon == 1e-8 && adamw.weight_decay == 0);
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &sgd));
  assert_true(sgd.struct_size == sizeof sgd && sgd.compute_dtype == HTONE_F32 && sgd.lr == 1e-3);
  assert_true(sgd.momentum == 0 && sgd.dampening == 0 && sgd.weight_decay == 0 && sgd.nesterov == 0);
  assert_true(sgd.grad_dtype == HTONE_F32 && sgd.moment1_dtype == HTONE_F32);
  assert_true(sgd.master_storage == HTONE_MASTER_FULL);
}

static htone_tensor* ones(void) {
  const int64_t shape[] = {kRows, kColumns};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1, &tensor));
  return keep_tensor(tensor);
}

static double first_weight(htone_module* module) {
  double *values = values_of(weights_of(module, 0)), value = values[0];
  free(values);
  return value;
}

static void the_cosine_schedule_sets_the_rate_of_each_step(void** state) {
  (void)state;
  enum { kTotal = 8 };
  const double lr = 0.5, final_factor = 0.1, pi = 3.14159265358979323846;
  htone_module* module = small_module();
  htone_optimizer* optimizer = make_sgd(module, lr);
  htone_schedule* schedule = NULL;
  assert_ok(htone_schedule_create_cosine(kTotal, final_factor, &schedule));
  assert_ok(htone_optimizer_set_schedule(optimizer, schedule));
  assert_ok(htone_schedule_release(schedule)); /* the optimizer has copied it */
  for (int step = 0; step < kTotal + 3; ++step) {
    const double progress = step < kTotal ? (double)step / kTotal : 1;
    const double expected = lr * (final_factor + (1 - final_factor) * 0.5 * (1 + cos(pi * progress)));
    const double before = first_weight(module);
    assert_near(lr_of(optimizer), expected, 1e-12);
    train_one_step(optimizer, module, ones());
    assert_near(before - first_weight(module), expected, 1e-6);
  }
}

static void a_schedule_set_late_starts_at_the_steps_taken(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer* optimizer = make_sgd(module, 1);
  htone_schedule *cosine = NULL, *constant = NULL;
  assert_near(lr_of(optimizer), 1, 0);
  for (int i = 0; i < 2; ++i) train_one_step(optimizer, module, ones());
  assert_ok(htone_schedule_create_cosine(4, 0, &cosine));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(cosine)));
  assert_near(lr_of(optimizer), 0.5, 1e-12);
  assert_ok(htone_schedule_create_constant(&constant));
  assert_ok(htone_optimizer_set_schedule(optimizer, keep_schedule(constant)));
  assert_near(lr_of(optimizer), 1, 0);
}

static void the_norm_is_taken_over_all_gradients(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 1, 2, 1);
  htone_optimizer* optimizer = make_sgd(module, 1);
  double norm = -7;
  assert_fails(htone_optimizer_grad_norm(optimizer, &norm), HTONE_ERROR_STATE, "");
  assert_near(norm, -7, 0);
  give_gradient(module, 0, make_tensor(HTONE_F32, (const double[]){1, 2}, 2, 2, 1));
  assert_near(grad_norm_of(optimizer), sqrt(5), 1e-6);
  give_gradient(module, 1, make_tensor(HTONE_F32, (const double[]){-2, 4}, 1, 2));
  assert_near(grad_norm_of(optimizer), 5, 1e-6);
  assert_ok(htone_optimizer_zero_grad(optimizer));
  give_gradient(module, 1, make_tensor(HTONE_F32, (const double[]){1e20, 1e20}, 1, 2));
  assert_near(grad_norm_of(optimizer) / 1e20, sqrt(2), 1e-6);
  give_gradient(module, 1, make_tensor(HTONE_F32, (const double[]){-INFINITY, 0}, 1, 2));
  assert_false(isfinite(grad_norm_of(optimizer)));
  assert_ok(htone_optimizer_zero_grad(optimizer));
  give_gradient(module, 1, make_tensor(HTONE_F32, (const double[]){0, NAN}, 1, 2));
  assert_false(isfinite(grad_norm_of(optimizer)));
}

/* A17 */
static void a_step_needs_a_gradient_since_it_was_zeroed(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer* optimizer = make_adamw(module, NULL);
  const double before = first_weight(module);
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "");
  give_gradient(module, 0, ones());
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "");
  assert_near(first_weight(module), before, 0);
  assert_int_equal(step_count_of(optimizer), 0);
}

static int64_t gradient_bytes(htone_device* device) {
  htone_memory_stats stats = HTONE_MEMORY_STATS_INIT;
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats.by_category[HTONE_MEMORY_GRADIENTS];
}

/* As optim.h says: the first backward after zero_grad allocates them. */
static void zeroed_gradients_take_no_memory(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_module* module = make_linear(device, 16, 8, 1);
  htone_optimizer* optimizer = make_adamw(module, NULL);
  const int64_t shape[] = {2, 16};
  htone_tensor *input = NULL, *gradient = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &input));
  keep_tensor(input);
  for (int step = 0; step < 3; ++step) {
    assert_int_equal(gradient_bytes(device), 0);
    assert_fails(htone_parameter_grad(parameter_of(module, 0), &gradient), HTONE_ERROR_STATE, "no gradient");
    backward(sum_of(forward(module, input)));
    assert_int_equal(gradient_bytes(device), (16 + 1) * 8 * 4);
    assert_ok(htone_optimizer_step(optimizer));
    assert_int_equal(gradient_bytes(device), (16 + 1) * 8 * 4);
    assert_ok(htone_optimizer_zero_grad(optimizer));
  }
}

static void parameters_without_a_gradient_stay(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), kColumns, kRows, 1);
  htone_optimizer* optimizer = make_adamw(module, NULL); /* with weight decay, which must not change them either */
  double* bias = values_of(weights_of(module, 1));
  const double before = first_weight(module);
  give_gradient(module, 0, ones());
  assert_ok(htone_optimizer_step(optimizer));
  double* after = values_of(weights_of(module, 1));
  assert_memory_equal(bias, after, kRows * sizeof *bias);
  assert_true(first_weight(module) < before);
  free(bias);
  free(after);
}

static uint16_t nearest_bf16(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof word);
  return (uint16_t)((word + 0x7fff + ((word >> 16) & 1)) >> 16);
}

static void assert_copy_is_rounded_master(htone_module* module) {
  float master[kSize];
  uint16_t copy[kSize];
  assert_ok(htone_tensor_read(read_parameter(module, 0, HTONE_F32), HTONE_F32, master, sizeof master));
  assert_ok(htone_tensor_read(read_parameter(module, 0, HTONE_BF16), HTONE_BF16, copy, sizeof copy));
  for (int i = 0; i < kSize; ++i) assert_int_equal(copy[i], nearest_bf16(master[i]));
}

static void the_low_precision_copy_is_the_master_rounded(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.compute_dtype = HTONE_BF16;
  htone_optimizer* optimizer = make_adamw(module, &options);
  assert_copy_is_rounded_master(module);
  for (uint32_t step = 0; step < 3; ++step) {
    train_one_step(optimizer, module, make_noise(HTONE_F32, step, 2, kRows, kColumns));
    assert_copy_is_rounded_master(module);
  }
  /* the low-precision copy is stale now and must not be used */
  assert_ok(htone_tensor_fill(weights_of(module, 0), 1.2345));
  assert_copy_is_rounded_master(module);
}

/* N8: learning at 1e-4 of the weight is below half a step of bf16, where bf16 weights alone would not change. */
static void masters_keep_updates_that_bf16_would_lose(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer_options options = sgd_options(1e-4);
  options.compute_dtype = HTONE_BF16;
  htone_optimizer* optimizer = make_sgd_with(module, &options);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 1));
  for (int step = 0; step < 100; ++step) train_one_step(optimizer, module, ones());
  assert_near(first_weight(module), 0.99, 1e-5);
  assert_copy_is_rounded_master(module);
}

/* Full and split weights start equal and get equal gradients, rounded to bf16. They must end with equal FP32 values. */
static void split_weights_end_where_full_masters_do(void** state) {
  (void)state;
  float ends[2][kSize];
  for (int split = 0; split < 2; ++split) {
    htone_module* module = small_module();
    htone_optimizer_options options;
    assert_ok(htone_tensor_fill(weights_of(module, 0), 0.7));
    assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
    options.compute_dtype = options.grad_dtype = options.moment1_dtype = HTONE_BF16;
    options.master_storage = split ? HTONE_MASTER_SPLIT : HTONE_MASTER_FULL;
    htone_optimizer* optimizer = make_adamw(module, &options);
    for (uint32_t step = 0; step < 10; ++step) {
      train_one_step(optimizer, module, make_noise(HTONE_F32, step, 2, kRows, kColumns));
    }
    htone_dtype dtype = 0;
    assert_ok(htone_tensor_dtype(weights_of(module, 0), &dtype));
    assert_int_equal(dtype, split ? HTONE_BF16 : HTONE_F32);
    assert_ok(htone_tensor_read(read_parameter(module, 0, HTONE_F32), HTONE_F32, ends[split], sizeof ends[split]));
  }
  assert_memory_equal(ends[0], ends[1], sizeof ends[0]);
}

/* A constant gradient changes weights by the learning rate in each step; 8-bit moments may add a small error. */
static void moments_of_8_bits_train(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer_options options;
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAMW, &options));
  options.weight_decay = 0;
  options.moment1_dtype = HTONE_I8;
  options.moment2_dtype = HTONE_U8;
  options.min_8bit_size = 0;
  htone_optimizer* optimizer = make_adamw(module, &options);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 1));
  for (int step = 0; step < 10; ++step) train_one_step(optimizer, module, ones());
  assert_near(first_weight(module), 0.99, 1e-3);
}

static void a_step_between_forward_and_backward_is_found(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer* optimizer = make_sgd(module, 0.1);
  htone_tensor* input = leaf(make_ramp(HTONE_F32, 2, 2, kColumns)); /* its gradient needs the weights */
  give_gradient(module, 0, ones());
  htone_tensor* loss = sum_of(forward(module, input));
  assert_ok(htone_optimizer_step(optimizer));
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "");
}

static void a_parameter_has_one_optimizer_at_a_time(void** state) {
  (void)state;
  htone_module* module = small_module();
  htone_optimizer *first = NULL, *second = NULL;
  assert_ok(htone_optimizer_create(module, NULL, &first));
  assert_fails(htone_optimizer_create(module, NULL, &second), HTONE_ERROR_STATE, "module");
  assert_fails(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &second),
               HTONE_ERROR_STATE, "module");
  assert_null(second);
  assert_ok(htone_optimizer_release(first));
  make_sgd(module, 1);
}

static void only_fp32_parameters_have_an_optimizer(void** state) {
  (void)state;
  htone_linear_options options;
  htone_module *low = NULL, *relu = NULL;
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_linear_options_init(&options));
  options.dtype = HTONE_BF16;
  assert_ok(htone_module_create_linear(test_device(), 2, 2, &options, &low));
  assert_fails(htone_optimizer_create(keep_module(low), NULL, &optimizer), HTONE_ERROR_DTYPE_MISMATCH, "module");
  assert_ok(htone_module_create_relu(&relu));
  assert_fails(htone_optimizer_create(keep_module(relu), &(htone_optimizer_options)HTONE_SGD_OPTIONS_INIT, &optimizer),
               HTONE_ERROR_STATE, "module");
  assert_null(optimizer);
}

static void an_optimizer_keeps_its_parameters(void** state) {
  (void)state;
  htone_module* module = NULL;
  htone_parameter* parameter = NULL;
  htone_tensor* weights = NULL;
  assert_ok(htone_module_create_linear(test_device(), kColumns, kRows, NULL, &module));
  htone_optimizer* optimizer = make_sgd(module, 1);
  assert_ok(htone_module_parameter(module, 0, &parameter));
  assert_ok(htone_module_release(module));
  assert_ok(htone_parameter_tensor(parameter, &weights));
  assert_ok(htone_parameter_release(parameter));
  keep_tensor(weights);
  const double before = item_of(sum_of(weights));
  backward(sum_of(apply2(htone_mul, weights, ones())));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(before - item_of(sum_of(weights)), kSize, 1e-4);
}

/* Allocates all memory that is free below the limit, in smaller and smaller pieces. */
static void exhaust(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  assert_ok(htone_device_set_memory_limit(device, stats.reserved));
  for (int64_t size = 1 << 22; size > 0; size /= 2) {
    htone_tensor* piece = NULL;
    while (htone_tensor_create(device, HTONE_U8, 1, &size, &piece) == HTONE_OK) keep_tensor(piece);
  }
}

/* M7 */
static void a_backward_without_memory_leaves_no_step_to_take(void** state) {
  (void)state;
  htone_device* device = make_device(make_context(1, 0));
  htone_module* module = make_linear(device, 64, 64, 1);
  htone_optimizer* optimizer = make_sgd(module, 1);
  const int64_t shape[] = {64, 64};
  htone_tensor* input = NULL;
  assert_ok(htone_tensor_create_full(device, HTONE_F32, 2, shape, 1, &input));
  htone_tensor* loss = sum_of(forward(module, keep_tensor(input)));
  exhaust(device);
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_OUT_OF_MEMORY, "");
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "");
  assert_ok(htone_device_set_memory_limit(device, 0));
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "");
  assert_ok(htone_optimizer_zero_grad(optimizer));
  backward(sum_of(forward(module, input)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_int_equal(step_count_of(optimizer), 1);
}

static htone_status refuse(const htone_backward_call* call, void* user) {
  (void)call, (void)user;
  return HTONE_ERROR_CANCELLED;
}

static htone_tensor* loss_that_fails(htone_tensor* input) {
  htone_function* function = NULL;
  htone_tensor* result = NULL;
  assert_ok(htone_function_create("refuse", refuse, NULL, NULL, &function));
  assert_ok(htone_function_record(function, 1, &input, 1, &input, 0, NULL, &result));
  assert_ok(htone_function_release(function));
  return sum_of(keep_tensor(result));
}

/* M7: the second of three micro-batches fails. */
static void gradients_of_a_failed_backward_are_not_used_whatever_follows(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_optimizer* optimizer = make_sgd(module, 1);
  htone_tensor *input = make_ramp(HTONE_F32, 2, 1, 2), *weights = weights_of(module, 0), *out = NULL;
  double norm = 0;
  backward(sum_of(forward(module, input)));
  assert_fails(htone_tensor_backward(loss_that_fails(weights), NULL, 0), HTONE_ERROR_CALLBACK, "refuse");
  backward(sum_of(forward(module, input)));
  assert_fails(htone_tensor_grad(weights, &out), HTONE_ERROR_STATE, "invalid");
  assert_fails(htone_optimizer_grad_norm(optimizer, &norm), HTONE_ERROR_STATE, "invalid");
  assert_fails(htone_optimizer_clip_grad_norm(optimizer, 1, 0), HTONE_ERROR_STATE, "invalid");
  assert_fails(htone_parameter_accumulate_grad(parameter_of(module, 0), input), HTONE_ERROR_STATE, "invalid");
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "invalid");
  assert_ok(htone_parameter_set_grad(parameter_of(module, 0), input));
  assert_values(grad_of(weights), 0, 0, 1);
  assert_ok(htone_optimizer_zero_grad(optimizer));
  backward(sum_of(forward(module, input)));
  assert_values(grad_of(weights), 0, 0, 1);
  assert_ok(htone_optimizer_step(optimizer));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_defaults_are_those_of_pytorch),
      cmocka_unit_test(the_cosine_schedule_sets_the_rate_of_each_step),
      cmocka_unit_test(a_schedule_set_late_starts_at_the_steps_taken),
      cmocka_unit_test(the_norm_is_taken_over_all_gradients),
      cmocka_unit_test(a_step_needs_a_gradient_since_it_was_zeroed),
      cmocka_unit_test(zeroed_gradients_take_no_memory),
      cmocka_unit_test(parameters_without_a_gradient_stay),
      cmocka_unit_test(the_low_precision_copy_is_the_master_rounded),
      cmocka_unit_test(masters_keep_updates_that_bf16_would_lose),
      cmocka_unit_test(split_weights_end_where_full_masters_do),
      cmocka_unit_test(moments_of_8_bits_train),
      cmocka_unit_test(a_step_between_forward_and_backward_is_found),
      cmocka_unit_test(a_parameter_has_one_optimizer_at_a_time),
      cmocka_unit_test(only_fp32_parameters_have_an_optimizer),
      cmocka_unit_test(an_optimizer_keeps_its_parameters),
      cmocka_unit_test(a_backward_without_memory_leaves_no_step_to_take),
      cmocka_unit_test(gradients_of_a_failed_backward_are_not_used_whatever_follows),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
