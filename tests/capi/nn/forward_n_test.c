/* Modules with several inputs and outputs: custom ones with absent inputs, LSTM with states, sequences, hooks, counts.
 */
#include <stdlib.h>
#include <string.h>

#include "test_modules.h"

/* input * other + extra; the second output is input - other. */
static htone_status combine(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* product = NULL;
  (void)module;
  if (user != NULL) ++*(int*)user;
  if (call->struct_size != sizeof *call || call->input_count != 3 || call->output_count != 2) {
    return HTONE_ERROR_INTERNAL;
  }
  htone_status status = htone_sub(call->inputs[0], call->inputs[1], &call->out_tensors[1]);
  if (status != HTONE_OK) return status;
  if (call->inputs[2] == NULL) return htone_mul(call->inputs[0], call->inputs[1], &call->out_tensors[0]);
  status = htone_mul(call->inputs[0], call->inputs[1], &product);
  if (status == HTONE_OK) status = htone_add(product, call->inputs[2], &call->out_tensors[0]);
  htone_tensor_release(product);
  return status;
}

static htone_module* make_combine(int* calls) {
  const htone_custom_options options = {sizeof options, 3, 2, 2, 0};
  htone_module* module = NULL;
  assert_ok(htone_module_create_custom(combine, calls, NULL, &options, &module));
  return keep_module(module);
}

static htone_tensor* pair(double first, double second) {
  return make_tensor(HTONE_F32, (const double[]){first, second}, 1, 2);
}

static void a_module_of_the_callers_takes_several_inputs_and_gives_several_outputs(void** state) {
  (void)state;
  htone_module* module = make_combine(NULL);
  htone_tensor *x = leaf(pair(1, 2)), *y = leaf(pair(3, 4)), *z = pair(50, 60);
  htone_tensor* outputs[2] = {NULL, NULL};
  assert_ok(htone_module_forward_n(module, 3, (htone_tensor*[]){x, y, z}, NULL, 2, outputs));
  assert_values(keep_tensor(outputs[0]), 0, 53, 68);
  assert_values(keep_tensor(outputs[1]), 0, -2, -2);
  backward(sum_of(apply2(htone_add, outputs[0], outputs[1])));
  assert_values(grad_of(x), 0, 4, 5);
  assert_values(grad_of(y), 0, 0, 1);
}

static void an_absent_input_is_null_or_left_out(void** state) {
  (void)state;
  htone_module* module = make_combine(NULL);
  htone_tensor* inputs[3] = {pair(1, 2), pair(3, 4), NULL};
  htone_tensor* out = NULL;
  assert_ok(htone_module_forward_n(module, 3, inputs, NULL, 1, &out));
  assert_values(keep_tensor(out), 0, 3, 8);
  assert_ok(htone_module_forward_n(module, 2, inputs, NULL, 1, &out));
  assert_values(keep_tensor(out), 0, 3, 8);
}

static void wrong_counts_and_absent_inputs_are_named_before_anything_runs(void** state) {
  (void)state;
  int calls = 0;
  htone_module *module = make_combine(&calls), *linear = make_linear(test_device(), 2, 2, 0);
  htone_tensor *x = pair(1, 2), *inputs[4] = {x, x, x, x}, *outputs[3] = {NULL, NULL, NULL};
  assert_fails(htone_module_forward(module, x, NULL, outputs), HTONE_ERROR_INVALID_ARGUMENT,
               "input_count=1 for a module of kind custom, expected 2 to 3");
  assert_fails(htone_module_forward_n(module, 4, inputs, NULL, 1, outputs), HTONE_ERROR_INVALID_ARGUMENT,
               "input_count=4 for a module of kind custom, expected 2 to 3");
  assert_fails(htone_module_forward_n(module, 3, inputs, NULL, 3, outputs), HTONE_ERROR_INVALID_ARGUMENT,
               "output_count=3 for a module of kind custom, expected 1 to 2");
  assert_fails(htone_module_forward_n(linear, 2, inputs, NULL, 1, outputs), HTONE_ERROR_INVALID_ARGUMENT,
               "input_count=2 for a module of kind linear, expected 1");
  assert_fails(
      htone_module_forward_n(make_sequential(2, (htone_module*[]){linear, module}), 1, inputs, NULL, 1, outputs),
      HTONE_ERROR_INVALID_ARGUMENT, "layer 1 (custom): input_count=1 for a module of kind custom");
  inputs[1] = NULL;
  assert_fails(htone_module_forward_n(module, 3, inputs, NULL, 1, outputs), HTONE_ERROR_INVALID_ARGUMENT,
               "inputs[1] is NULL, which a module of kind custom does not allow");
  for (size_t i = 0; i < COUNT_OF(outputs); ++i) assert_null(outputs[i]);
  assert_int_equal(calls, 0);
}

static void every_module_tells_how_many_tensors_it_takes_and_gives(void** state) {
  (void)state;
  htone_module* modules[3] = {make_combine(NULL), make_linear(test_device(), 2, 2, 0), NULL};
  const size_t expected[3][3] = {{2, 3, 2}, {1, 1, 1}, {1, 3, 3}};
  assert_ok(htone_module_create_lstm(test_device(), 2, 2, NULL, &modules[2]));
  keep_module(modules[2]);
  for (int i = 0; i < 3; ++i) {
    size_t required = 0, inputs = 0, outputs = 0;
    assert_ok(htone_module_input_count(modules[i], &required, &inputs));
    assert_ok(htone_module_output_count(modules[i], &outputs));
    assert_int_equal(required, expected[i][0]);
    assert_int_equal(inputs, expected[i][1]);
    assert_int_equal(outputs, expected[i][2]);
  }
  size_t required = 0, inputs = 0;
  assert_ok(htone_module_input_count(make_sequential(3, modules), &required, &inputs));
  assert_int_equal(required, 2);
  assert_int_equal(inputs, 3);
}

