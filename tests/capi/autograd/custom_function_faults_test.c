/* Custom backward functions that fail, return gradients that do not fit, or do something forbidden. Test names or
 * comments name their rows of tests/faults.md. */
#include <string.h>

#include "square_function.h"

static htone_status leave_nothing(const htone_backward_call* call, Square* square) {
  (void)call, (void)square;
  return HTONE_OK;
}

static void a_gradient_that_is_not_handed_back_is_zero(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = leave_nothing;
  htone_tensor* x = ramp_leaf();
  backward(sum_of(apply2(htone_add, squared(&square, x), x)));
  assert_values(grad_of(x), 0, 1, 1, 1);
}

static htone_status in_double(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_cast(call->grad_outputs[0], HTONE_F64, &call->out_grad_inputs[0]);
}
static htone_status of_another_shape(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_sum(call->grad_outputs[0], 0, NULL, 0, &call->out_grad_inputs[0]);
}
static htone_status in_integers(const htone_backward_call* call, Square* square) {
  (void)square;
  return htone_cast(call->grad_outputs[0], HTONE_I32, &call->out_grad_inputs[0]);
}
static htone_status a_module(const htone_backward_call* call, Square* square) {
  call->out_grad_inputs[0] = (htone_tensor*)(void*)square->function;
  return HTONE_OK;
}

static void handed_back_gradients_are_looked_at(void** state) {
  (void)state;
  static const struct {
    htone_status (*instead)(const htone_backward_call*, Square*);
    htone_status expected;
    const char* text;
  } cases[] = {
      {of_another_shape, HTONE_ERROR_SHAPE_MISMATCH, "square: gradient of input 0 is [], expected [3]"},
      {in_integers, HTONE_ERROR_DTYPE_MISMATCH, "square: gradient of input 0 is i32"},
      {a_module, HTONE_ERROR_INVALID_HANDLE, "backward of square left a function, expected a tensor"},
  };
  static Square square;
  make_square(&square);
  for (size_t i = 0; i < COUNT_OF(cases); ++i) {
    htone_tensor* x = ramp_leaf();
    square.instead = cases[i].instead;
    assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), cases[i].expected, cases[i].text);
  }
  htone_tensor* x = ramp_leaf();
  square.instead = in_double; /* a gradient in another floating dtype is converted */
  backward(sum_of(squared(&square, x)));
  assert_int_equal(dtype_of(grad_of(x)), HTONE_F32);
  assert_values(grad_of(x), 0, 1, 1, 1);
}

/* A20 */
static void a_failed_backward_tells_the_code_and_invalidates_gradients(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  square.answer = HTONE_ERROR_IO;
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_ERROR_CALLBACK, "backward of square returned 11 (IO)");
  assert_int_equal(last_native_code(), HTONE_ERROR_IO);
  assert_refuses(htone_tensor_grad(x, &out), STATE, "invalid");
  square.answer = 4711;
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_ERROR_CALLBACK, "4711 (UNKNOWN)");
  assert_int_equal(last_native_code(), 4711);
  square.answer = HTONE_OK;
  assert_ok(htone_tensor_zero_grad(x));
  backward(y);
  assert_values(grad_of(x), 0, 0, 2, 4);
}

static htone_status add_what_does_not_fit(const htone_backward_call* call, Square* square) {
  (void)square;
  const int64_t shape[] = {4};
  return htone_broadcast_to(call->saved[0], 1, shape, &call->out_grad_inputs[0]);
}

static void a_failure_that_is_passed_on_keeps_its_message(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = add_what_does_not_fit;
  htone_tensor* y = sum_of(squared(&square, ramp_leaf()));
  assert_fails(htone_tensor_backward(y, NULL, 1), HTONE_ERROR_CALLBACK,
               "backward of square returned 5 (SHAPE_MISMATCH): htone_broadcast_to: ");
  square.instead = NULL;
  square.answer = HTONE_ERROR_SHAPE_MISMATCH; /* the callback's own error: the message must not repeat an older one */
  htone_error_info info = {.struct_size = sizeof info};
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_ERROR_CALLBACK, "returned 5 (SHAPE_MISMATCH)");
  assert_ok(htone_error_last(&info));
  assert_null(strstr(info.message, "htone_broadcast_to"));
}

