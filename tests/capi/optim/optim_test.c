/* Optimizers: defaults, a schedule, norms, gradients that are not there, and what an optimizer keeps. */
#include <math.h>

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

static void train_one_step(htone_optimizer* optimizer, htone_module* module, htone_tensor* gradient) {
  assert_ok(htone_optimizer_zero_grad(optimizer));
  give_gradient(module, 0, gradient);
  assert_ok(htone_optimizer_step(optimizer));
}

static void the_defaults_are_those_of_pytorch(void** state) {
  (void)state;
  htone_optimizer_options adamw, sgd, rmsprop, adafactor;
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
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &rmsprop));
  assert_true(rmsprop.lr == 1e-2 && rmsprop.alpha == 0.99 && rmsprop.epsilon == 1e-8);
  assert_true(rmsprop.weight_decay == 0 && rmsprop.momentum == 0 && rmsprop.centered == 0);
  assert_ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAFACTOR, &adafactor));
  assert_true(adafactor.lr == 1e-2 && adafactor.beta2_decay == -0.8 && adafactor.clip_threshold == 1);
  assert_true(adafactor.epsilon1 == 0x1p-23 && adafactor.epsilon2 == 1e-3 && adafactor.weight_decay == 0);
}

/* If moment and gradient are both 0, the weight stays. A NaN gradient makes its weight NaN. */
static void lion_steps_nowhere_without_a_direction(void** state) {
  (void)state;
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_optimizer* optimizer = NULL;
  assert_ok(htone_optimizer_create(module, &(htone_optimizer_options)HTONE_LION_OPTIONS_INIT, &optimizer));
  keep_optimizer(optimizer);
  assert_ok(htone_tensor_fill(weights_of(module, 0), 0.5));
  train_one_step(optimizer, module, make_tensor(HTONE_F32, (const double[]){0, 0}, 2, 1, 2));
  assert_values(weights_of(module, 0), 0, 0.5, 0.5);
  train_one_step(optimizer, module, make_tensor(HTONE_F32, (const double[]){0, NAN}, 2, 1, 2));
  assert_values(weights_of(module, 0), 0, 0.5, NAN);
}

static htone_tensor* ones(void) {
  const int64_t shape[] = {kRows, kColumns};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(test_device(), HTONE_F32, 2, shape, 1, &tensor));
  return keep_tensor(tensor);
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
  give_gradient(module, 1, make_tensor(HTONE_F32, (const double[]){0, NAN}, 1, 2));
  assert_false(isfinite(grad_norm_of(optimizer)));
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
      cmocka_unit_test(lion_steps_nowhere_without_a_direction),
      cmocka_unit_test(a_schedule_set_late_starts_at_the_steps_taken),
      cmocka_unit_test(the_norm_is_taken_over_all_gradients),
      cmocka_unit_test(only_fp32_parameters_have_an_optimizer),
      cmocka_unit_test(an_optimizer_keeps_its_parameters),
      cmocka_unit_test(gradients_of_a_failed_backward_are_not_used_whatever_follows),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
