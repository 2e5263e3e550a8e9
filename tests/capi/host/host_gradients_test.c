/* Gradients that the caller brings in its own arrays: how they are read and accumulated, and when they are released. */
#include "host_arrays.h"

static const uint16_t kHalfOne = 0x3c00, kHalfTwo = 0x4000, kBfloatOne = 0x3f80;

static void a_gradient_rewritten_in_place_is_handed_in_once(void** state) {
  (void)state;
  static Host host = {.weights = {0, 0, 0, 0}, .gradient = {1, 1, 1, 1}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = descend(parameter);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  for (int i = 0; i < kSize; ++i) host.gradient[i] = (float)i;
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -1, -2, -3, -4);
}

static void gradients_of_16_bits_are_read_as_they_are(void** state) {
  (void)state;
  static Host host = {.weights = {0, 0, 0, 0}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = descend(parameter);
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = i % 2 == 0 ? kHalfOne : kHalfTwo;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F16, host.half_gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -1, -2, -1, -2);
  /* Same address, other dtype. */
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = kBfloatOne;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_BF16, host.half_gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -2, -3, -2, -3);
  /* Another address. */
  for (int i = 0; i < kSize; ++i) host.gradient[i] = 0.5f;
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_floats(host.weights, -2.5f, -3.5f, -2.5f, -3.5f);
}

static void a_gradient_is_kept_until_it_is_replaced_or_zeroed(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 1, 1, 1}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = descend(parameter);
  for (int i = 0; i < 2; ++i) {
    htone_tensor* gradient = lend_gradient(&host);
    assert_ok(htone_parameter_set_grad(parameter, gradient));
    assert_ok(htone_tensor_release(gradient));
    assert_int_equal(host.deletions, i); /* the previous one was released */
  }
  assert_ok(htone_optimizer_step(optimizer));
  assert_int_equal(host.deletions, 1);
  assert_ok(htone_optimizer_zero_grad(optimizer));
  assert_int_equal(host.deletions, 2);
  assert_fails(htone_optimizer_step(optimizer), HTONE_ERROR_STATE, "no parameter has a gradient");
}

static void a_gradient_is_seen_by_clipping_and_norms_and_never_written(void** state) {
  (void)state;
  static Host host = {.gradient = {3, 0, 4, 0}};
  htone_parameter* parameter = host_parameter(&host);
  htone_optimizer* optimizer = descend(parameter);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_near(grad_norm_of(optimizer), 5, 1e-6);
  assert_ok(htone_optimizer_clip_grad_norm(optimizer, 1, 0));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(host.weights[0], -0.6, 1e-6);
  assert_near(host.weights[2], -0.8, 1e-6);
  assert_ok(htone_optimizer_set_grad_value_limit(optimizer, 0.5));
  assert_ok(htone_optimizer_step(optimizer));
  assert_near(host.weights[0], -1.1, 1e-6);
  assert_floats(host.gradient, 3, 0, 4, 0);
}

static void gradients_are_added_in_memory_of_the_librarys_own(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor *gradient = over(HTONE_F32, host.gradient), *half = over(HTONE_F16, host.half_gradient);
  for (int i = 0; i < kSize; ++i) host.half_gradient[i] = kHalfTwo;
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_ok(htone_parameter_accumulate_grad(parameter, half));
  assert_values(grad_of(tensor_of(parameter)), 0, 3, 4, 5, 6);
  /* Accumulating onto a gradient that the caller set works on a copy. */
  assert_ok(htone_parameter_set_grad(parameter, half));
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_values(grad_of(tensor_of(parameter)), 0, 3, 4, 5, 6);
  assert_true(host.half_gradient[0] == kHalfTwo && host.half_gradient[3] == kHalfTwo);
  assert_floats(host.gradient, 1, 2, 3, 4);
  /* The caller may pass the leaf's own gradient. */
  assert_ok(htone_parameter_accumulate_grad(parameter, grad_of(tensor_of(parameter))));
  assert_ok(htone_parameter_set_grad(parameter, grad_of(tensor_of(parameter))));
  assert_ok(htone_parameter_accumulate_grad(parameter, gradient));
  assert_values(grad_of(tensor_of(parameter)), 0, 7, 10, 13, 16);
}