static void an_lstm_takes_and_gives_its_states(void** state) {
  (void)state;
  htone_module* lstm = NULL;
  assert_ok(htone_module_create_lstm(test_device(), 2, 2, NULL, &lstm));
  keep_module(lstm);
  htone_tensor *input = make_ramp(HTONE_F32, 3, 1, 3, 2), *hidden = make_ramp(HTONE_F32, 3, 1, 1, 2);
  htone_tensor *expected[3] = {NULL, NULL, NULL}, *outputs[3] = {NULL, NULL, NULL};
  assert_ok(htone_module_forward_lstm(lstm, input, hidden, NULL, &expected[0], &expected[1], &expected[2]));
  assert_ok(htone_module_forward_n(lstm, 2, (htone_tensor*[]){input, hidden}, NULL, 3, outputs));
  for (int i = 0; i < 3; ++i) {
    double *a = values_of(keep_tensor(expected[i])), *b = values_of(keep_tensor(outputs[i]));
    assert_memory_equal(a, b, (i == 0 ? 6 : 2) * sizeof(double));
    free(a);
    free(b);
  }
}

/* The call that the hooks of the next test saw. */
typedef struct Seen {
  size_t inputs, outputs;
  int had_outputs, absent;
} Seen;

static htone_status fill_absent(htone_module* module, const htone_forward_call* call, void* user) {
  Seen* seen = user;
  (void)module;
  *seen = (Seen){call->input_count, call->output_count, call->outputs != NULL, call->inputs[2] == NULL};
  return htone_mul(call->inputs[0], call->inputs[1], &call->out_tensors[2]);
}

static htone_status negate_second(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)user;
  if (call->inputs[2] == NULL || call->outputs == NULL) return HTONE_ERROR_INTERNAL;
  return htone_neg(call->outputs[1], &call->out_tensors[1]);
}

static void hooks_see_and_replace_every_input_and_output(void** state) {
  (void)state;
  htone_module* module = make_combine(NULL);
  htone_hook* hook = NULL;
  htone_tensor* outputs[2] = {NULL, NULL};
  Seen seen;
  memset(&seen, 0, sizeof seen);
  assert_ok(htone_module_add_forward_pre_hook(module, fill_absent, &seen, NULL, &hook));
  keep_hook(hook);
  assert_ok(htone_module_add_forward_hook(module, negate_second, NULL, NULL, &hook));
  keep_hook(hook);
  assert_ok(htone_module_forward_n(module, 2, (htone_tensor*[]){pair(1, 2), pair(3, 4)}, NULL, 2, outputs));
  assert_values(keep_tensor(outputs[0]), 0, 6, 16);
  assert_values(keep_tensor(outputs[1]), 0, 2, 2);
  assert_true(seen.inputs == 3 && seen.outputs == 2 && !seen.had_outputs && seen.absent);
}

static htone_status leave_first_only(htone_module* module, const htone_forward_call* call, void* user) {
  (void)module, (void)user;
  call->out_tensors[0] = call->inputs[0];
  return htone_tensor_retain(call->inputs[0]);
}

static void a_forward_that_leaves_out_an_output_fails_and_leaks_nothing(void** state) {
  (void)state;
  const htone_custom_options options = {sizeof options, 1, 1, 2, 0};
  htone_module* module = NULL;
  htone_tensor* x = pair(1, 2);
  assert_ok(htone_module_create_custom(leave_first_only, NULL, NULL, &options, &module));
  keep_module(module);
  const int64_t before = live_handles();
  assert_refuses(htone_module_forward(module, x, NULL, &out), INVALID_HANDLE, "left no output 1");
  assert_int_equal(live_handles(), before);
}

static void an_output_that_is_not_required_may_be_absent(void** state) {
  (void)state;
  const htone_custom_options options = {sizeof options, 1, 1, 2, 1};
  htone_module* module = NULL;
  htone_tensor *x = pair(1, 2), *outputs[2] = {x, x};
  assert_ok(htone_module_create_custom(leave_first_only, NULL, NULL, &options, &module));
  keep_module(module);
  assert_ok(htone_module_forward_n(module, 1, &x, NULL, 2, outputs));
  assert_values(keep_tensor(outputs[0]), 0, 1, 2);
  assert_null(outputs[1]);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_module_of_the_callers_takes_several_inputs_and_gives_several_outputs),
      cmocka_unit_test(an_absent_input_is_null_or_left_out),
      cmocka_unit_test(wrong_counts_and_absent_inputs_are_named_before_anything_runs),
      cmocka_unit_test(every_module_tells_how_many_tensors_it_takes_and_gives),
      cmocka_unit_test(an_lstm_takes_and_gives_its_states),
      cmocka_unit_test(hooks_see_and_replace_every_input_and_output),
      cmocka_unit_test(a_forward_that_leaves_out_an_output_fails_and_leaks_nothing),
      cmocka_unit_test(an_output_that_is_not_required_may_be_absent),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
