/* htone_gradients: gradients that are returned, to leaves and to results of operations. */
#include <stdlib.h>

#include "test_modules.h"

static htone_gradients_options options_with(int32_t retain_graph, int32_t allow_unused, int32_t zeros) {
  htone_gradients_options options;
  assert_ok(htone_gradients_options_init(&options));
  options.retain_graph = retain_graph;
  options.allow_unused = allow_unused;
  options.zeros_for_unused = zeros;
  return options;
}

static htone_tensor* gradient_of(htone_tensor* output, htone_tensor* input) {
  htone_tensor* out = NULL;
  assert_ok(htone_gradients(1, &output, NULL, 1, &input, NULL, &out));
  return keep_tensor(out);
}

static void assert_no_gradient(htone_tensor* tensor) {
  assert_refuses(htone_tensor_grad(tensor, &out), STATE, "no gradient");
}

static htone_tensor* product(htone_tensor* a, htone_tensor* b) { return apply2(htone_mul, a, b); }

static void a_leaf_gets_its_gradient_returned_and_none_stored(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  assert_values(gradient_of(sum_of(product(x, x)), x), 0, 0, 2, 4);
  assert_no_gradient(x);
}

static void gradients_that_leaves_hold_stay_as_they_are(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  backward(sum_of(product(x, make_scalar(HTONE_F32, 5))));
  gradient_of(sum_of(product(x, x)), x);
  assert_values(grad_of(x), 0, 5, 5);
}

/* d(loss)/d(hidden), in the middle of a graph, and to two inputs at once. */
static void results_of_operations_are_inputs_too(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 3));
  htone_tensor* hidden = product(x, x);
  htone_tensor* loss = sum_of(product(hidden, hidden));
  htone_tensor *inputs[] = {hidden, x}, *out[2] = {NULL, NULL};
  assert_ok(htone_gradients(1, &loss, NULL, 2, inputs, NULL, out));
  assert_values(keep_tensor(out[0]), 0, 0, 2, 8);
  assert_values(keep_tensor(out[1]), 0, 0, 4, 32);
}

static void several_outputs_add_up_with_their_weights(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* square = product(x, x);
  htone_tensor* outputs[] = {square, sum_of(square), square};
  htone_tensor* weights[] = {make_tensor(HTONE_F32, (const double[]){10, 100}, 1, 2), NULL,
                             make_tensor(HTONE_F64, (const double[]){1, 1}, 1, 2)};
  htone_tensor* out = NULL;
  assert_ok(htone_gradients(3, outputs, weights, 1, &x, NULL, &out));
  assert_values(keep_tensor(out), 0, 0, 2 * (100 + 1 + 1));
}

static void an_output_that_is_an_input_gets_its_own_weight(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor* square = product(x, x);
  htone_tensor *weight = make_tensor(HTONE_F32, (const double[]){3, 4}, 1, 2), *out = NULL;
  assert_ok(htone_gradients(1, &square, &weight, 1, &square, NULL, &out));
  assert_values(keep_tensor(out), 0, 3, 4);
}

static void each_gradient_is_a_tensor_of_its_own(void** state) {
  (void)state;
  htone_tensor *a = leaf(make_ramp(HTONE_F32, 1, 2)), *b = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor *sum = sum_of(apply2(htone_add, a, b)), *inputs[] = {a, b, a}, *out[3] = {NULL, NULL, NULL};
  assert_ok(htone_gradients(1, &sum, NULL, 3, inputs, NULL, out));
  for (int i = 0; i < 3; ++i) assert_values(keep_tensor(out[i]), 0, 1, 1);
  assert_ok(htone_init_uniform(out[0], 5, 6));
  assert_values(out[1], 0, 1, 1);
  assert_values(out[2], 0, 1, 1);
}

