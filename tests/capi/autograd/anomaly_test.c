/* Anomaly mode: the first operation that makes a NaN or an infinity fails, and says where. */
#include <math.h>

#include "test_modules.h"

static htone_scope* begin_anomaly(htone_anomaly anomaly) {
  htone_scope* scope = NULL;
  assert_ok(htone_anomaly_begin(anomaly, &scope));
  return scope;
}

static const double kNegative[] = {1, -1, 4, 9};

static void forward_names_operation_and_element(void** state) {
  (void)state;
  htone_tensor* x = leaf(make_tensor(HTONE_F32, kNegative, 2, 2, 2));
  htone_scope* scope = begin_anomaly(HTONE_ANOMALY_NAN);
  assert_refuses(htone_sqrt(x, &out), NOT_FINITE,
                 "htone_sqrt: sqrt made NaN at [0, 1] of its result [2, 2]; its inputs are finite");
  assert_ok(htone_scope_end(scope));
  assert_values(apply1(htone_sqrt, x), 0, 1, NAN, 2, 3);
}

static void an_input_that_held_it_before_is_named(void** state) {
  (void)state;
  const double broken[] = {NAN, 1};
  htone_tensor* a = make_tensor(HTONE_BF16, kNegative, 1, 2);
  htone_tensor* b = make_tensor(HTONE_BF16, broken, 1, 2);
  htone_scope* scope = begin_anomaly(HTONE_ANOMALY_NOT_FINITE);
  assert_refuses(htone_add(a, b, &out), NOT_FINITE, "its input 1 [2] held NaN at [0] before");
  assert_ok(htone_scope_end(scope));
}

static void infinities_are_found_where_they_are_asked_for(void** state) {
  (void)state;
  const double zeros[] = {0, 1};
  htone_tensor* x = leaf(make_tensor(HTONE_F64, zeros, 1, 2));
  htone_scope* scope = begin_anomaly(HTONE_ANOMALY_NAN);
  assert_values(apply1(htone_log, x), 0, -INFINITY, 0);
  htone_scope* inner = begin_anomaly(HTONE_ANOMALY_NOT_FINITE);
  assert_refuses(htone_log(x, &out), NOT_FINITE, "log made an infinity at [0]");
  assert_ok(htone_scope_end(inner));
  assert_values(apply1(htone_log, x), 0, -INFINITY, 0);
  assert_ok(htone_scope_end(scope));
}

/* sqrt(0) is fine, its slope is not. */
static void backward_names_the_operation(void** state) {
  (void)state;
  const double zeros[] = {4, 0};
  htone_tensor* x = leaf(make_tensor(HTONE_F32, zeros, 1, 2));
  htone_scope* scope = begin_anomaly(HTONE_ANOMALY_NOT_FINITE);
  htone_tensor* sum = sum_of(apply1(htone_sqrt, x));
  assert_fails(htone_tensor_backward(sum, NULL, 0), HTONE_ERROR_NOT_FINITE,
               "backward of sqrt made an infinity at [1] of the gradient [2] of input 0");
  assert_ok(htone_scope_end(scope));
}

static htone_status root_forward(htone_module* module, const htone_forward_call* call, void* user) {
  htone_tensor* const input = call->inputs[0];
  htone_tensor** const out = call->out_tensors;
  (void)module;
  (void)user;
  return htone_sqrt(input, out);
}

static htone_module* make_model(void) {
  static const char* const names[] = {"hidden", "root"};
  htone_module *layers[2] = {make_linear(test_device(), 2, 2, 0), NULL}, *model = NULL;
  assert_ok(htone_module_create_custom(root_forward, NULL, NULL, NULL, &layers[1]));
  keep_module(layers[1]);
  assert_ok(htone_module_create_named_sequential(2, names, layers, &model));
  return keep_module(model);
}

static void the_layer_is_named_forward_and_backward(void** state) {
  (void)state;
  htone_module* model = make_model();
  htone_tensor *weights = weights_of(model, 0), *out = NULL;
  const double negative[] = {-1, -1, -1, -1}, zeros[] = {0, 0, 0, 0}, ones[] = {1, 1};
  htone_tensor* x = make_tensor(HTONE_F32, ones, 2, 1, 2);
  htone_scope* scope = begin_anomaly(HTONE_ANOMALY_NOT_FINITE);
  assert_ok(htone_tensor_write(weights, HTONE_F64, negative, sizeof negative));
  assert_fails(htone_module_forward(model, x, NULL, &out), HTONE_ERROR_CALLBACK, "layer root (custom)");
  assert_int_equal(last_native_code(), HTONE_ERROR_NOT_FINITE);
  assert_ok(htone_tensor_write(weights, HTONE_F64, zeros, sizeof zeros));
  assert_ok(htone_module_forward(model, x, NULL, &out));
  htone_tensor* sum = sum_of(keep_tensor(out));
  assert_fails(htone_tensor_backward(sum, NULL, 0), HTONE_ERROR_NOT_FINITE,
               "layer root (custom): backward of sqrt made an infinity");
  assert_ok(htone_scope_end(scope));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forward_names_operation_and_element),
      cmocka_unit_test(an_input_that_held_it_before_is_named),
      cmocka_unit_test(infinities_are_found_where_they_are_asked_for),
      cmocka_unit_test(backward_names_the_operation),
      cmocka_unit_test(the_layer_is_named_forward_and_backward),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