static htone_status release_what_was_lent(const htone_backward_call* call, Square* square) {
  (void)square;
  call->out_grad_inputs[0] = call->grad_outputs[0]; /* without a reference of its own */
  return htone_tensor_release(call->saved[0]);
}

/* A21 */
static void a_callback_that_gives_back_what_it_borrowed_harms_nothing(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = release_what_was_lent;
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  const int64_t before = live_handles();
  assert_ok(htone_tensor_backward(y, NULL, 1));
  backward(y);
  assert_int_equal(live_handles(), before);
  assert_values(grad_of(x), 0, 2, 2, 2);
}

static htone_status fail_with_a_gradient(const htone_backward_call* call, Square* square) {
  (void)square;
  const htone_status status = square_gradient(call, &call->out_grad_inputs[0]);
  return status == HTONE_OK ? HTONE_ERROR_CANCELLED : status;
}

static void gradients_of_a_failed_backward_are_given_back(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  square.instead = fail_with_a_gradient;
  htone_tensor* y = sum_of(squared(&square, ramp_leaf()));
  const int64_t before = live_handles();
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_ERROR_CALLBACK, "CANCELLED");
  assert_int_equal(live_handles(), before);
}

static void a_saved_tensor_that_was_written_stops_backward(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  htone_tensor* y = sum_of(squared(&square, x));
  assert_ok(htone_tensor_write(x, HTONE_F64, (const double[]){1, 1, 1}, 3 * sizeof(double)));
  assert_fails(htone_tensor_backward(y, NULL, 0), HTONE_ERROR_STATE, "written");
  assert_int_equal(square.calls, 0);
}

static htone_status record_inside(const htone_backward_call* call, Square* square) {
  htone_tensor* out = NULL;
  htone_tensor* x = call->saved[0];
  return htone_function_record(square->function, 1, &x, 1, &x, 0, NULL, &out);
}
static htone_tensor* other_loss;
static htone_status run_backward_inside(const htone_backward_call* call, Square* square) {
  (void)call, (void)square;
  return htone_tensor_backward(other_loss, NULL, 0);
}
static htone_status require_a_gradient_inside(const htone_backward_call* call, Square* square) {
  (void)square;
  int32_t required = -1;
  htone_tensor *x = NULL, *y = NULL;
  htone_status status = htone_rescale(call->saved[0], 1, 0, &x);
  if (status == HTONE_OK) status = htone_tensor_set_requires_grad(x, 1);
  if (status == HTONE_OK) status = htone_mul(x, x, &y);
  if (status == HTONE_OK) status = htone_tensor_requires_grad(y, &required);
  htone_tensor_release(x);
  htone_tensor_release(y);
  return status == HTONE_OK && required != 0 ? HTONE_ERROR_INTERNAL : status;
}

static void gradients_of_gradients_are_refused(void** state) {
  (void)state;
  static Square square;
  make_square(&square);
  htone_tensor* x = ramp_leaf();
  other_loss = sum_of(apply2(htone_mul, x, x));
  square.instead = record_inside;
  assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), HTONE_ERROR_CALLBACK, "13 (STATE)");
  square.instead = run_backward_inside;
  assert_fails(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0), HTONE_ERROR_CALLBACK, "13 (STATE)");
  square.instead = require_a_gradient_inside; /* operations on a new leaf are not recorded */
  assert_ok(htone_tensor_backward(sum_of(squared(&square, x)), NULL, 0));
  assert_ok(htone_tensor_zero_grad(x));
  backward(other_loss);
  assert_values(grad_of(x), 0, 0, 2, 4);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gradient_that_is_not_handed_back_is_zero),
      cmocka_unit_test(handed_back_gradients_are_looked_at),
      cmocka_unit_test(a_failed_backward_tells_the_code_and_invalidates_gradients),
      cmocka_unit_test(a_failure_that_is_passed_on_keeps_its_message),
      cmocka_unit_test(a_callback_that_gives_back_what_it_borrowed_harms_nothing),
      cmocka_unit_test(gradients_of_a_failed_backward_are_given_back),
      cmocka_unit_test(a_saved_tensor_that_was_written_stops_backward),
      cmocka_unit_test(gradients_of_gradients_are_refused),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
