/* A call that runs out of memory has drawn no random numbers, changed no running statistics and left the gradient
 * scaler unchanged. When it is repeated, it gives the result of an undisturbed call (M1). Every allocation of each call
 * fails, once alone and once with all later ones. */
#include <stdlib.h>
#include <string.h>

#include "failing_allocator.h"
#include "run_tests.h"

/* The objects that the calls work on, made again for each failure. */
typedef struct Work {
  htone_context* context;
  htone_device* device;
  htone_tensor* tensor; /* [6, 4] */
  htone_module* model;
  htone_optimizer* optimizer;
  htone_grad_scaler* scaler;
  /* The result of the call: one of these two. */
  htone_tensor* made;
  htone_module* made_module;
  int hook_calls;
} Work;

typedef htone_status (*Call)(Work* work);

static htone_status drop(Work* work) { return htone_dropout(work->tensor, 0.5, 1, &work->made); }
static htone_status permute(Work* work) { return htone_randperm(work->device, 100, &work->made); }
static htone_status draw_uniform(Work* work) { return htone_init_uniform(work->tensor, -1, 1); }
static htone_status draw_normal(Work* work) { return htone_init_normal(work->tensor, 0, 1); }
static htone_status make_layer(Work* work) {
  return htone_module_create_linear(work->device, 4, 3, NULL, &work->made_module);
}
static htone_status make_table(Work* work) {
  return htone_module_create_embedding(work->device, 10, 4, NULL, &work->made_module);
}
static htone_status make_filters(Work* work) {
  return htone_module_create_conv2d(work->device, 2, 3, 2, 2, NULL, &work->made_module);
}
static htone_status run_forward(Work* work) {
  return htone_module_forward(work->model, work->tensor, NULL, &work->made);
}
static htone_status unscale(Work* work) { return htone_grad_scaler_unscale(work->scaler, work->optimizer); }
static htone_status step(Work* work) { return htone_grad_scaler_step(work->scaler, work->optimizer); }

static htone_status count_call(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module;
  (void)call;
  ++*(int*)user;
  return HTONE_OK;
}

/* The scope needs memory for the handle when the hook is there. A hook outlives its handle. */
static htone_status add_hook(Work* work) {
  htone_scope* scope = NULL;
  htone_hook* hook = NULL;
  htone_status status = htone_handles_begin(&scope);
  if (status != HTONE_OK) return status;
  status = htone_module_add_forward_hook(work->model, count_call, &work->hook_calls, NULL, &hook);
  assert_ok(htone_scope_end(scope));
  return status;
}

/* Dropout draws numbers and batch norm counts; the linear layer after them may still fail. */
static htone_module* make_model(htone_device* device) {
  htone_module *layers[4] = {NULL, NULL, NULL, NULL}, *model = NULL;
  assert_ok(htone_module_create_linear(device, 4, 5, NULL, &layers[0]));
  assert_ok(htone_module_create_batch_norm1d(device, 5, NULL, &layers[1]));
  assert_ok(htone_module_create_dropout(0.5, &layers[2]));
  assert_ok(htone_module_create_linear(device, 5, 2, NULL, &layers[3]));
  assert_ok(htone_module_create_sequential(4, layers, &model));
  for (size_t i = 0; i < COUNT_OF(layers); ++i) assert_ok(htone_module_release(layers[i]));
  return model;
}

static htone_grad_scaler* make_scaler(htone_device* device) {
  htone_grad_scaler_options options;
  htone_grad_scaler* scaler = NULL;
  assert_ok(htone_grad_scaler_options_init(&options));
  options.histogram_share = 0.1; /* makes the scaler read the gradients once more */
  assert_ok(htone_grad_scaler_create(device, &options, &scaler));
  return scaler;
}

static void begin_work(Work* work, int64_t* bytes) {
  const htone_allocator allocator = failing_allocator(bytes);
  const int64_t shape[] = {6, 4};
  htone_context_options options;
  htone_tensor *out = NULL, *loss = NULL;
  *work = (Work){NULL};
  assert_ok(htone_context_options_init(&options));
  options.num_threads = 1;
  options.seed = 7;
  options.allocator = &allocator;
  assert_ok(htone_context_create(&options, &work->context));
  assert_ok(htone_device_create(work->context, "cpu", &work->device));
  assert_ok(htone_tensor_create(work->device, HTONE_F32, 2, shape, &work->tensor));
  assert_ok(htone_init_normal(work->tensor, 0, 1));
  work->model = make_model(work->device);
  work->scaler = make_scaler(work->device);
  assert_ok(htone_optimizer_create(work->model, NULL, &work->optimizer));
  assert_ok(htone_module_forward(work->model, work->tensor, NULL, &out));
  assert_ok(htone_sum(out, 0, NULL, 0, &loss));
  assert_ok(htone_tensor_backward(loss, NULL, 0));
  assert_ok(htone_tensor_release(loss));
  assert_ok(htone_tensor_release(out));
}

static void end_work(Work* work) {
  htone_module_release(work->made_module);
  htone_tensor_release(work->made);
  htone_optimizer_release(work->optimizer);
  htone_grad_scaler_release(work->scaler);
  htone_module_release(work->model);
  htone_tensor_release(work->tensor);
  htone_device_release(work->device);
  htone_context_release(work->context);
}

