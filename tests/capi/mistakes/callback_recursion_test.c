/* Callbacks that make the call that runs them. Each ends with STATE instead of at the end of the stack. */
#include <string.h>

#include "run_tests.h"
#include "square_function.h"
#include "test_modules.h"
#include "test_optimizers.h"
#include "test_tensors.h"

enum { kFarTooDeep = 100000 };

/* The objects that a callback needs for its own call, and how often it ran. */
typedef struct Loop {
  htone_graph *graph, *other;
  htone_module* module;
  htone_tensor* tensor;
  htone_optimizer* optimizer;
  htone_batches* batches;
  int calls;
} Loop;

static Loop loop;

/* Each callback returns the status of the call that it makes. The message has the reason, and names few callbacks. */
static void assert_ends(htone_status status, int most_calls, const char* reason) {
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_int_equal(status, HTONE_ERROR_CALLBACK);
  assert_true(loop.calls > 0 && loop.calls <= most_calls);
  assert_ok(htone_error_last(&info));
  assert_non_null(strstr(info.message, reason));
  const char* const outermost = strstr(info.message, " (CALLBACK): ");
  if (outermost != NULL) assert_null(strstr(outermost + 1, " (CALLBACK): "));
}

enum { kMostNested = 128, kMostModules = 64 };

static const char kTooManyNested[] = "129 callbacks run inside one another";
static const char kTooManyModules[] = "number 65 of the modules that run inside one another";
static const char kIsUnderWay[] = "backward is under way on this thread";
static const char kIsReplayed[] = "graph is being replayed";

static htone_status replay_itself(void* user) {
  (void)user;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  return loop.graph ? htone_graph_replay(loop.graph) : HTONE_OK;
}

static htone_status replay_the_other(void* user) {
  (void)user;
  ++loop.calls;
  return loop.other ? htone_graph_replay(loop.other) : HTONE_OK;
}

static void a_graph_does_not_replay_itself(void** state) {
  (void)state;
  loop = (Loop){0};
  assert_ok(htone_graph_capture(test_device(), replay_itself, NULL, NULL, &loop.graph));
  keep_graph(loop.graph);
  loop.calls = 0;
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  assert_ends(htone_graph_replay(loop.graph), 1, kIsReplayed);
  assert_ok(htone_error_last(&info));
  assert_int_equal(info.native_code, HTONE_ERROR_STATE);
  loop.calls = kFarTooDeep; /* the failed replay has ended: the graph runs again */
  assert_ok(htone_graph_replay(loop.graph));
}

static void two_graphs_do_not_replay_each_other(void** state) {
  (void)state;
  loop = (Loop){0};
  htone_graph *first = NULL, *second = NULL;
  assert_ok(htone_graph_capture(test_device(), replay_itself, NULL, NULL, &first));
  assert_ok(htone_graph_capture(test_device(), replay_the_other, NULL, NULL, &second));
  keep_graph(first), keep_graph(second);
  loop.calls = 0, loop.graph = second, loop.other = first;
  assert_ends(htone_graph_replay(first), 2, kIsReplayed);
}

static htone_status forward_again(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* out = NULL;
  (void)user;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  const htone_status status = htone_module_forward(module, call->inputs[0], NULL, &out);
  htone_tensor_release(out);
  return status;
}

static void hooks_of_a_module_do_not_run_it_without_end(void** state) {
  (void)state;
  htone_tensor* input = make_ramp(HTONE_F32, 2, 1, 2);
  for (int after = 0; after < 2; ++after) {
    loop = (Loop){0};
    htone_module* module = make_linear(test_device(), 2, 2, 1);
    htone_hook* hook = NULL;
    htone_tensor* out = NULL;
    assert_ok(after ? htone_module_add_forward_hook(module, forward_again, NULL, NULL, &hook)
                    : htone_module_add_forward_pre_hook(module, forward_again, NULL, NULL, &hook));
    keep_hook(hook);
    assert_ends(htone_module_forward(module, input, NULL, &out), kMostModules, kTooManyModules);
  }
}

static htone_status backward_again(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)gradient, (void)out_gradient, (void)user;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  return htone_tensor_backward(loop.tensor, NULL, 1);
}