static void backward_adds_to_a_gradient_that_was_set_without_writing_it(void** state) {
  (void)state;
  static Host host = {.weights = {1, 1, 1, 1}, .gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor* weights = tensor_of(parameter);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  backward(sum_of(apply2(htone_mul, weights, make_scalar(HTONE_F32, 10))));
  assert_values(grad_of(weights), 0, 11, 12, 13, 14);
  assert_floats(host.gradient, 1, 2, 3, 4);
  assert_ok(htone_tensor_zero_grad(weights));
  assert_ok(htone_parameter_accumulate_grad(parameter, over(HTONE_F32, host.gradient)));
  assert_values(grad_of(weights), 0, 1, 2, 3, 4);
}

static void a_strided_gradient_counts_in_row_major_order(void** state) {
  (void)state;
  static float weights[6];
  const int64_t shape[] = {2, 3};
  htone_tensor* tensor = NULL;
  assert_ok(htone_tensor_from_buffer(test_device(), HTONE_F32, 2, shape, weights, NULL, NULL, &tensor));
  htone_parameter* parameter = make_parameter("matrix", keep_tensor(tensor));
  htone_optimizer* optimizer = descend(parameter);
  assert_ok(htone_parameter_set_grad(parameter, transpose_of(make_ramp(HTONE_F32, 2, 3, 2), 0, 1)));
  assert_ok(htone_optimizer_step(optimizer));
  assert_values(tensor, 0, 0, -2, -4, -1, -3, -5);
}

static void what_cannot_be_a_gradient_is_refused_and_the_one_there_stays(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  const int64_t shape = kSize;
  htone_tensor* elsewhere = NULL;
  htone_parameter* parameter = host_parameter(&host);
  assert_ok(htone_tensor_create(make_device(make_context(1, 0)), HTONE_F32, 1, &shape, &elsewhere));
  keep_tensor(elsewhere);
  assert_ok(htone_parameter_set_grad(parameter, over(HTONE_F32, host.gradient)));
  htone_status (*const functions[])(htone_parameter*, htone_tensor*) = {htone_parameter_set_grad,
                                                                        htone_parameter_accumulate_grad};
  for (size_t i = 0; i < COUNT_OF(functions); ++i) {
    assert_fails(functions[i](parameter, make_ramp(HTONE_F32, 1, 3)), HTONE_ERROR_SHAPE_MISMATCH, "[3]");
    assert_fails(functions[i](parameter, make_ramp(HTONE_F32, 2, 1, 4)), HTONE_ERROR_SHAPE_MISMATCH, "[1, 4]");
    assert_fails(functions[i](parameter, make_ramp(HTONE_F64, 1, 4)), HTONE_ERROR_DTYPE_MISMATCH, "f64");
    assert_fails(functions[i](parameter, make_ramp(HTONE_I32, 1, 4)), HTONE_ERROR_DTYPE_MISMATCH, "i32");
    assert_fails(functions[i](parameter, elsewhere), HTONE_ERROR_DEVICE, "device");
  }
  assert_values(grad_of(tensor_of(parameter)), 0, 1, 2, 3, 4);
}

static void a_frozen_parameter_takes_no_gradient_and_lets_go_of_what_was_brought(void** state) {
  (void)state;
  static Host host = {.gradient = {1, 2, 3, 4}};
  htone_parameter* parameter = host_parameter(&host);
  htone_tensor* gradient = lend_gradient(&host);
  assert_ok(htone_parameter_set_grad(parameter, gradient));
  assert_ok(htone_tensor_release(gradient));
  assert_ok(htone_parameter_set_frozen(parameter, 1));
  assert_int_equal(host.deletions, 1);
  assert_fails(htone_parameter_set_grad(parameter, make_ramp(HTONE_F32, 1, 4)), HTONE_ERROR_STATE, "frozen");
  assert_fails(htone_parameter_accumulate_grad(parameter, make_ramp(HTONE_F32, 1, 4)), HTONE_ERROR_STATE, "frozen");
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_gradient_rewritten_in_place_is_handed_in_once),
      cmocka_unit_test(gradients_of_16_bits_are_read_as_they_are),
      cmocka_unit_test(a_gradient_is_kept_until_it_is_replaced_or_zeroed),
      cmocka_unit_test(a_gradient_is_seen_by_clipping_and_norms_and_never_written),
      cmocka_unit_test(gradients_are_added_in_memory_of_the_librarys_own),
      cmocka_unit_test(backward_adds_to_a_gradient_that_was_set_without_writing_it),
      cmocka_unit_test(a_strided_gradient_counts_in_row_major_order),
      cmocka_unit_test(what_cannot_be_a_gradient_is_refused_and_the_one_there_stays),
      cmocka_unit_test(a_frozen_parameter_takes_no_gradient_and_lets_go_of_what_was_brought),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