/* FNV-1a over the elements. */
static void mix(uint64_t* hash, htone_tensor* tensor) {
  int64_t count = 0;
  assert_ok(htone_tensor_numel(tensor, &count));
  double* values = malloc((size_t)count * sizeof *values + 1);
  assert_non_null(values);
  assert_ok(htone_tensor_read(tensor, HTONE_F64, values, (size_t)count * sizeof *values));
  const unsigned char* bytes = (const unsigned char*)values;
  for (size_t i = 0; i < (size_t)count * sizeof *values; ++i) *hash = (*hash ^ bytes[i]) * UINT64_C(1099511628211);
  free(values);
}

static void mix_module(uint64_t* hash, htone_module* module) {
  htone_state_dict* dict = NULL;
  size_t count = 0;
  assert_ok(htone_module_state_dict(module, &dict));
  assert_ok(htone_state_dict_count(dict, &count));
  for (size_t i = 0; i < count; ++i) {
    htone_tensor* tensor = NULL;
    assert_ok(htone_state_dict_tensor(dict, i, &tensor));
    mix(hash, tensor);
    assert_ok(htone_tensor_release(tensor));
  }
  assert_ok(htone_state_dict_release(dict));
}

/* Covers everything visible that a call may change, and its result. */
static uint64_t print_of(const Work* work) {
  uint64_t hash = UINT64_C(14695981039346656037);
  double factor = 0;
  mix(&hash, work->tensor);
  mix_module(&hash, work->model);
  assert_ok(htone_optimizer_grad_factor(work->optimizer, &factor));
  hash += (uint64_t)(factor * 1e9);
  if (work->made != NULL) mix(&hash, work->made);
  if (work->made_module != NULL) mix_module(&hash, work->made_module);
  return hash;
}

/* A scaler refuses this between an unscale or step and the update. */
static htone_status set_state_anew(const Work* work) {
  htone_scaler_state saved = {.struct_size = sizeof saved};
  assert_ok(htone_grad_scaler_state(work->scaler, &saved));
  return htone_grad_scaler_set_state(work->scaler, &saved);
}

/* Includes the calls of hooks, and the next random numbers: the failed call must not have drawn any. */
static uint64_t end_of(Work* work) {
  htone_tensor *next = NULL, *out = NULL;
  uint64_t hash = print_of(work);
  assert_ok(htone_module_forward(work->model, work->tensor, NULL, &out));
  assert_ok(htone_tensor_release(out));
  hash += (uint64_t)work->hook_calls;
  assert_ok(htone_randperm(work->device, 50, &next));
  mix(&hash, next);
  assert_ok(htone_tensor_release(next));
  return hash;
}

/* Returns whether an allocation failed; the call may still have succeeded by a retry. */
static int expect_the_same_end(const char* name, Call call, int64_t failing, int for_ever, uint64_t expected) {
  int64_t bytes = 0;
  Work work;
  begin_work(&work, &bytes);
  const uint64_t before = print_of(&work);
  fail_allocation(failing, for_ever);
  const htone_status status = call(&work);
  const int has_failed = has_allocation_failed();
  ignore_allocations();
  fail_allocation(-1, 0);
  ignore_allocations();
  if (status != HTONE_OK) {
    if (status != HTONE_ERROR_OUT_OF_MEMORY || !has_failed) fail_msg("%s returned %s", name, htone_status_name(status));
    if (print_of(&work) != before) fail_msg("%s: allocation %d failed and something changed", name, (int)failing);
    assert_ok(set_state_anew(&work));
    assert_ok(call(&work));
  }
  if (end_of(&work) != expected) fail_msg("%s: after allocation %d failed it did something else", name, (int)failing);
  end_work(&work);
  assert_true(bytes == 0);
  return has_failed;
}

static void expect_retries(const char* name, Call call) {
  int64_t bytes = 0, failing = 0;
  Work work;
  begin_work(&work, &bytes);
  assert_ok(call(&work));
  const uint64_t expected = end_of(&work);
  end_work(&work);
  while (expect_the_same_end(name, call, failing, 0, expected)) {
    expect_the_same_end(name, call, failing, 1, expected);
    ++failing;
  }
  print_message("%s: each of %d allocations failed\n", name, (int)failing);
  assert_true(failing > 0);
}

static void m1_a_repeated_call_draws_the_numbers_of_the_failed_one(void** state) {
  (void)state;
  expect_retries("htone_dropout", drop);
  expect_retries("htone_randperm", permute);
  expect_retries("htone_init_uniform", draw_uniform);
  expect_retries("htone_init_normal", draw_normal);
  expect_retries("htone_module_create_linear", make_layer);
  expect_retries("htone_module_create_embedding", make_table);
  expect_retries("htone_module_create_conv2d", make_filters);
}

static void m1_a_failed_forward_has_moved_no_statistics_and_drawn_no_mask(void** state) {
  (void)state;
  expect_retries("htone_module_forward", run_forward);
}

static void m1_a_failed_step_or_unscale_leaves_the_scaler_ready(void** state) {
  (void)state;
  expect_retries("htone_grad_scaler_unscale", unscale);
  expect_retries("htone_grad_scaler_step", step);
}

static void m1_a_hook_whose_handle_found_no_memory_is_not_called(void** state) {
  (void)state;
  expect_retries("htone_module_add_forward_hook", add_hook);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(m1_a_repeated_call_draws_the_numbers_of_the_failed_one),
      cmocka_unit_test(m1_a_failed_forward_has_moved_no_statistics_and_drawn_no_mask),
      cmocka_unit_test(m1_a_failed_step_or_unscale_leaves_the_scaler_ready),
      cmocka_unit_test(m1_a_hook_whose_handle_found_no_memory_is_not_called),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