static void a_gradient_hook_does_not_run_backward_without_end(void** state) {
  (void)state;
  loop = (Loop){0};
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* y = apply2(htone_mul, x, x);
  htone_hook* hook = NULL;
  assert_ok(htone_tensor_add_gradient_hook(y, backward_again, NULL, NULL, &hook));
  keep_hook(hook);
  loop.tensor = sum_of(y);
  assert_ends(htone_tensor_backward(loop.tensor, NULL, 1), kMostNested, kIsUnderWay);
}

static htone_status step_again(int64_t position, double* out_factor, void* user) {
  (void)position, (void)user;
  *out_factor = 1;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  return htone_optimizer_step(loop.optimizer);
}

static void a_schedule_does_not_step_its_optimizer_without_end(void** state) {
  (void)state;
  loop = (Loop){0};
  htone_module* module = make_linear(test_device(), 2, 1, 0);
  htone_schedule* schedule = NULL;
  loop.optimizer = make_adamw(module, NULL);
  backward(sum_of(forward(module, make_ramp(HTONE_F32, 2, 1, 2))));
  assert_ok(htone_schedule_create_callback(step_again, NULL, NULL, &schedule));
  assert_ok(htone_optimizer_set_schedule(loop.optimizer, keep_schedule(schedule)));
  assert_ends(htone_optimizer_step(loop.optimizer), kMostNested, kTooManyNested);
}

static htone_status load_again(size_t count, const int64_t* indices, void* const* out_rows, void* user) {
  (void)count, (void)indices, (void)out_rows, (void)user;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  return htone_batches_next(loop.batches);
}

static void a_source_of_batches_does_not_take_its_own_without_end(void** state) {
  (void)state;
  loop = (Loop){0};
  htone_sampler_options options = HTONE_SAMPLER_OPTIONS_INIT;
  const htone_row_type row = {.dtype = HTONE_F32};
  htone_sampler* sampler = NULL;
  options.count = 8, options.batch_size = 2;
  assert_ok(htone_sampler_create(&options, &sampler));
  keep_sampler(sampler);
  assert_ok(htone_batches_create_callback(test_device(), sampler, 1, &row, load_again, NULL, NULL, &loop.batches));
  keep_batches(loop.batches);
  assert_ends(htone_batches_next(loop.batches), kMostNested, "takes a batch already");
}

static htone_status differentiate_again(const htone_backward_call* call, struct Square* square) {
  (void)call, (void)square;
  if (++loop.calls >= kFarTooDeep) return HTONE_OK;
  return htone_tensor_backward(loop.tensor, NULL, 1);
}

static void a_function_does_not_run_its_own_backward_without_end(void** state) {
  (void)state;
  loop = (Loop){0};
  static Square square; /* the function outlives the test */
  make_square(&square);
  square.instead = differentiate_again;
  loop.tensor = sum_of(squared(&square, ramp_leaf()));
  assert_ends(htone_tensor_backward(loop.tensor, NULL, 1), kMostNested, kIsUnderWay);
}

/* The first forward computes; the recomputations run the backward that recomputes. */
static htone_status compute_or_differentiate(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)user;
  if (loop.tensor == NULL) return htone_exp(call->inputs[0], &call->out_tensors[0]);
  if (++loop.calls >= kFarTooDeep) return HTONE_ERROR_INTERNAL;
  return htone_tensor_backward(loop.tensor, NULL, 1);
}

static void a_recomputation_does_not_run_its_own_backward_without_end(void** state) {
  (void)state;
  loop = (Loop){0};
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(compute_or_differentiate, NULL, NULL, NULL, &module));
  assert_ok(htone_module_set_recompute(keep_module(module), 1));
  loop.tensor = sum_of(forward(module, ramp_leaf()));
  assert_ends(htone_tensor_backward(loop.tensor, NULL, 1), kMostNested, "while its forward has not ended");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_graph_does_not_replay_itself),
      cmocka_unit_test(two_graphs_do_not_replay_each_other),
      cmocka_unit_test(hooks_of_a_module_do_not_run_it_without_end),
      cmocka_unit_test(a_gradient_hook_does_not_run_backward_without_end),
      cmocka_unit_test(a_schedule_does_not_step_its_optimizer_without_end),
      cmocka_unit_test(a_source_of_batches_does_not_take_its_own_without_end),
      cmocka_unit_test(a_function_does_not_run_its_own_backward_without_end),
      cmocka_unit_test(a_recomputation_does_not_run_its_own_backward_without_end),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