static void an_unused_input_is_an_error_null_or_zeros(void** state) {
  (void)state;
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 2)), *unused = leaf(make_ramp(HTONE_F16, 2, 2, 1));
  htone_tensor *loss = sum_of(product(x, x)), *inputs[] = {unused, x}, *out[2] = {NULL, NULL};
  htone_gradients_options options = options_with(1, 0, 0);
  assert_fails(htone_gradients(1, &loss, NULL, 2, inputs, &options, out), HTONE_ERROR_STATE, "inputs[0]");
  assert_true(out[0] == NULL && out[1] == NULL);
  options = options_with(1, 1, 0);
  assert_ok(htone_gradients(1, &loss, NULL, 2, inputs, &options, out));
  assert_null(out[0]);
  assert_values(keep_tensor(out[1]), 0, 0, 2);
  options = options_with(1, 0, 1);
  assert_ok(htone_gradients(1, &loss, NULL, 2, inputs, &options, out));
  assert_values(keep_tensor(out[0]), 0, 0, 0);
  assert_int_equal(dtype_of(out[0]), HTONE_F16);
  assert_shape(out[0], 2, 1);
  assert_values(keep_tensor(out[1]), 0, 0, 2);
}

static void a_graph_runs_again_only_if_it_is_retained(void** state) {
  (void)state;
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 2)), *out = NULL;
  htone_tensor* loss = sum_of(product(x, x));
  const htone_gradients_options retained = options_with(1, 0, 0);
  for (int i = 0; i < 2; ++i) {
    assert_ok(htone_gradients(1, &loss, NULL, 1, &x, &retained, &out));
    assert_values(keep_tensor(out), 0, 0, 2);
  }
  gradient_of(loss, x);
  out = NULL;
  assert_fails(htone_gradients(1, &loss, NULL, 1, &x, NULL, &out), HTONE_ERROR_STATE, "retain_graph");
  assert_fails(htone_tensor_backward(loss, NULL, 0), HTONE_ERROR_STATE, "retain_graph");
  assert_null(out);
}

/* Operations that do not lead to the input keep what they saved, so they can still run afterwards. */
static void operations_beside_the_way_do_not_run(void** state) {
  (void)state;
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 2)), *y = leaf(make_ramp(HTONE_F32, 1, 2));
  htone_tensor *beside = product(y, y), *top = product(x, x);
  htone_tensor* loss = sum_of(apply2(htone_add, top, beside));
  assert_values(gradient_of(loss, x), 0, 0, 2);
  assert_no_gradient(y);
  backward(sum_of(beside));
  assert_values(grad_of(y), 0, 0, 2);
}

static void linear_layers_store_no_gradient_in_their_parameters(void** state) {
  (void)state;
  htone_module* layer = make_linear(test_device(), 3, 2, 1);
  htone_tensor* input = leaf(make_noise(HTONE_F32, 1, 2, 4, 3));
  htone_tensor *weight = weights_of(layer, 0), *bias = weights_of(layer, 1), *out[3] = {NULL, NULL, NULL};
  htone_tensor *loss = sum_of(forward(layer, input)), *inputs[] = {input, weight, bias};
  const htone_gradients_options retained = options_with(1, 0, 0);
  assert_ok(htone_gradients(1, &loss, NULL, 3, inputs, &retained, out));
  for (int i = 0; i < 3; ++i) keep_tensor(out[i]);
  assert_no_gradient(weight);
  assert_no_gradient(input);
  backward(loss);
  for (int i = 0; i < 3; ++i) {
    double* expected = values_of(grad_of(inputs[i]));
    check_values(out[i], 0, expected, (size_t)numel_of(out[i]), __FILE__, __LINE__);
    free(expected);
  }
}

typedef struct Seen {
  int calls;
  htone_status status;
} Seen;

static htone_status count_gradient(htone_tensor* gradient, htone_tensor** out_gradient, void* user) {
  (void)gradient, (void)out_gradient;
  ++((Seen*)user)->calls;
  return ((Seen*)user)->status;
}
static htone_status count_parameter(htone_parameter* parameter, void* user) {
  (void)parameter;
  ++((Seen*)user)->calls;
  return HTONE_OK;
}

