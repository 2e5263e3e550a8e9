/* A step of training that repeats allocates nothing from the heap: memory of tensors and of the graph waits for the
 * next step. Counted are the calls of operator new by all threads of the process. Row M11 of tests/faults.md. */
#include <stdio.h>
#include <stdlib.h>

#include "failing_allocations.h"
#include "test_child.h"
#include "test_optimizers.h"

enum { kBatch = 4, kClasses = 10, kTime = 6, kWarmUp = 3, kSteps = 3 };

typedef htone_module* (*MakeModel)(htone_device* device);

static htone_module* relu(void) {
  htone_module* module = NULL;
  assert_ok(htone_module_create_relu(&module));
  return keep_module(module);
}

static htone_module* make_mlp(htone_device* device) {
  htone_module* const modules[] = {make_linear(device, 12, 16, 1), relu(), make_linear(device, 16, kClasses, 1)};
  return make_sequential(COUNT_OF(modules), modules);
}

static htone_module* make_cnn(htone_device* device) {
  htone_conv_options options = HTONE_CONV_OPTIONS_INIT;
  htone_module *convolution = NULL, *pool = NULL, *flatten = NULL;
  options.padding_h = options.padding_w = 1;
  assert_ok(htone_module_create_conv2d(device, 1, 4, 3, 3, &options, &convolution));
  keep_module(convolution);
  assert_ok(htone_module_create_max_pool2d(2, 2, NULL, &pool));
  keep_module(pool);
  assert_ok(htone_module_create_flatten(&flatten));
  htone_module* const modules[] = {convolution, relu(), pool, keep_module(flatten),
                                   make_linear(device, 4 * 4 * 4, kClasses, 1)};
  return make_sequential(COUNT_OF(modules), modules);
}

static htone_module* make_gpt(htone_device* device) {
  htone_transformer_options options = HTONE_TRANSFORMER_OPTIONS_INIT;
  htone_module* module = NULL;
  options.vocabulary = kClasses;
  options.positions = kTime;
  options.layers = 2;
  options.width = 16;
  options.heads = 2;
  assert_ok(htone_module_create_transformer(device, &options, &module));
  return keep_module(module);
}

typedef struct Model {
  const char* name;
  MakeModel make;
  int rank; /* of the input */
  int64_t shape[4];
  htone_dtype input_dtype;
} Model;

static const Model kModels[] = {{"MLP", make_mlp, 2, {kBatch, 12, 0, 0}, HTONE_F32},
                                {"CNN", make_cnn, 4, {kBatch, 1, 8, 8}, HTONE_F32},
                                {"GPT", make_gpt, 2, {kBatch, kTime, 0, 0}, HTONE_I64}};

typedef struct Training {
  htone_device* device;
  htone_module* module;
  htone_autocast_policy* policy; /* NULL for FP32 */
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  htone_tensor *input, *targets;
} Training;

static htone_tensor* ones(htone_device* device, htone_dtype dtype, int rank, const int64_t* shape) {
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_create_full(device, dtype, rank, shape, 1.0, &tensor));
  return keep_tensor(tensor);
}

static Training make_training(const Model* model, htone_dtype precision) {
  htone_device* device = make_device(make_context(2, 5));
  const int64_t rows = model->input_dtype == HTONE_I64 ? kBatch * kTime : kBatch;
  htone_optimizer_options adamw = HTONE_ADAMW_OPTIONS_INIT;
  htone_grad_scaler_options scaler = HTONE_GRAD_SCALER_OPTIONS_INIT;
  Training training = {.device = device,
                       .module = model->make(device),
                       .input = ones(device, model->input_dtype, model->rank, model->shape),
                       .targets = ones(device, HTONE_I64, 1, &rows)};
  adamw.compute_dtype = precision;
  scaler.enabled = precision == HTONE_F16;
  training.optimizer = make_adamw(training.module, &adamw);
  assert_ok(htone_grad_scaler_create(device, &scaler, &training.scaler));
  keep_grad_scaler(training.scaler);
  if (precision == HTONE_F32) return training;
  assert_ok(htone_autocast_policy_create(precision, &training.policy));
  keep_policy(training.policy);
  return training;
}