static void hooks_on_gradients_run_and_those_on_parameters_do_not(void** state) {
  (void)state;
  static Seen on_tensor, on_parameter;
  on_tensor = on_parameter = (Seen){0, HTONE_OK};
  htone_module* layer = make_linear(test_device(), 2, 1, 0);
  htone_tensor *input = leaf(make_ramp(HTONE_F32, 2, 1, 2)), *weight = weights_of(layer, 0);
  htone_hook* hook = NULL;
  assert_ok(htone_tensor_add_gradient_hook(input, count_gradient, &on_tensor, NULL, &hook));
  keep_hook(hook);
  assert_ok(
      htone_parameter_add_post_accumulate_hook(parameter_of(layer, 0), count_parameter, &on_parameter, NULL, &hook));
  keep_hook(hook);
  htone_tensor *loss = sum_of(forward(layer, input)), *inputs[] = {weight, input}, *out[2] = {NULL, NULL};
  assert_ok(htone_gradients(1, &loss, NULL, 2, inputs, NULL, out));
  keep_tensor(out[0]);
  keep_tensor(out[1]);
  assert_true(on_tensor.calls == 1 && on_parameter.calls == 0);
}

static void a_failure_leaves_the_gradients_of_leaves_valid(void** state) {
  (void)state;
  static Seen failing;
  failing = (Seen){0, HTONE_OK};
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 2)), *out = NULL;
  htone_hook* hook = NULL;
  backward(sum_of(product(x, x)));
  htone_tensor* hidden = product(x, x);
  htone_tensor* loss = sum_of(product(hidden, hidden));
  assert_ok(htone_tensor_add_gradient_hook(hidden, count_gradient, &failing, NULL, &hook));
  keep_hook(hook);
  failing.status = HTONE_ERROR_CANCELLED;
  const htone_gradients_options retained = options_with(1, 0, 0);
  assert_fails(htone_gradients(1, &loss, NULL, 1, &x, &retained, &out), HTONE_ERROR_CALLBACK, "");
  assert_null(out);
  assert_values(grad_of(x), 0, 0, 2);
  failing.status = HTONE_OK;
  assert_ok(htone_gradients(1, &loss, NULL, 1, &x, &retained, &out));
  assert_values(keep_tensor(out), 0, 0, 4);
}

static void wrong_outputs_inputs_and_weights_are_named(void** state) {
  (void)state;
  htone_tensor *x = leaf(make_ramp(HTONE_F32, 1, 2)), *plain = make_ramp(HTONE_F32, 1, 2);
  htone_tensor *square = product(x, x), *loss = sum_of(square), *outputs[] = {loss, plain}, *inputs[] = {x, plain};
  htone_tensor *wrong_shape = make_ramp(HTONE_F32, 1, 3), *wrong_dtype = make_ramp(HTONE_I64, 1, 2);
  assert_refuses(htone_gradients(2, outputs, NULL, 1, &x, NULL, &out), STATE, "outputs[1] was not recorded");
  assert_refuses(htone_gradients(1, &loss, NULL, 2, inputs, NULL, &out), STATE, "inputs[1] requires no gradient");
  assert_refuses(htone_gradients(1, &square, NULL, 1, &x, NULL, &out), STATE,
                 "gradients[0] is missing and outputs[0] [2] is not a scalar");
  assert_refuses(htone_gradients(1, &square, &wrong_shape, 1, &x, NULL, &out), SHAPE_MISMATCH, "gradients[0] [3]");
  assert_refuses(htone_gradients(1, &square, &wrong_dtype, 1, &x, NULL, &out), DTYPE_MISMATCH, "gradients[0]");
  assert_values(gradient_of(loss, x), 0, 0, 2); /* nothing of the graph was used up */
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_leaf_gets_its_gradient_returned_and_none_stored),
      cmocka_unit_test(gradients_that_leaves_hold_stay_as_they_are),
      cmocka_unit_test(results_of_operations_are_inputs_too),
      cmocka_unit_test(several_outputs_add_up_with_their_weights),
      cmocka_unit_test(an_output_that_is_an_input_gets_its_own_weight),
      cmocka_unit_test(each_gradient_is_a_tensor_of_its_own),
      cmocka_unit_test(an_unused_input_is_an_error_null_or_zeros),
      cmocka_unit_test(a_graph_runs_again_only_if_it_is_retained),
      cmocka_unit_test(operations_beside_the_way_do_not_run),
      cmocka_unit_test(linear_layers_store_no_gradient_in_their_parameters),
      cmocka_unit_test(hooks_on_gradients_run_and_those_on_parameters_do_not),
      cmocka_unit_test(a_failure_leaves_the_gradients_of_leaves_valid),
      cmocka_unit_test(wrong_outputs_inputs_and_weights_are_named),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