static void step(const Training* training) {
  static const int64_t kRows[] = {-1, kClasses};
  htone_tensor *out = NULL, *logits = NULL, *loss = NULL, *scaled = NULL;
  double value = 0;
  assert_ok(htone_optimizer_zero_grad(training->optimizer));
  assert_ok(htone_module_forward(training->module, training->input, training->policy, &out));
  assert_ok(htone_reshape(out, 2, kRows, &logits));
  assert_ok(htone_cross_entropy(logits, training->targets, NULL, &loss));
  assert_ok(htone_grad_scaler_scale(training->scaler, loss, &scaled));
  assert_ok(htone_tensor_backward(scaled, NULL, 0));
  assert_ok(htone_grad_scaler_step(training->scaler, training->optimizer));
  assert_ok(htone_grad_scaler_update(training->scaler));
  assert_ok(htone_tensor_item(loss, &value));
  assert_ok(htone_tensor_release(scaled));
  assert_ok(htone_tensor_release(loss));
  assert_ok(htone_tensor_release(logits));
  assert_ok(htone_tensor_release(out));
}

static int64_t allocations_of_steps(const Training* training, int count) {
  const int64_t before = blocks_allocated();
  for (int i = 0; i < count; ++i) step(training);
  return blocks_allocated() - before;
}

static void m11_a_step_that_repeats_allocates_nothing(void** state) {
  (void)state;
  static const htone_dtype kPrecisions[] = {HTONE_F32, HTONE_BF16, HTONE_F16};
  if (kSanitized) skip_test("the sanitizers' builds keep no memory of objects, so that each use after release shows");
  for (size_t i = 0; i < COUNT_OF(kModels); ++i) {
    for (size_t j = 0; j < COUNT_OF(kPrecisions); ++j) {
      const Training training = make_training(&kModels[i], kPrecisions[j]);
      assert_true(allocations_of_steps(&training, kWarmUp) > 0);
      const int64_t count = allocations_of_steps(&training, kSteps);
      if (count != 0) fail_msg("%s, dtype %d: %lld allocations", kModels[i].name, kPrecisions[j], (long long)count);
    }
  }
}

/* The address of the gradient of the first parameter. */
static const void* gradient_place(const Training* training) {
  htone_tensor* gradient = NULL;
  htone_parameter* weight = NULL;
  void* place = NULL;
  assert_ok(htone_module_parameter(training->module, 0, &weight));
  assert_ok(htone_parameter_grad(weight, &gradient));
  assert_ok(htone_tensor_data(gradient, &place));
  assert_ok(htone_tensor_release(gradient));
  assert_ok(htone_parameter_release(weight));
  return place;
}

/* Zeroed gradients release their memory. Another tensor takes it in every second step, so that the gradients move. */
static const void* step_elsewhere(const Training* training, int number) {
  static const int64_t kWeight[] = {16, 12};
  htone_tensor* other = NULL;
  assert_ok(htone_optimizer_zero_grad(training->optimizer));
  if (number % 2 == 0) {
    assert_ok(htone_tensor_create_full(training->device, HTONE_F32, 2, kWeight, 1.0, &other));
  }
  step(training);
  const void* place = gradient_place(training);
  assert_ok(htone_tensor_release(other));
  return place;
}

static void m11_a_step_whose_gradients_have_moved_allocates_nothing(void** state) {
  (void)state;
  if (kSanitized) skip_test("the sanitizers' builds keep no memory of objects, so that each use after release shows");
  const Training training = make_training(&kModels[0], HTONE_F32);
  const void* place = NULL;
  int has_moved = 0;
  int64_t before = 0;
  for (int i = 0; i < 2 * kWarmUp + kSteps; ++i) {
    if (i == 2 * kWarmUp) before = blocks_allocated();
    const void* const now = step_elsewhere(&training, i);
    if (i >= 2 * kWarmUp && now != place) has_moved = 1;
    place = now;
  }
  assert_int_equal(blocks_allocated() - before, 0);
  assert_true(has_moved);
}

int main(int argc, char** argv) {
  setenv("HALFTONE_OBJECT_POOL", "1", 1); /* failing_allocations.cpp turns it off */
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m11_a_step_that_repeats_allocates_nothing),
      cmocka_unit_test(m11_a_step_whose_gradients_have_moved_allocates_nothing),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
